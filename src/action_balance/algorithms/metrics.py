"""Metrics of one update: a flat dictionary of named numbers, to which each part adds its own.

Means are over the samples of the rollout. ``docs/howto/metrics.md`` describes every name.
Axes: T steps, N environments, A choices of all action components.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from action_balance.algorithms.base import Algorithm, Metrics, each
from action_balance.algorithms.state import TrainState, Trajectory, UpdateInfo
from action_balance.bonuses.base import ACTION, INTRINSIC
from action_balance.errors import UserError
from action_balance.exploration.episodes import Episodes, mean_at_ends

#: Names of the losses of bonuses, by slot.
BONUS_LOSSES = {INTRINSIC: "loss_next_state", ACTION: "loss_action"}


def update_metrics(
    state: TrainState,
    trajectory: Trajectory,
    info: UpdateInfo | None,
    episodes: Episodes | None,
    coef: Float[Array, ""],
    algorithm: Algorithm,
) -> Metrics:
    """All metrics of an update. Those of episodes are missing where only the host knows them."""
    found = {} if episodes is None else episode_metrics(episodes)
    found |= {"first_reward": state.first_reward}
    if algorithm.spec.states:
        found |= {"states": (state.state_visits > 0).sum()}
    found |= _policy_metrics(trajectory, coef, algorithm)
    if info is not None:
        found |= _loss_metrics(trajectory, info, algorithm)
    if state.reward_scale is not None:
        found |= {"reward_scale": state.reward_scale.scale}
    of_episodes = {name: mean_at_ends(one, trajectory.ended) for name, one in trajectory.info.items()}
    found = _with(found, "the environment", of_episodes)
    for slot, bonus in algorithm.bonuses.items():
        own = bonus.metrics(state.params.bonuses[slot], state.bonus_states[slot])
        found = _with(found, type(bonus).__name__, own)
    leaves = jax.tree.leaves(state.params)
    return found | {"parameters_finite": jnp.stack([jnp.isfinite(leaf).all() for leaf in leaves]).all()}


def _with(found: Metrics, whose: str, own: Metrics) -> Metrics:
    """Metrics with those of a part; a `UserError` if it uses a name that exists."""
    if taken := found.keys() & own.keys():
        raise UserError(f"{whose} adds a metric {min(taken)}, which already exists: use another name")
    return found | own


def episode_metrics(episodes: Episodes) -> dict[str, Any]:
    return {
        "episodes": episodes.number,
        "episode_return": episodes.mean_return,
        "best_return": episodes.best_return,
    }


def _policy_metrics(trajectory: Trajectory, coef: Array, algorithm: Algorithm) -> Metrics:
    distribution, bonus, mask = algorithm.distribution, trajectory.action_bonus, trajectory.mask
    beta = each(lambda x, y, m, e: algorithm.behaviour_logits(x, y, coef, m, e))(
        trajectory.preferences, bonus, mask, trajectory.epsilon
    )
    entropy = each(distribution.entropy)
    found = {
        **distribution.metrics(trajectory.action, trajectory.preferences),
        "entropy_pi": entropy(each(algorithm.policy)(trajectory.preferences, mask)).mean(),
        "entropy_beta": entropy(beta).mean(),
    }
    config = algorithm.config
    if config.beta_differs:
        found |= algorithm.distance(trajectory, beta, coef)
    if trajectory.epsilon is not None:
        found |= {"epsilon": trajectory.epsilon.mean()}
    if not config.balances:
        return found
    if config.adapts or config.exploration.action_coef_end is not None:
        found |= {"action_coef": coef}
    return found | distribution.bonus_metrics(bonus, config.normalize, mask)


def _loss_metrics(trajectory: Trajectory, info: UpdateInfo, algorithm: Algorithm) -> Metrics:
    losses = info.losses
    found = {} if algorithm.intrinsic is None else {"bonus_mean": info.reward.mean(), "bonus_scale": info.scale}
    found |= algorithm.metrics(trajectory, info)
    return found | {name: losses[slot].mean() for slot, name in BONUS_LOSSES.items() if slot in losses}
