"""The compiled side of a bonus in a foreign loop: the agent's own bonus classes, on batches of few sizes.

Each call of such a loop is one program: what a policy needs to act, the rewards of a rollout, the visits of a part of
it, or all epochs and minibatches of an update. Axes: B samples, A choices of all action components, or as many
candidates, of n numbers each, T steps, N environments, S gradient steps, P samples of a gradient step. What counts of a
padded batch is an argument.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, Real

from action_balance.bonuses.base import Batch, Bonus, BonusObs, Transitions
from action_balance.core.compiling import LEAN, QUICK
from action_balance.core.keys import named_key
from action_balance.core.options import Normalization
from action_balance.core.running_stats import ReturnScale, RunningMeanStd
from action_balance.envs.mixed import empty_stats, state_number

#: Normalised observations are clipped to +- this.
CLIP = 5.0
_lean = partial(jax.jit, static_argnums=0, compiler_options=LEAN)


class Learner(eqx.Module):
    """A bonus: what it has learned, its state, and the statistics of observations."""

    params: PyTree
    state: PyTree
    optimizer: Any  # Adam's state
    obs_stats: RunningMeanStd
    updates: Int[Array, ""]  # how often it has learned

    @property
    def acting(self) -> tuple[Array, ...]:
        """What acting needs: without the optimiser, and as leaves, which are passed to a program faster than a tree."""
        return tuple(jax.tree.leaves((self.params, self.state, self.obs_stats)))

    @property
    def gradient_steps(self) -> int:
        return int(optax.tree_utils.tree_get(self.optimizer, "count"))


class Steps(NamedTuple):
    """Frames and actions of steps, with the same leading axes; None for what the bonus does not need."""

    obs: Any = None  # before the step
    actions: Any = None
    next_obs: Any = None  # after it
    ended: Any = None  # whether it was the last of its episode

    @property
    def seen(self) -> Any:
        """What the observation statistics are made of."""
        return self.obs if self.next_obs is None else self.next_obs

    def each(self, function: Callable[[Any], Any]) -> "Steps":
        """A function of every array."""
        found: Steps = jax.tree.map(function, self)
        return found


def init(bonus: Bonus, seed: Int[Array, ""], stats: RunningMeanStd) -> Learner:
    params, state = bonus.init(jax.random.key(seed), stats)
    return Learner(params, state, optax.adam(0.0).init(params), stats, jnp.int32(0))


#: `init` as a program.
init_program = jax.jit(init, static_argnums=0, compiler_options=QUICK)


def no_stats(bonus: Bonus) -> RunningMeanStd:
    """Empty statistics of observations, which no program makes."""
    like = jax.eval_shape(partial(empty_stats, bonus.spec))
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), like)


@lru_cache(maxsize=64)
def shapes(bonus: Bonus) -> Learner:
    """A `Learner` with shapes in place of arrays."""
    like: Learner = eqx.filter_eval_shape(init, bonus, jnp.int32(0), empty_stats(bonus.spec))
    return like


def _key(seed: Int[Array, ""] | int, updates: Int[Array, ""], name: str) -> PRNGKeyArray:
    return jax.random.fold_in(named_key(jax.random.key(seed), name), updates)


class FlatBatch(Batch):
    """A batch whose functions are mapped over one axis: the numbers of a rollout are those of its minibatches, bit for
    bit."""

    def each(self, function: Callable[..., Any]) -> Any:
        lead = self.transitions.index.shape
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[len(lead) :]), self.transitions)
        found = Batch(flat, self.stats, self.clip, self.key).each(function)
        return jax.tree.map(lambda leaf: leaf.reshape(*lead, *leaf.shape[1:]), found)


def _batch(bonus: Bonus, stats: RunningMeanStd, steps: Steps, key: PRNGKeyArray) -> Batch:
    """Steps as transitions: those of pairs start from their observations, those of states lead to them."""
    before = steps.next_obs if steps.obs is None else steps.obs
    after = steps.seen
    index = state_number(bonus.spec, before)
    zeros = jnp.zeros(index.shape, jnp.int32)
    actions = zeros if steps.actions is None else steps.actions
    ended = zeros > 0 if steps.ended is None else steps.ended
    transitions = Transitions(before, after, actions, index, state_number(bonus.spec, after), ended, zeros > 0)
    return FlatBatch(transitions, stats, CLIP, key)


def _unflatten(bonus: Bonus, acting: tuple[Array, ...]) -> Any:
    like = shapes(bonus)
    return jax.tree.unflatten(jax.tree.structure((like.params, like.state, like.obs_stats)), acting)


def _action_scores(
    bonus: Bonus, acting: tuple[Array, ...], obs: Real[Array, "B ..."], candidates: Float[Array, "B A n"] | None = None
) -> Float[Array, "B A"]:
    """The bonus vectors of states (Eq. 4), of all actions or of candidates."""
    params, state, stats = _unflatten(bonus, acting)
    state, index = bonus.acting_state(state), state_number(bonus.spec, obs)

    def scores(one: Array, number: Array, actions: Array | None) -> Array:
        known = params, state, BonusObs(one, number, stats, CLIP)
        if actions is None:
            return bonus.scores(*known)
        return bonus.scores_of(*known, jax.vmap(bonus.distribution.vector)(actions))

    found: Array = jax.vmap(scores)(obs, index, candidates)
    return found


action_scores = _lean(_action_scores)


@_lean
def state_bonus(bonus: Bonus, acting: tuple[Array, ...], next_obs: Real[Array, "B ..."]) -> Float[Array, " B"]:
    """The bonus of states (Eq. 1)."""
    params, state, stats = _unflatten(bonus, acting)
    batch = _batch(bonus, stats, Steps(next_obs=next_obs[None]), jax.random.key(0))  # a reward of states draws nothing
    return bonus.reward(params, state, batch)[0][0]


@lru_cache(maxsize=64)
def shifts(bonus: Bonus, kind: Normalization) -> Callable[..., Float[Array, "B A"]]:
    """Make the program of what action balance adds to logits, ``c * Normalize(r_ab(s, .))`` (Eq. 5).

    It is made once, because settings take long to compare, and this is called in every step of a loop.
    """

    def shift(
        acting: tuple[Array, ...],
        obs: Array,
        allowed: Bool[Array, "B A"] | None,
        coef: float,
        candidates: Float[Array, "B A n"] | None = None,
    ) -> Array:
        scores = _action_scores(bonus, acting, obs, candidates)
        return coef * jax.vmap(lambda one, mask: bonus.distribution.normalized(one, kind, mask))(scores, allowed)

    return jax.jit(shift, compiler_options=LEAN)


def _absorbed(stats: RunningMeanStd, obs: Real[Array, "B ..."], size: Int[Array, ""] | int) -> RunningMeanStd:
    return stats.update(obs, jnp.arange(len(obs)) < size)


update_stats = jax.jit(_absorbed, compiler_options=QUICK)


@lru_cache(maxsize=64)
def counts_visits(bonus: Bonus) -> bool:
    """Whether a bonus has a state that changes with what is visited; networks alone have none."""
    spec, found = bonus.spec, list[bool]()

    def visit(learner: Learner, steps: Steps) -> None:
        batch = _batch(bonus, learner.obs_stats, steps, jax.random.key(0))
        _, state = bonus.reward(learner.params, learner.state, batch)
        pairs = zip(jax.tree.leaves(state), jax.tree.leaves(learner.state), strict=True)
        found.append(any(new is not old for new, old in pairs))

    frame = jax.ShapeDtypeStruct((1, bonus.agent.envs, *spec.frame_shape), spec.dtype)
    actions = jax.ShapeDtypeStruct((1, bonus.agent.envs, *bonus.spec.action_shape), bonus.distribution.dtype)
    jax.eval_shape(visit, shapes(bonus), Steps(frame, actions, frame))
    return found[0]


@_lean
def count(
    bonus: Bonus, learner: Learner, steps: Steps, seed: Int[Array, ""] | int, part: Int[Array, ""] | int
) -> PyTree:
    """The state of a bonus after steps that were taken, (T, N)."""
    key = jax.random.fold_in(_key(seed, learner.updates, "rollout"), part)
    return bonus.reward(learner.params, learner.state, _batch(bonus, learner.obs_stats, steps, key))[1]


@_lean
def learn(
    bonus: Bonus,
    learner: Learner,
    steps: Steps,
    size: Int[Array, ""] | int,
    order: Int[Array, "S P"],
    counts: Int[Array, " S"],
    rate: Float[Array, ""] | float,
    seed: Int[Array, ""] | int,
) -> tuple[Learner, Float[Array, " S"]]:
    """Steps of Adam on the loss of a bonus: errors of pairs (Eq. 2) or of states (Eq. 1), for example."""
    stats = _absorbed(learner.obs_stats, steps.seen, size)
    key = _key(seed, learner.updates, "minibatches")

    def step(carry: tuple[Any, Any], which: tuple[Array, Array, Array]) -> tuple[tuple[Any, Any], Array]:
        params, optimizer = carry
        samples, count, number = which
        batch = _batch(bonus, stats, steps.each(lambda leaf: leaf[samples]), jax.random.fold_in(key, number))

        def mean_error(params: Any) -> Array:
            errors = bonus.loss(params, learner.state, batch)
            return jnp.where(jnp.arange(len(samples)) < count, errors, 0).sum() / count

        error, gradient = jax.value_and_grad(mean_error)(params)
        changes, optimizer = optax.adam(rate).update(gradient, optimizer)
        return (optax.apply_updates(params, changes), optimizer), error

    which = order, counts, jnp.arange(len(order))
    (params, optimizer), errors = jax.lax.scan(step, (learner.params, learner.optimizer), which)
    return Learner(params, learner.state, optimizer, stats, learner.updates + 1), errors


@_lean
def rewards(
    bonus: Bonus,
    acting: tuple[Array, ...],
    scale: ReturnScale,
    steps: Steps,
    counted: Bool[Array, "T N"],
    gamma: float,
    seed: Int[Array, ""] | int,
    updates: Int[Array, ""],
) -> tuple[ReturnScale, Float[Array, "T N"]]:
    """Intrinsic rewards of a rollout over the standard deviation of their discounted returns."""
    params, state, stats = _unflatten(bonus, acting)
    key = jax.random.fold_in(_key(seed, updates, "rollout"), 0)
    found, _ = bonus.reward(params, state, _batch(bonus, stats, steps, key))
    scale = scale.update(found, gamma, counted)
    known = scale.moments.count > counted.shape[1]
    return scale, jnp.where(counted & known, found / scale.scale, 0.0)
