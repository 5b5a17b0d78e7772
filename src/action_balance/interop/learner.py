"""The compiled side of a bonus in a foreign loop: the agent's own bonus classes, on padded batches.

Axes: B samples, A actions. Batches come padded; ``size`` says how many samples of a batch count.
"""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree, Real

from action_balance.bonuses.base import Batch, Bonus, BonusObs, NoSettings, Transitions
from action_balance.bonuses.distillation import PairDistillation
from action_balance.bonuses.rnd import RND
from action_balance.config.agent import AgentConfig, ImageConfig, NetConfig
from action_balance.config.bonuses import DistillationConfig
from action_balance.core.balance import balance
from action_balance.core.options import Normalization
from action_balance.core.running_stats import ReturnScale, RunningMeanStd
from action_balance.envs.mixed import empty_stats
from action_balance.interop.inputs import Spaces

#: Normalised observations are clipped to +- this.
_CLIP = 5.0


class Learner(eqx.Module):
    """A bonus: what it has learned, its fixed state, and the statistics of observations."""

    params: PyTree
    state: PyTree
    optimizer: Any  # Adam's state
    obs_stats: RunningMeanStd


def make_bonus(spaces: Spaces, width: int, as_channel: bool) -> Bonus:
    """The bonus class of the agent for these spaces: of pairs where there are actions, of states where there are none.

    Args:
        spaces: Observations and actions.
        width: Width of the networks' layers.
        as_channel: Whether networks see the action as an image, too (Eq. 3).

    Returns:
        The bonus.
    """
    agent = AgentConfig(net=NetConfig(bonus_hidden=width), image=ImageConfig(bonus_features=width))
    spec = spaces.spec
    if not spaces.actions:
        return RND(spec, agent, NoSettings())
    return PairDistillation(spec, agent, DistillationConfig(embedding="channel" if as_channel else "one-hot"))


@partial(jax.jit, static_argnums=0)
def init(bonus: Bonus, seed: Int[Array, ""]) -> Learner:
    """A bonus that has learned nothing.

    Args:
        bonus: Its class and settings.
        seed: Seed of its networks.

    Returns:
        The learner.
    """
    stats = empty_stats(bonus.spec)
    params, state = bonus.init(jax.random.key(seed), stats)
    return Learner(params, state, _adam(0.0).init(params), stats)


def _adam(rate: Array | float) -> optax.GradientTransformation:
    return optax.adam(rate)


def _batch(learner: Learner, obs: Array, actions: Array | None) -> Batch:
    """Observations as transitions: those of pairs start from them, those of states lead to them."""
    zeros = jnp.zeros(len(obs), jnp.int32)
    taken = zeros if actions is None else actions
    transitions = Transitions(obs, obs, taken, zeros, zeros, zeros > 0, zeros > 0)
    return Batch(transitions, learner.obs_stats, _CLIP, jax.random.key(0))  # these bonuses draw nothing


@partial(jax.jit, static_argnums=0)
def state_errors(bonus: Bonus, learner: Learner, obs: Real[Array, "B ..."]) -> Float[Array, " B"]:
    """Errors of states (Eq. 1).

    Args:
        bonus: Its class and settings.
        learner: What it has learned.
        obs: Observations.

    Returns:
        One error per observation.
    """
    return bonus.loss(learner.params, learner.state, _batch(learner, obs, None))


@partial(jax.jit, static_argnums=0)
def action_errors(bonus: Bonus, learner: Learner, obs: Real[Array, "B ..."]) -> Float[Array, "B A"]:
    """The bonus vectors of states (Eq. 4).

    Args:
        bonus: Its class and settings.
        learner: What it has learned.
        obs: Observations.

    Returns:
        One vector per observation.
    """
    zero = jnp.zeros((), jnp.int32)
    scores = partial(bonus.scores, learner.params, learner.state)
    return jax.vmap(lambda one: scores(BonusObs(one, zero, learner.obs_stats, _CLIP)))(obs)


@partial(jax.jit, static_argnums=(0, 5))
def behaviour_logits(
    bonus: Bonus,
    learner: Learner,
    obs: Real[Array, "B ..."],
    logits: Float[Array, "B A"],
    coef: Float[Array, ""] | float,
    kind: Normalization,
) -> Float[Array, "B A"]:
    """Logits of the behaviour policy (Eq. 5).

    Args:
        bonus: Its class and settings.
        learner: What it has learned.
        obs: Observations.
        logits: Logits of the policy.
        coef: c of Eq. 5.
        kind: How bonus vectors are normalised.

    Returns:
        The balanced logits.
    """
    scores = action_errors(bonus, learner, obs)
    balanced = partial(bonus.distribution.per_component, lambda x, y: balance(x, y, coef, kind))
    return jax.vmap(balanced)(logits, scores)


#: The statistics with one more batch, without padding.
update_stats = jax.jit(lambda stats, frames: stats.update(frames))


@partial(jax.jit, static_argnums=0)
def step(
    bonus: Bonus,
    learner: Learner,
    obs: Real[Array, "B ..."],
    actions: Int[Array, " B"] | None,
    size: Int[Array, ""] | int,
    rate: Float[Array, ""] | float,
) -> tuple[Learner, Float[Array, ""]]:
    """One step of Adam on the errors of pairs (Eq. 2), or of states where no actions are given.

    Args:
        bonus: Its class and settings.
        learner: What it has learned.
        obs: Observations.
        actions: Actions taken in them.
        size: Number of samples that count.
        rate: Learning rate.

    Returns:
        The learner after the step, and the mean error before it.
    """
    batch, counts = _batch(learner, obs, actions), jnp.arange(len(obs)) < size

    def mean_error(params: Any) -> Array:
        return jnp.where(counts, bonus.loss(params, learner.state, batch), 0).sum() / size

    error, gradient = jax.value_and_grad(mean_error)(learner.params)
    changes, optimizer = _adam(rate).update(gradient, learner.optimizer)
    return Learner(optax.apply_updates(learner.params, changes), learner.state, optimizer, learner.obs_stats), error


@jax.jit
def update_scale(
    scale: ReturnScale, rewards: Float[Array, "T N"], gamma: float
) -> tuple[ReturnScale, Float[Array, ""]]:
    """The scale of returns after further rewards.

    Args:
        scale: The scale before.
        rewards: Rewards of further steps.
        gamma: Discount of the intrinsic return.

    Returns:
        The new scale, and its reciprocal, which is 0 until there are rewards of a second step: before that, the spread
        along time is not known.
    """
    scale = scale.update(rewards, gamma)
    return scale, jnp.where(scale.moments.count > rewards.shape[1], 1 / scale.scale, 0.0)
