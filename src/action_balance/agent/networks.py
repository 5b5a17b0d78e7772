"""The networks that an environment's observations ask for, with sizes from the config."""

import math
from collections.abc import Sequence

import jax

from action_balance.agent.config import Config
from action_balance.agent.state import Learned, Targets
from action_balance.errors import UserError
from action_balance.nets.actor_critic import ActorCritic
from action_balance.nets.bonus import BonusNet
from action_balance.nets.image import ImageActorCritic, ImageBonusNet

#: Layers that a predictor of images has more than its target.
MORE_LAYERS = 2


def networks(
    shape: tuple[int, ...], actions: int, config: Config, keys: Sequence[jax.Array]
) -> tuple[Learned, Targets]:
    """Fresh ones: for stacks of images, (K, H, W), or for vectors.

    Args:
        shape: of an observation.
        actions: A.
        config: for their sizes.
        keys: of the policy, of the next-state module and of the action module.
    """
    if not isinstance(actions, int) or actions < 2:
        raise UserError(
            f"the environment's actions are {actions}, and only two or more discrete ones can be balanced: "
            f"divide a continuous action space into a few choices"
        )
    images = len(shape) == 3
    build = _image_bonus if images else _vector_bonus
    next_state, action = jax.random.split(keys[1]), jax.random.split(keys[2])
    policy = _image_policy(shape, actions, config, keys[0]) if images else _policy(shape, actions, config, keys[0])
    predictors = [build(shape, count, True, config, pair[0]) for count, pair in ((0, next_state), (actions, action))]
    targets = [build(shape, count, False, config, pair[1]) for count, pair in ((0, next_state), (actions, action))]
    return Learned(policy, *predictors), Targets(*targets)


def _policy(shape: tuple[int, ...], actions: int, config: Config, key: jax.Array) -> ActorCritic | ImageActorCritic:
    return ActorCritic(math.prod(shape), config.net.hidden, config.net.layers, actions, key=key)


def _image_policy(shape: tuple[int, ...], actions: int, config: Config, key: jax.Array) -> ImageActorCritic:
    sizes = config.image
    widths = (sizes.features, sizes.trunk)
    return ImageActorCritic(shape, sizes.channels, widths, actions, dtype=sizes.precision, key=key)


def _vector_bonus(
    shape: tuple[int, ...], actions: int, predictor: bool, config: Config, key: jax.Array
) -> BonusNet | ImageBonusNet:
    net = config.net
    layers = 1 + (net.predictor_layers if predictor else 0)
    sizes = (math.prod(shape), net.bonus_hidden, net.bonus_outputs)
    return BonusNet(*sizes, actions=actions, joined_layers=layers, key=key)


def _image_bonus(
    shape: tuple[int, ...], actions: int, predictor: bool, config: Config, key: jax.Array
) -> BonusNet | ImageBonusNet:
    sizes = config.image
    return ImageBonusNet(
        shape[1:],
        sizes.channels,
        sizes.bonus_features,
        actions=actions,
        as_channel=actions > 0 and config.traits.embedding == "channel",
        layers=1 + (MORE_LAYERS if predictor else 0),
        # What the action channel adds is a hundredth of the features: bfloat16 would round it away.
        dtype="float32" if actions else sizes.precision,
        key=key,
    )
