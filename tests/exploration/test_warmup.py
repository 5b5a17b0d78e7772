"""The warm-up sees every frame that random steps reach, in the same way on the device and on the host."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec
from action_balance.exploration.warmup import loop, warm_up, warmup_steps

RANDOM_STEPS = AgentConfig(
    method="ppo", algorithm=PPOConfig(rollout_steps=3), exploration=ExplorationConfig(warmup_rollouts=2)
)
FRAMES = np.arange(24.0, dtype=np.float32).reshape(4, 3, 2)  # steps, environments, numbers


def step(count: Any, frames: Any) -> tuple[Any, list[Any]]:
    """Two groups of environments, one of which is of one."""
    return count + 1, [frames[:2], frames[2:]]


def test_the_statistics_are_those_of_all_frames() -> None:
    empty = RunningMeanStd.empty((2,))
    on_device = jax.jit(lambda: warm_up(empty, step, 0, jnp.asarray(FRAMES)))()
    on_host = warm_up(empty, step, 0, FRAMES, loop, jax.jit(RunningMeanStd.update))
    for stats in (on_device, on_host):
        assert float(stats.count) == 12
        np.testing.assert_allclose(stats.mean, FRAMES.reshape(12, 2).mean(axis=0), rtol=1e-6)
        np.testing.assert_allclose(stats.variance, FRAMES.reshape(12, 2).var(axis=0), rtol=1e-5)


def test_random_steps_are_made_where_a_bonus_uses_the_statistics() -> None:
    spec = EnvSpec("vector", (2,), (3,), states=4, normalize_obs=True)
    rewarded = [replace(RANDOM_STEPS, intrinsic=name) for name in INTRINSIC_BONUSES]
    balanced = [replace(RANDOM_STEPS, action_bonus=name) for name in ACTION_BONUSES]
    for config in (RANDOM_STEPS, *rewarded, *balanced):
        uses = any(bonus.uses_obs_stats for bonus in make_algorithm(config, spec).bonuses.values())
        assert warmup_steps(config) == (6 if uses else 0), config.label
    assert not warmup_steps(replace(RANDOM_STEPS, method="random"))
