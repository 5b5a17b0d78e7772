"""The whole agent learns: with exact counts every agent solves a deep sea that PPO alone does not explore."""

import numpy as np

from action_balance.config.agent import AgentConfig, NetConfig, PPOConfig
from action_balance.config.env import EnvConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device.trainer import DeviceTrainer

SEEDS = 4


def train(env: EnvConfig, method: str, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean return over the last ten updates, and steps to the first reward, of each agent."""
    # Short rollouts of many environments: the same steps in a quarter of the time.
    ppo = PPOConfig(rollout_steps=32, learning_rate=1e-3)
    agent = AgentConfig(method=method, steps=steps, envs=32, ppo=ppo, net=NetConfig(hidden=32))
    config = TrainConfig(env, agent, seeds=SEEDS)
    trainer = DeviceTrainer(config)
    trainer.start(trainer.init_state())
    metrics = [trainer.advance() for _ in range(config.agent.updates)]
    returns = [one["episode_return"] for one in metrics[-10:]]
    return np.nanmean(returns, axis=0), metrics[-1]["first_reward"]


def test_a_bonus_that_counts_finds_and_fetches_the_treasure_where_ppo_fails() -> None:
    env, steps = env_config("deep-sea", size=10), 60_000
    ours, ours_found = train(env, "count", steps)
    ppo, _ = train(env, "ppo", steps)
    assert (ours_found > 0).all()
    assert (ours > 0.5).all()
    assert (ppo > 0.5).sum() < SEEDS // 2
