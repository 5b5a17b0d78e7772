"""A tiny agent learns for two updates in a library's environment."""

import equinox as eqx
import jax
import numpy as np

from action_balance.algorithms import learner
from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_config
from action_balance.envs.library.config import LibraryEnvConfig

TINY = AgentConfig(
    method="rnd",
    steps=64,
    envs=4,
    algorithm=PPOConfig(rollout_steps=8, epochs=1, minibatches=1),
    exploration=ExplorationConfig(warmup_rollouts=0),
    network=NetworkConfig(hidden=8, bonus_hidden=8, bonus_outputs=4),
)


def test_an_agent_learns_for_two_updates_from_symbols() -> None:
    config = env_config("xminigrid:MiniGrid-Empty-5x5", max_steps=4)
    assert isinstance(config, LibraryEnvConfig)
    environment = config.make(jax.random.key(0))
    algorithm = make_algorithm(TINY, config.spec)
    step = eqx.filter_jit(lambda state: learner.train_step(environment, state, algorithm))
    state = eqx.filter_jit(lambda key: learner.init_state(environment, algorithm, key))(jax.random.key(0))
    for _ in range(2):
        state, metrics = step(state)
    assert np.isfinite([metrics["loss_policy"], metrics["bonus_mean"]]).all()
    assert bool(metrics["parameters_finite"])
    assert int(metrics["episodes"]) == 8  # 4 environments, two episodes of 4 steps each: the goal is further away
