"""Does a bonus count? What it says about every state, or about every action of every state, beside the true counts.

Axes: R agents, S states, A actions, N environments, D numbers of an observation, B bins of visits, K items compared.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.state import TrainState
from action_balance.bonuses.base import ACTION, INTRINSIC, Batch, Bonus, Transitions
from action_balance.config.train import TrainConfig
from action_balance.envs.base import Environment
from action_balance.envs.deep_sea.environment import DeepSea, DeepSeaState
from action_balance.envs.grid.dynamics import GridState
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.studies import statistics
from action_balance.studies.statistics import Estimate

#: Next-state bonuses of a transition, which are compared with how often the transition was made.
OF_TRANSITIONS = ("icm",)

#: Bonuses that estimate 1 / sqrt(1 + N); all others are only meant to be larger where N is smaller.
CALIBRATED = ("count", "hash", "coin-flip", "elliptical")

#: Smaller estimates count as this, so that a ratio has a logarithm.
SMALLEST = 0.5

#: Bins of visits: 1, 2 to 3, 4 to 7, ...; the last one has no upper end.
BINS = 18


def observe_all(environment: Environment, key: PRNGKeyArray) -> Float[Array, "S D"]:
    numbers = jnp.arange(environment.spec.states)
    if isinstance(environment, DeepSea):
        return jax.vmap(environment.observe)(numbers, jax.random.split(key, len(numbers)))
    assert isinstance(environment, GridEnvironment)
    return jax.vmap(environment.observe)(numbers)


def successors(environment: Environment, key: PRNGKeyArray) -> tuple[Array, Array]:
    numbers, actions = jnp.arange(environment.spec.states), jnp.arange(environment.spec.nvec[0])

    def one(number: Array, action: Array) -> tuple[Array, Array]:
        step_key = jax.random.fold_in(jax.random.fold_in(key, number), action)
        if isinstance(environment, DeepSea):
            state: DeepSeaState | GridState = DeepSeaState(number // environment.size, number % environment.size)
        else:
            state = GridState(number, jnp.zeros((), jnp.int32))
        observed = environment.step(state, action, step_key)[1].next_obs
        return observed, environment.index(observed)

    return jax.vmap(lambda number: jax.vmap(lambda action: one(number, action))(actions))(numbers)


def comparable_states(environment: Environment) -> np.ndarray:
    """The states whose observation is what agents see when they reach them, (S,) bool.

    In the deep sea, the number of the first cell, which is never reached, is also that of the end.
    """
    reachable = environment.reachable().copy()
    if isinstance(environment, DeepSea):
        reachable[0] = False
    return reachable


def transition_bonus(
    bonus: Bonus, state: TrainState, frame: Array, action: Array, next_frame: Array, index: Array, next_index: Array
) -> Float[Array, " K"]:
    """What a next-state bonus would pay for transitions, each as the only step of a rollout; nothing is learned."""
    count, envs = len(action), bonus.agent.envs
    groups = -(-count // envs)
    places = jnp.arange(groups * envs) % count  # the last group is filled up

    def grouped(leaf: Array) -> Array:
        return leaf[places].reshape(groups, 1, envs, *leaf.shape[1:])

    never = jnp.zeros(count, bool)
    transitions = Transitions(frame, next_frame, action, index, next_index, never, never)

    def one(rollout: Transitions) -> Array:
        clip = bonus.agent.exploration.observation_clip
        batch = Batch(rollout, state.obs_stats, clip, state.key)
        return bonus.reward(state.params.bonuses[INTRINSIC], state.bonus_states[INTRINSIC], batch)[0][0]

    rewards = jax.lax.map(one, jax.tree.map(grouped, transitions))
    return rewards.reshape(-1)[:count]


def state_bonuses(config: TrainConfig) -> Callable[[TrainState, PRNGKeyArray], Array]:
    """A function of one agent and the key of its seed: its next-state bonus for every state, (S,), or for every action
    of every state, (S, A), if it depends on the transition."""
    algorithm = make_algorithm(config.agent, config.env.spec)
    bonus = algorithm.intrinsic
    assert bonus is not None

    def one(state: TrainState, key: PRNGKeyArray) -> Array:
        environment, drawn = config.environment(key), jax.random.fold_in(state.key, 0)
        observed, numbers = observe_all(environment, drawn), jnp.arange(algorithm.spec.states)
        if config.agent.intrinsic_name not in OF_TRANSITIONS:
            return transition_bonus(bonus, state, observed, jnp.zeros_like(numbers), observed, numbers, numbers)
        reached, reached_numbers = successors(environment, drawn)
        actions = reached_numbers.shape[1]
        found = transition_bonus(
            bonus,
            state,
            jnp.repeat(observed, actions, axis=0),
            jnp.tile(jnp.arange(actions), len(numbers)),
            reached.reshape(-1, reached.shape[-1]),
            jnp.repeat(numbers, actions),
            reached_numbers.reshape(-1),
        )
        return found.reshape(-1, actions)

    return one


def pair_bonuses(config: TrainConfig) -> Callable[[TrainState, PRNGKeyArray], Array]:
    """A function of one agent and the key of its seed: its action bonus for every action of every state, (S, A)."""
    algorithm = make_algorithm(config.agent, config.env.spec)
    bonus = algorithm.action_bonus
    assert bonus is not None

    def one(state: TrainState, key: PRNGKeyArray) -> Array:
        observed = observe_all(config.environment(key), jax.random.fold_in(state.key, 0))
        acting = bonus.acting_state(state.bonus_states[ACTION])

        def scores(observation: Array, number: Array) -> Array:
            obs = algorithm.bonus_obs(observation, number, state.obs_stats)
            return bonus.scores(state.params.bonuses[ACTION], acting, obs)

        return jax.vmap(scores)(observed, jnp.arange(len(observed)))

    return one


def estimated_counts(bonus: np.ndarray, counts: np.ndarray, name: str) -> np.ndarray:
    found = 1 / np.maximum(bonus.astype(np.float64), 1e-12) ** 2
    found = found - 1 if name in CALIBRATED else found / np.median(found / counts)
    return np.maximum(found, SMALLEST)


def log_ratios(estimates: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean log2 of estimate over truth by number of visits, (B,), nan in empty bins; and the size of each bin, (B,)."""
    place = np.minimum(np.floor(np.log2(counts)).astype(int), BINS - 1)
    number = np.bincount(place, minlength=BINS)
    total = np.bincount(place, np.log2(estimates / counts), minlength=BINS)
    return np.where(number, total / np.maximum(number, 1), np.nan), number


def rank_correlation(bonus: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Spearman's correlation of bonuses and minus counts along the last axis, (..., K) -> (...).

    It is 0 where all bonuses are equal, because they then say nothing, and nan where all counts are.
    """
    from scipy import stats

    ours, true = (stats.rankdata(values, axis=-1) for values in (bonus, -counts.astype(np.int64)))
    ours, true = (ranks - ranks.mean(axis=-1, keepdims=True) for ranks in (ours, true))
    spread = (true**2).sum(axis=-1), (ours**2).sum(axis=-1)
    product = np.sqrt(spread[0] * spread[1])
    found = (ours * true).sum(axis=-1) / np.where(product > 0, product, 1)
    return np.where(spread[0] > 0, found, np.nan)


def mean_correlation(values: np.ndarray) -> Estimate:
    """Mean of the correlations of agents, (R,), with Fisher's transformation, which keeps the interval below 1."""
    known = values[np.isfinite(values)].astype(float)
    if not len(known):
        return Estimate(np.nan)
    mean = statistics.mean(np.arctanh(np.clip(known, -0.999999, 0.999999)))
    return mean.map(lambda part: float(np.tanh(part)))


def compare_agent(
    bonus: np.ndarray, counts: np.ndarray, known: np.ndarray, name: str
) -> tuple[float, float, np.ndarray, np.ndarray]:
    within = np.nan
    if counts.ndim > 1:
        known = known & (counts.sum(axis=-1) > 0)
        each = rank_correlation(bonus[known], counts[known]) if known.any() else np.empty(0)
        within = float(np.nanmean(each)) if np.isfinite(each).any() else np.nan
    else:
        known = known & (counts > 0)
    ours, true = bonus[known].ravel(), counts[known].ravel()
    rank = float(rank_correlation(ours, true)) if len(ours) else np.nan
    visited = true > 0
    if not visited.any():
        return rank, within, np.full(BINS, np.nan), np.zeros(BINS, int)
    estimates = estimated_counts(ours[visited], true[visited], name)
    return rank, within, *log_ratios(estimates, true[visited])
