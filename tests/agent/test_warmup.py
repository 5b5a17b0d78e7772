"""The warm-up sees every frame that random steps reach, in the same way on the device and on the host."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.agent.context import AgentContext
from action_balance.agent.warmup import loop, warm_up, warmup_steps
from action_balance.config.agent import AgentConfig, BonusConfig, PPOConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec

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


@pytest.mark.parametrize(
    ("method", "normalize_obs", "steps"),
    [("rnd", False, 6), ("action-balance", False, 6), ("ppo", False, 0), ("ppo", True, 6), ("random", True, 0)],
)
def test_random_steps_are_made_where_something_uses_the_statistics(
    method: str, normalize_obs: bool, steps: int
) -> None:
    config = AgentConfig(method=method, ppo=PPOConfig(rollout_steps=3), bonus=BonusConfig(warmup_rollouts=2))
    spec = EnvSpec("vector", (2,), (3,), normalize_obs=normalize_obs)
    assert warmup_steps(AgentContext(config, spec)) == steps
