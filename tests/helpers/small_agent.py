"""One small agent of Algorithm 1, trained for a few updates and shared by the tests of `action_balance.algorithms`."""

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import equinox as eqx
import jax
import numpy as np

from action_balance.algorithms import learner
from action_balance.algorithms.base import Algorithm, Metrics, make_algorithm
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.state import TrainState
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.maps import parse_map

WORLD = GridEnvironment(parse_map("...G\n.#..\nS...\n", episode_steps=6))
PPO = PPOConfig(rollout_steps=16, epochs=2, minibatches=2, learning_rate=1e-2)
SMALL = AgentConfig(
    steps=10_000,
    envs=4,
    algorithm=PPO,
    exploration=ExplorationConfig(warmup_rollouts=2),
    network=NetworkConfig(hidden=8, bonus_hidden=8, bonus_outputs=4),
)


def algorithm(config: AgentConfig = SMALL) -> Algorithm:
    """Algorithm 1 in the small world."""
    return make_algorithm(config, WORLD.spec)


#: How often the update of each agent was traced.
traces = Counter[AgentConfig]()


@cache
def make_step(config: AgentConfig) -> Callable[[TrainState], tuple[TrainState, Metrics]]:
    """The compiled update."""

    def step(state: TrainState) -> tuple[TrainState, Metrics]:
        traces[config] += 1
        return learner.train_step(WORLD, state, algorithm(config))

    return eqx.filter_jit(step)


@cache
def begun(config: AgentConfig = SMALL, seed: int = 0) -> TrainState:
    """A state before any update."""
    return jax.jit(partial(learner.init_state, WORLD, algorithm(config)))(jax.random.key(seed))


@cache
def trained(config: AgentConfig = SMALL, updates: int = 3, seed: int = 0) -> tuple[TrainState, Metrics]:
    """A state after some updates, and the metrics of the last."""
    state = begun(config, seed)
    step = make_step(config)
    for _ in range(updates):
        state, metrics = step(state)
    return state, metrics


def leaves(tree: Any) -> list[np.ndarray]:
    """The leaves of a tree as NumPy arrays, also its random keys."""
    found = jax.tree.leaves(tree)
    keys = (jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in found)
    return [np.asarray(jax.random.key_data(leaf) if key else leaf) for leaf, key in zip(found, keys, strict=True)]


def same(one: Any, other: Any) -> bool:
    """Whether two trees are equal bit for bit."""
    return all(np.array_equal(a, b) for a, b in zip(leaves(one), leaves(other), strict=True))
