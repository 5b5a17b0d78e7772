"""A short version of the neural study: what a next-state bonus solves and PPO alone does not.

Chance is left much room: of 20 agents in the study, nearly all are on the side that is asked of half of 6 here.
"""

import jax
import numpy as np
from action_balance.envs.registry import EnvConfig

from action_balance.config.agent import Config
from action_balance.config.env import EnvConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.loop import Trainer

SEEDS = 6


def train(env: EnvConfig, method: str, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean return over the last ten updates, and steps to the first reward, of each agent."""
    config = TrainConfig(env, Config(method=method, steps=steps), seeds=SEEDS)
    trainer = Trainer(config)
    state = trainer.seeds.place(trainer.begin())
    returns = []
    for _ in range(config.agent.updates):
        state, metrics = trainer.step(state)
        returns.append(np.asarray(trainer.seeds.cut(metrics).episode_return))
    return np.nanmean(returns[-10:], axis=0), np.asarray(jax.device_get(trainer.seeds.cut(metrics).first_reward))


def test_action_balance_rnd_finds_and_fetches_the_treasure_where_ppo_fails() -> None:
    env, steps = env_config("deep-sea", size=10), 100_000
    ours, ours_found = train(env, "action-balance-rnd", steps)
    ppo, _ = train(env, "ppo", steps)
    assert (ours_found > 0).sum() >= SEEDS // 2
    assert (ours > 0.5).sum() >= SEEDS // 2
    assert (ppo > 0.5).sum() < SEEDS // 2
