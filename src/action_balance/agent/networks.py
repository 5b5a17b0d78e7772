"""The networks that an environment's observations ask for, with sizes from the config."""

import math
from collections.abc import Sequence
from typing import Any

import jax

from action_balance.agent.state import Params, TargetParams
from action_balance.config.agent import Config
from action_balance.distributions import choices
from action_balance.errors import UserError
from action_balance.nets.actor_critic import ActorCritic
from action_balance.nets.bonus import BonusNet
from action_balance.nets.image import ImageActorCritic, ImageBonusNet

#: Layers that a predictor of images has more than its target.
MORE_LAYERS = 2


def networks(
    shape: tuple[int, ...],
    actions: int | tuple[int, ...],
    config: Config,
    keys: Sequence[jax.Array],
    normalizes_obs: bool = False,
) -> tuple[Params, TargetParams]:
    """Fresh ones: for stacks of images, (K, H, W) or (K, H, W, C), or for vectors.

    Args:
        shape: of an observation.
        actions: A, or the choices of each component. To the networks of a pair, every choice is an action.
        config: for their sizes.
        keys: of the policy, of the next-state module and of the action module.
        whitened: whether observations are stacks of vectors, (K, D), which the policy sees whitened.
    """
    if not isinstance(actions, int | tuple) or choices(actions)[0] < 2:
        raise UserError(
            f"the environment's actions are {actions}, and only two or more discrete ones can be balanced: "
            f"divide a continuous action space into a few choices"
        )
    images = len(shape) in (3, 4)
    actions, parts = choices(actions)
    build = _image_bonus if images else _vector_bonus
    next_state, action = jax.random.split(keys[1]), jax.random.split(keys[2])
    policy: ActorCritic | ImageActorCritic
    if images:
        widths = (config.image.features, config.image.trunk)
        more: dict[str, Any] = {"dtype": config.image.precision, "parts": parts, "key": keys[0]}
        policy = ImageActorCritic(shape, config.image.channels, widths, actions, **more)
    else:
        sizes = (math.prod(shape), config.net.hidden, config.net.layers)
        policy = ActorCritic(*sizes, actions, parts=parts, normalizes_obs=normalizes_obs, key=keys[0])
    seen = shape[1:] if images or normalizes_obs else shape  # of a stack, the newest frame
    predictors = [build(seen, count, True, config, pair[0]) for count, pair in ((0, next_state), (actions, action))]
    targets = [build(seen, count, False, config, pair[1]) for count, pair in ((0, next_state), (actions, action))]
    return Params(policy, *predictors), TargetParams(*targets)


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
        shape,
        sizes.channels,
        sizes.bonus_features,
        actions=actions,
        as_channel=actions > 0 and config.traits.embedding == "channel",
        layers=1 + (MORE_LAYERS if predictor else 0),
        # What the action channel adds is a hundredth of the features: bfloat16 would round it away.
        dtype="float32" if actions else sizes.precision,
        key=key,
    )
