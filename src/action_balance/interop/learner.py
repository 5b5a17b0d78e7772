"""The compiled side of a bonus in a foreign loop: the agent's own bonus classes, on padded batches.

Each call of such a loop is one program: what a policy needs to act, the rewards of a rollout, or all epochs and
minibatches of an update. Axes: B samples, A choices of all action components, T steps, N environments, S gradient
steps, P samples of a gradient step. Batches come padded; what counts of them is an argument.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree, Real

from action_balance.bonuses.base import Batch, Bonus, BonusObs, NoSettings, Transitions
from action_balance.bonuses.distillation import PairDistillation
from action_balance.bonuses.rnd import RND
from action_balance.config.agent import AgentConfig, ImageConfig, NetConfig
from action_balance.config.bonuses import DistillationConfig
from action_balance.core.balance import normalize
from action_balance.core.compiling import LEAN, QUICK
from action_balance.core.options import Normalization
from action_balance.core.running_stats import ReturnScale, RunningMeanStd
from action_balance.envs.mixed import empty_stats
from action_balance.interop.inputs import Spaces

#: Normalised observations are clipped to +- this.
CLIP = 5.0
_lean = partial(jax.jit, static_argnums=0, compiler_options=LEAN)


class Learner(eqx.Module):
    """A bonus: what it has learned, its fixed state, and the statistics of observations."""

    params: PyTree
    state: PyTree
    optimizer: Any  # Adam's state
    obs_stats: RunningMeanStd

    @property
    def acting(self) -> tuple[Array, ...]:
        """What acting needs: without the optimiser, and as leaves, which are passed to a program faster than a tree."""
        return tuple(jax.tree.leaves((self.params, self.state, self.obs_stats)))

    @property
    def gradient_steps(self) -> int:
        return int(optax.tree_utils.tree_get(self.optimizer, "count"))


def make_bonus(spaces: Spaces, width: int, as_channel: bool) -> Bonus:
    """The bonus class for these spaces: of pairs where there are actions, of states where there are none."""
    agent = AgentConfig(net=NetConfig(bonus_hidden=width), image=ImageConfig(bonus_features=width))
    spec = spaces.spec
    if not spaces.actions:
        return RND(spec, agent, NoSettings())
    return PairDistillation(spec, agent, DistillationConfig(embedding="channel" if as_channel else "one-hot"))


def init(bonus: Bonus, seed: Int[Array, ""]) -> Learner:
    stats = empty_stats(bonus.spec)
    params, state = bonus.init(jax.random.key(seed), stats)
    return Learner(params, state, optax.adam(0.0).init(params), stats)


#: `init` as a program.
init_program = jax.jit(init, static_argnums=0, compiler_options=QUICK)


def _batch(stats: RunningMeanStd, obs: Array, actions: Array | None) -> Batch:
    """Observations as transitions: those of pairs start from them, those of states lead to them."""
    zeros = jnp.zeros(len(obs), jnp.int32)
    taken = zeros if actions is None else actions
    transitions = Transitions(obs, obs, taken, zeros, zeros, zeros > 0, zeros > 0)
    return Batch(transitions, stats, CLIP, jax.random.key(0))  # these bonuses draw nothing


@lru_cache(maxsize=64)
def _acting_tree(bonus: Bonus) -> Any:
    """The structure of what acting needs, whose leaves are `Learner.acting`."""
    like = eqx.filter_eval_shape(init, bonus, jnp.int32(0))
    return jax.tree.structure((like.params, like.state, like.obs_stats))


def _state_errors(bonus: Bonus, acting: tuple[Array, ...], obs: Array) -> Array:
    params, state, stats = jax.tree.unflatten(_acting_tree(bonus), acting)
    return bonus.loss(params, state, _batch(stats, obs, None))


def _action_errors(bonus: Bonus, acting: tuple[Array, ...], obs: Array) -> Array:
    params, state, stats = jax.tree.unflatten(_acting_tree(bonus), acting)
    zero = jnp.zeros((), jnp.int32)
    return jax.vmap(lambda one: bonus.scores(params, state, BonusObs(one, zero, stats, CLIP)))(obs)


@_lean
def state_errors(bonus: Bonus, acting: tuple[Array, ...], obs: Real[Array, "B ..."]) -> Float[Array, " B"]:
    """Errors of states (Eq. 1)."""
    return _state_errors(bonus, acting, obs)


@_lean
def action_errors(bonus: Bonus, acting: tuple[Array, ...], obs: Real[Array, "B ..."]) -> Float[Array, "B A"]:
    """The bonus vectors of states (Eq. 4)."""
    return _action_errors(bonus, acting, obs)


@lru_cache(maxsize=64)
def shifts(bonus: Bonus, kind: Normalization) -> Callable[..., Float[Array, "B A"]]:
    """Make the program of what action balance adds to logits, ``c * Normalize(r_ab(s, .))`` (Eq. 5).

    It is made once, because settings take long to compare, and this is called in every step of a loop.
    """
    distribution = bonus.distribution

    def normalized(scores: Array, allowed: Array | None) -> Array:
        return distribution.per_component(lambda part, mask: normalize(part, kind, mask), scores, allowed)

    def shift(acting: tuple[Array, ...], obs: Array, allowed: Bool[Array, "B A"] | None, coef: float) -> Array:
        return coef * jax.vmap(normalized)(_action_errors(bonus, acting, obs), allowed)

    return jax.jit(shift, compiler_options=LEAN)


def _absorbed(stats: RunningMeanStd, obs: Real[Array, "B ..."], size: Int[Array, ""] | int) -> RunningMeanStd:
    return stats.update(obs, jnp.arange(len(obs)) < size)


update_stats = jax.jit(_absorbed, compiler_options=QUICK)


@_lean
def learn(
    bonus: Bonus,
    learner: Learner,
    obs: Real[Array, "B ..."],
    actions: Int[Array, "B ..."] | None,
    size: Int[Array, ""] | int,
    order: Int[Array, "S P"],
    counts: Int[Array, " S"],
    rate: Float[Array, ""] | float,
) -> tuple[Learner, Float[Array, " S"]]:
    """Steps of Adam on the errors of pairs (Eq. 2), or of states where no actions are given."""
    stats = _absorbed(learner.obs_stats, obs, size)

    def step(carry: tuple[Any, Any], which: tuple[Array, Array]) -> tuple[tuple[Any, Any], Array]:
        params, optimizer = carry
        samples, count = which
        batch = _batch(stats, obs[samples], None if actions is None else actions[samples])

        def mean_error(params: Any) -> Array:
            errors = bonus.loss(params, learner.state, batch)
            return jnp.where(jnp.arange(len(samples)) < count, errors, 0).sum() / count

        error, gradient = jax.value_and_grad(mean_error)(params)
        changes, optimizer = optax.adam(rate).update(gradient, optimizer)
        return (optax.apply_updates(params, changes), optimizer), error

    (params, optimizer), errors = jax.lax.scan(step, (learner.params, learner.optimizer), (order, counts))
    return Learner(params, learner.state, optimizer, stats), errors


@_lean
def rewards(
    bonus: Bonus,
    acting: tuple[Array, ...],
    scale: ReturnScale,
    next_obs: Real[Array, "T N ..."],
    counted: Bool[Array, "T N"],
    gamma: float,
) -> tuple[ReturnScale, Float[Array, "T N"]]:
    """Intrinsic rewards: errors of states, over the standard deviation of their discounted returns."""
    errors = _state_errors(bonus, acting, next_obs.reshape(-1, *next_obs.shape[2:])).reshape(counted.shape)
    scale = scale.update(errors, gamma, counted)
    known = scale.moments.count > counted.shape[1]
    return scale, jnp.where(counted & known, errors / scale.scale, 0.0)
