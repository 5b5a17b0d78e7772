"""Runs with a checkpoint of agents that nothing has trained: what loading and acting need, within a second."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.learner import init_agent
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.state import TrainState
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.factory import make_trainer
from action_balance.engines.restore import ENV_SPEC, SPACES
from action_balance.envs.mixed import empty_stats
from action_balance.runs import RunFolder

UPDATE = 3
PPO = PPOConfig(rollout_steps=8, epochs=1, minibatches=2)
EXPLORATION = ExplorationConfig(warmup_rollouts=1)
SMALL = NetworkConfig(hidden=8, bonus_hidden=8, bonus_outputs=4)
VECTORS = AgentConfig(steps=352, envs=4, algorithm=PPO, exploration=EXPLORATION, network=SMALL)
IMAGES = replace(VECTORS, network=NetworkConfig(channels=1, features=8, trunk=8, bonus_features=8))


def make(path: Path, name: str, agent: AgentConfig = VECTORS, seed: int = 0, seeds: int = 1, **env: object) -> Path:
    """A run with one checkpoint.

    Args:
        path: its folder.
        name: of the environment.
        agent: settings of the agents.
        seed: of the first.
        seeds: their number.
        env: settings of the environment.

    Returns:
        The folder.
    """
    config = TrainConfig(env_config(name, **env), agent, seed, seeds).with_defaults()
    about = {ENV_SPEC: config.env.spec.to_dict(), SPACES: config.env.spaces()}
    folder = RunFolder.create(path, config.to_dict(), ["train"], about=about)
    folder.checkpoints().save(UPDATE, states(config), 0.5)
    folder.finish("interrupted")
    return path


def states(config: TrainConfig) -> TrainState:
    """The agents of a run before the first update, with statistics of random frames."""
    if config.env.engine == "device":
        return make_trainer(config).init_state()
    algorithm, spec = make_algorithm(config.agent, config.env.spec), config.env.spec
    generator = np.random.default_rng(0)
    frames = (
        generator.integers(0, 256, (20, *spec.frame_shape))
        if spec.is_image
        else generator.normal(size=(20, *spec.frame_shape))
    )
    seen = jnp.asarray(frames.astype(spec.dtype))

    @jax.jit
    def begin(key: Any) -> TrainState:
        stats = empty_stats(spec).update(seen)
        return jax.vmap(lambda one: init_agent(algorithm, stats, one))(jax.random.split(key, config.seeds))

    return begin(jax.random.key(7))
