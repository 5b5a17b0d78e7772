"""The compiled side: target, predictor and statistics, and how they judge and learn a batch.

Axes: B samples, A actions. Batches come padded; ``size`` says how many samples of one count.
"""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from action_balance.bonuses.distillation import Distillation
from action_balance.core.balance import Normalization, balance
from action_balance.core.running_stats import ReturnScale, RunningMeanStd
from action_balance.interop.inputs import Spaces
from action_balance.nets.bonus import BonusNet
from action_balance.nets.image import ImageBonusNet

#: Outputs of target and predictor of vectors; those of images have as many as their layers are wide.
_OUTPUTS = 32
#: Channels of the first convolution.
_CHANNELS = 32


class Learner(eqx.Module):
    """All that a bonus has learned, and its target."""

    distillation: Distillation
    optimizer: Any  # Adam's state for the predictor
    observations: RunningMeanStd  # of what the networks see


@partial(jax.jit, static_argnums=(0, 1, 2))
def fresh(spaces: Spaces, width: int, as_channel: bool, seed: jax.Array) -> Learner:
    """Nothing learned: networks of a pair where there are actions, of a state where there are none."""
    target_key, predictor_key = jax.random.split(jax.random.key(seed))
    target = _network(spaces, width, as_channel, 0, target_key)
    predictor = _network(spaces, width, as_channel, 2 if spaces.images else 1, predictor_key)
    return Learner(Distillation(target, predictor), _adam(0.0).init(predictor), RunningMeanStd.empty(spaces.seen_shape))


def _network(
    spaces: Spaces, width: int, as_channel: bool, more_layers: int, key: jax.Array
) -> BonusNet | ImageBonusNet:
    layers, shape, actions = 1 + more_layers, spaces.seen_shape, spaces.actions
    if spaces.images:
        return ImageBonusNet(shape, _CHANNELS, width, actions=actions, as_channel=as_channel, layers=layers, key=key)
    return BonusNet(shape[0], width, _OUTPUTS, actions=actions, joined_layers=layers, key=key)


def _adam(rate: jax.Array | float) -> optax.GradientTransformation:
    return optax.adam(rate)


@jax.jit
def state_errors(learner: Learner, seen: jax.Array) -> jax.Array:
    """Errors of states (Eq. 1), (B,)."""
    return jax.vmap(lambda one: learner.distillation.error(learner.observations.normalize(one)))(seen)


@jax.jit
def action_errors(learner: Learner, seen: jax.Array) -> jax.Array:
    """The bonus vectors of states (Eq. 4), (B, A)."""
    return jax.vmap(lambda one: learner.distillation.all_errors(learner.observations.normalize(one)))(seen)


@partial(jax.jit, static_argnums=4)
def behaviour_logits(
    learner: Learner, seen: jax.Array, logits: jax.Array, coef: jax.Array | float, kind: Normalization
) -> jax.Array:
    """Logits of the behaviour policy (Eq. 5), (B, A)."""
    bonus = action_errors(learner, seen)
    return jax.vmap(lambda x, y: balance(x, y, coef, kind))(logits, bonus)


#: The statistics after a further batch, none of it padding.
update = jax.jit(RunningMeanStd.update)


@jax.jit
def step(
    learner: Learner, seen: jax.Array, actions: jax.Array | None, size: jax.Array | int, rate: jax.Array | float
) -> tuple[Learner, jax.Array]:
    """One step of Adam on the errors of pairs (Eq. 2), or of states where no actions are given.

    Returns:
        The learner after it, and the mean error before it.
    """
    module = learner.distillation
    normalizes_obs = jax.vmap(learner.observations.normalize)(seen)
    counts = jnp.arange(len(seen)) < size

    def mean_error(predictor: BonusNet | ImageBonusNet) -> jax.Array:
        errors = jax.vmap(Distillation(module.target, predictor).error)(normalizes_obs, actions)
        return jnp.where(counts, errors, 0).sum() / size

    error, gradient = jax.value_and_grad(mean_error)(module.predictor)
    changes, optimizer = _adam(rate).update(gradient, learner.optimizer)
    predictor = optax.apply_updates(module.predictor, changes)
    return Learner(Distillation(module.target, predictor), optimizer, learner.observations), error


@jax.jit
def absorb_rewards(returns: ReturnScale, rewards: jax.Array, gamma: float) -> tuple[ReturnScale, jax.Array]:
    """The scale of returns after further rewards, (T, N), and its reciprocal.

    The reciprocal is 0 until rewards of a second step are there: a spread along time is not known before.
    """
    returns = returns.update(rewards, gamma)
    return returns, jnp.where(returns.moments.count > rewards.shape[1], 1 / returns.scale, 0.0)
