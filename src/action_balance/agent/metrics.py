"""Metrics of one update: a flat dictionary of named numbers, to which each part adds its own.

Means are over the samples of the rollout. ``docs/howto/metrics.md`` describes every name.
Axes: T steps, N environments, A choices of all action components.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from action_balance.agent.context import AgentContext
from action_balance.agent.episodes import Episodes, mean_at_ends
from action_balance.agent.state import TrainState, Trajectory
from action_balance.agent.update import LARGEST, UpdateInfo
from action_balance.bonuses.base import ACTION, INTRINSIC
from action_balance.core.balance import mask_logits, normalize
from action_balance.errors import UserError

#: Numbers by name, and the frequency of each action.
Metrics = dict[str, Array]

#: Names of the losses of bonuses, by slot.
BONUS_LOSSES = {INTRINSIC: "loss_next_state", ACTION: "loss_action"}


def update_metrics(
    state: TrainState,
    trajectory: Trajectory,
    info: UpdateInfo | None,
    episodes: Episodes | None,
    coef: Float[Array, ""],
    context: AgentContext,
) -> Metrics:
    """All metrics of an update. Those of episodes are missing where only the host knows them."""
    found = {} if episodes is None else episode_metrics(episodes)
    found |= {"first_reward": state.first_reward}
    if context.spec.states:
        found |= {"states": (state.state_visits > 0).sum()}
    found |= _policy_metrics(trajectory, coef, context)
    if info is not None:
        found |= _loss_metrics(trajectory, info, context)
    if state.reward_scale is not None:
        found |= {"reward_scale": state.reward_scale.scale}
    of_episodes = {name: mean_at_ends(one, trajectory.ended) for name, one in trajectory.info.items()}
    found = _with(found, "the environment", of_episodes)
    for slot, bonus in context.bonuses.items():
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


def _policy_metrics(trajectory: Trajectory, coef: Array, context: AgentContext) -> Metrics:
    distribution, bonus, mask = context.distribution, trajectory.action_bonus, trajectory.mask
    behaviour = _each(lambda x, y, m: context.behaviour_logits(x, y, coef, m))(trajectory.logits, bonus, mask)
    entropy = _each(distribution.entropy)
    found = {
        "action_frequency": _each(distribution.one_hot)(trajectory.action).mean(axis=(0, 1)),
        "entropy_pi": entropy(trajectory.logits).mean(),
        "entropy_beta": entropy(behaviour).mean(),
    }
    config = context.config
    if config.beta_differs:
        found |= {"kl_beta_pi": _each(distribution.kl)(behaviour, trajectory.logits).mean()}
    if not config.balances:
        return found
    if config.adapts or config.bonus.action_coef_end is not None:
        found |= {"action_coef": coef}
    kind = config.normalize
    proportions = _each(lambda r: distribution.per_component(_proportions, r))(bonus)
    added = _each(lambda r, m: distribution.per_component(lambda x, y: normalize(x, kind, y), r, m))(bonus, mask)
    return found | {
        "entropy_bonus": jax.scipy.special.entr(proportions).sum(axis=-1).mean(),
        "entropy_added": entropy(mask_logits(added, mask)).mean(),
        "action_bonus_mean": bonus.mean(where=mask),
    }


def _loss_metrics(trajectory: Trajectory, info: UpdateInfo, context: AgentContext) -> Metrics:
    losses, values, targets = info.losses, trajectory.values, info.value_targets
    found = {} if context.intrinsic is None else {"bonus_mean": info.reward.mean(), "bonus_scale": info.scale}
    found |= {
        "loss_policy": losses["policy"].mean(),
        "loss_value_int": losses["value_int"].mean(),
        "loss_value_ext": losses["value_ext"].mean(),
        "clip_fraction": losses["clip_fraction"].mean(),
        "first_ratio": jnp.maximum(losses[LARGEST][0], info.drift),
        "explained_int": _explained(targets[..., 0], values[..., 0]),
        "explained_ext": _explained(targets[..., 1], values[..., 1]),
    }
    return found | {name: losses[slot].mean() for slot, name in BONUS_LOSSES.items() if slot in losses}


def _explained(targets: Array, values: Array) -> Array:
    spread = targets.var()
    return jnp.where(spread > 0, 1 - (targets - values).var() / jnp.where(spread > 0, spread, 1), jnp.nan)


def _each(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of one step, applied to all steps of a rollout, (T, N)."""
    return jax.vmap(jax.vmap(function))


def _proportions(bonus: Array) -> Array:
    total = bonus.sum()
    return bonus / jnp.where(total > 0, total, 1)
