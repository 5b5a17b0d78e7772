"""Whole agents learn: each of these tests fails if an algorithm is broken. All seeds are fixed, and limits are far from
what agents reach, because programs round differently on other machines."""

from collections.abc import Mapping

import numpy as np
import pytest

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.env import EnvConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device.trainer import DeviceTrainer

Metrics = Mapping[str, np.ndarray]


def train(env: EnvConfig, agent: AgentConfig, seeds: int) -> list[Metrics]:
    """The metrics of all updates, each of all seeds."""
    trainer = DeviceTrainer(TrainConfig(env, agent, seeds=seeds))
    trainer.start(trainer.init_state())
    return [trainer.advance() for _ in range(agent.updates)]


def final_return(metrics: list[Metrics]) -> np.ndarray:
    """The mean return over the last 8 updates of each seed; 0.99 where the treasure of a deep sea is always fetched."""
    return np.nanmean([one["episode_return"] for one in metrics[-8:]], axis=0)


def deep_sea(method: str, size: int, steps: int, seeds: int) -> list[Metrics]:
    # Short rollouts of many environments: the same steps in a quarter of the time.
    ppo = PPOConfig(rollout_steps=32, learning_rate=1e-3)
    network = NetworkConfig(hidden=32, bonus_hidden=32, bonus_outputs=16)
    agent = AgentConfig(method=method, steps=steps, envs=32, algorithm=ppo, network=network)
    return train(env_config("deep-sea", size=size), agent, seeds)


@pytest.mark.parametrize("method", ["hash", "rnd"])
def test_a_small_deep_sea_is_solved_and_its_states_get_familiar(method: str) -> None:
    metrics = deep_sea(method, 6, 32_000, seeds=3)
    assert (final_return(metrics) > 0.5).all()  # 20,000 steps are enough
    bonus = [one["bonus_mean"] for one in metrics]
    assert (bonus[-1] < 0.1 * bonus[0]).all()  # 0.014 and less


def test_a_bonus_that_counts_fetches_the_treasure_of_a_larger_deep_sea_where_ppo_does_not() -> None:
    # Of 16 seeds, hash and elliptical solve 16 and PPO 3.
    methods = ("hash", "elliptical", "ppo")
    solved = {method: (final_return(deep_sea(method, 10, 60_000, seeds=8)) > 0.5).sum() for method in methods}
    assert min(solved["hash"], solved["elliptical"]) >= 7
    assert solved["ppo"] <= 4


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
    network = NetworkConfig(trunks="separate", activation="tanh")
    agent = AgentConfig(method="ppo", steps=50_000, envs=16, algorithm=ppo, network=network)
    assert (final_return(train(env_config("gymnax:CartPole-v1"), agent, seeds=3)) > 400).all()  # 8 of 8 reach 500
