"""Networks of bonuses, with sizes from the config."""

import math

from jaxtyping import PRNGKeyArray

from action_balance.config.agent import AgentConfig
from action_balance.distributions import MultiCategorical
from action_balance.envs.spec import EnvSpec
from action_balance.nets.bonus import BonusNet
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
) -> BonusNet | ImageBonusNet | MixedBonusNet:
    """Create a target or predictor network, or one of its size."""
    actions = MultiCategorical(spec.nvec).choices if pairs else 0
    sizes = agent.image
    # Actions of a state differ by little: bfloat16 would round away an action channel, for example, which contributes
    # about a hundredth of the features.
    precision = "float32" if pairs or action_bonus else sizes.precision
    image_layers = 1 + (MORE_IMAGE_LAYERS if predictor else 0)
    if spec.is_mixed:
        return MixedBonusNet(
            spec.images,
            spec.vector,
            sizes.channels,
            agent.net.bonus_hidden,
            sizes.bonus_features,
            actions=actions,
            layers=image_layers,
            outputs=outputs,
            dtype=precision,
            small_layers=sizes.small_layers,
            key=key,
        )
    if spec.is_image:
        return ImageBonusNet(
            spec.frame_shape,
            sizes.channels,
            sizes.bonus_features,
            actions=actions,
            as_channel=as_channel,
            outputs=outputs,
            layers=image_layers,
            dtype=precision,
            small_layers=sizes.small_layers,
            key=key,
        )
    net = agent.net
    layers = 1 + (net.predictor_layers if predictor else 0)
    inputs = math.prod(spec.stats_shape)
    width = net.bonus_outputs if outputs is None else outputs
    return BonusNet(inputs, net.bonus_hidden, width, actions=actions, joined_layers=layers, key=key)
