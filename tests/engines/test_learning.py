"""Whole agents learn: each of these tests fails if an algorithm is broken. All seeds are fixed, and limits are far from
what agents reach, because programs round differently on other machines."""

import numpy as np
import pytest

from action_balance.config.agent import AgentConfig, NetConfig, PPOConfig
from action_balance.config.env import EnvConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device.trainer import DeviceTrainer


def train(env: EnvConfig, agent: AgentConfig, seeds: int) -> np.ndarray:
    """The mean return over the last 8 updates of each seed."""
    trainer = DeviceTrainer(TrainConfig(env, agent, seeds=seeds))
    trainer.start(trainer.init_state())
    returns = [trainer.advance()["episode_return"] for _ in range(agent.updates)]
    return np.nanmean(returns[-8:], axis=0)


def deep_sea(method: str, size: int, steps: int, seeds: int) -> np.ndarray:
    """Which seeds fetch the treasure."""
    # Short rollouts of many environments: the same steps in a quarter of the time.
    ppo = PPOConfig(rollout_steps=32, learning_rate=1e-3)
    net = NetConfig(hidden=32, bonus_hidden=32, bonus_outputs=16)
    agent = AgentConfig(method=method, steps=steps, envs=32, ppo=ppo, net=net)
    return train(env_config("deep-sea", size=size), agent, seeds) > 0.5


@pytest.mark.parametrize("method", ["hash", "rnd"])
def test_a_small_deep_sea_is_solved(method: str) -> None:
    assert deep_sea(method, 6, 40_000, seeds=3).all()  # 20,000 steps are enough


def test_a_bonus_that_counts_fetches_the_treasure_of_a_larger_deep_sea_where_ppo_does_not() -> None:
    # Of 16 seeds, hash solves 16 and PPO 3.
    assert deep_sea("hash", 10, 60_000, seeds=8).sum() >= 7
    assert deep_sea("ppo", 10, 60_000, seeds=8).sum() <= 4


def test_ppo_balances_the_pole_within_50_000_steps() -> None:
    ppo = PPOConfig(
        rollout_steps=64,
        epochs=8,
        minibatches=8,
        minibatch_of="samples",
        learning_rate=2.5e-3,
        learning_rate_end=0.0,
        clip=0.2,
        gamma_ext=0.99,
        max_grad_norm=0.5,
        normalize_advantages=True,
        bootstrap_truncation=True,
    )
    net = NetConfig(trunks="separate", activation="tanh")
    agent = AgentConfig(method="ppo", steps=50_000, envs=16, ppo=ppo, net=net)
    assert (train(env_config("gymnax:CartPole-v1"), agent, seeds=3) > 400).all()  # 8 of 8 seeds reach 500
