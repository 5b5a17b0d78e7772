"""The warm-up: observation statistics of what a uniformly random agent reaches, on the device and on the host alike."""

from collections.abc import Callable, Iterable
from typing import Any

import jax
from jaxtyping import Array, Real

from action_balance.config.agent import AgentConfig
from action_balance.core.running_stats import RunningMeanStd

#: One random step of all environments: their states and a draw, to their next states and batches of reached frames.
RandomStep = Callable[[Any, Any], tuple[Any, Iterable[Real[Array, "..."]]]]


def warmup_steps(config: AgentConfig) -> int:
    """Random steps of every environment before the first update."""
    return config.warmup_rollouts * config.algorithm.rollout_steps


def warm_up(
    stats: RunningMeanStd,
    step: RandomStep,
    env_state: Any,
    draws: Any,
    scan: Callable[..., Any] = jax.lax.scan,
    update: Callable[[Any, Any], RunningMeanStd] = lambda stats, frames: stats.update(frames),
) -> RunningMeanStd:
    """Update statistics with every frame that random steps reach, also those that end an episode; on the host, with
    `loop` in place of the scan."""

    def observe(carry: tuple[Any, RunningMeanStd], draw: Any) -> tuple[tuple[Any, RunningMeanStd], None]:
        env_state, stats = carry
        env_state, reached = step(env_state, draw)
        for frames in reached:
            stats = update(stats, frames)
        return (env_state, stats), None

    return scan(observe, (env_state, stats), draws)[0][1]


def loop(function: Callable[[Any, Any], tuple[Any, None]], carry: Any, draws: Iterable[Any]) -> tuple[Any, None]:
    """`jax.lax.scan` without results, as a loop in Python."""
    for draw in draws:
        carry, _ = function(carry, draw)
    return carry, None
