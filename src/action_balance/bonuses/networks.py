"""Networks of bonuses, with sizes from the config."""

import math
from typing import Any

from jaxtyping import PRNGKeyArray

from action_balance.config.agent import AgentConfig
from action_balance.envs.actions import distribution_of
from action_balance.envs.spec import EnvSpec
from action_balance.nets.bonus import BonusNet, JoinedNet
from action_balance.nets.image import ImageBonusNet
from action_balance.nets.mixed import MixedBonusNet

#: Additional layers of a predictor of images, compared with its target (RND).
MORE_IMAGE_LAYERS = 2


def bonus_network(
    spec: EnvSpec,
    agent: AgentConfig,
    *,
    predictor: bool,
    pairs: bool = False,
    as_channel: bool = False,
    outputs: int | None = None,
    action_bonus: bool = False,
    key: PRNGKeyArray,
) -> JoinedNet:
    """Create a target or predictor network, or one of its size.

    A network of ``pairs`` sees actions; those of an action bonus always have float32 convolutions.
    """
    actions = distribution_of(spec, agent).size if pairs else 0
    net = agent.network
    of_images: dict[str, Any] = {
        "actions": actions,
        "layers": 1 + (MORE_IMAGE_LAYERS if predictor else 0),
        "outputs": outputs,
        # Actions of a state differ by little: bfloat16 would round away an action channel, for example, which
        # contributes about a hundredth of the features.
        "dtype": "float32" if pairs or action_bonus else net.precision,
        "small_layers": net.small_layers,
        "key": key,
    }
    if spec.is_mixed:
        sizes = (spec.images, spec.vector, net.channels, net.bonus_hidden, net.bonus_features)
        return MixedBonusNet(*sizes, **of_images)
    if spec.is_image:
        return ImageBonusNet(spec.frame_shape, net.channels, net.bonus_features, as_channel=as_channel, **of_images)
    layers = 1 + (net.predictor_layers if predictor else 0)
    inputs = math.prod(spec.stats_shape)
    width = net.bonus_outputs if outputs is None else outputs
    return BonusNet(inputs, net.bonus_hidden, width, actions=actions, joined_layers=layers, key=key)
