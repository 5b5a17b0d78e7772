"""Evaluation on the device: episodes that can be counted by hand."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.algorithms import learner
from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.rollout import make_actor
from action_balance.algorithms.state import TrainState
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device.evaluate import evaluate, evaluate_agent
from action_balance.engines.evaluate import ACTION_MODES, ActionMode, Evaluation
from action_balance.envs.base import Environment
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.maps import parse_map

LEFT, RIGHT, UP, DOWN = range(4)
EPISODES = 100
# Cells 0 to 4 from left to right; the goal is three steps away.
ROW = GridEnvironment(parse_map("S..G.", episode_steps=6))
CONFIG = AgentConfig(
    steps=1000,
    envs=2,
    algorithm=PPOConfig(rollout_steps=4, minibatches=1),
    exploration=ExplorationConfig(warmup_rollouts=1),
    network=NetworkConfig(hidden=4, layers=1, bonus_hidden=4, bonus_outputs=3),
)


def agent(*logits: float, environment: Environment = ROW, config: AgentConfig = CONFIG) -> TrainState:
    """An agent whose pi has the same logits everywhere; everything else about it is arbitrary."""
    algorithm = make_algorithm(config, environment.spec)
    shapes = jax.eval_shape(lambda: learner.init_state(environment, algorithm, jax.random.key(0)))
    generator = np.random.default_rng(0)

    def fill(leaf: jax.ShapeDtypeStruct) -> jax.Array:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.key(0)
        return jnp.asarray(generator.uniform(0.1, 1, leaf.shape).astype(leaf.dtype))

    state: TrainState = jax.tree.map(fill, shapes)
    weight = jnp.zeros_like(state.params.policy.policy_head.weight)
    return eqx.tree_at(bias_and_weight, state, (jnp.array(logits, jnp.float32), weight))


def bias_and_weight(state: TrainState) -> tuple[jax.Array, jax.Array]:
    return state.params.policy.policy_head.bias, state.params.policy.policy_head.weight


@cache
def program(config: AgentConfig, episodes: int) -> Callable[[TrainState, int, jax.Array], Evaluation]:
    """Episodes in the row."""
    algorithm = make_algorithm(config, ROW.spec)

    def play(state: TrainState, mode: jax.Array, key: jax.Array) -> Evaluation:
        actor = make_actor(state, algorithm)
        return evaluate_agent(ROW, actor, algorithm, mode, episodes, key)

    return jax.jit(play)


def played(
    state: TrainState, mode: ActionMode, episodes: int = EPISODES, config: AgentConfig = CONFIG, seed: int = 0
) -> Evaluation:
    found = program(config, episodes)(state, ACTION_MODES.index(mode), jax.random.key(seed))
    return jax.tree.map(np.asarray, found)


def test_an_agent_that_always_goes_right_finds_the_goal_in_three_steps() -> None:
    found = played(agent(0, 50, 0, 0), "greedy")
    assert found.returns.tolist() == [1] * EPISODES
    assert found.lengths.tolist() == [3] * EPISODES
    assert found.terminated.all()
    assert found.visits.tolist() == [0, EPISODES, EPISODES, EPISODES, 0]
    assert found.trace is not None
    assert found.trace.state[:3].tolist() == [0, 1, 2]
    assert found.trace.next_state[:3].tolist() == [1, 2, 3]
    assert found.trace.reward.tolist() == [0, 0, 1, 0, 0, 0]
    assert found.trace.terminated.tolist() == [False, False, True, False, False, False]


def test_an_agent_that_runs_into_the_wall_meets_the_time_limit() -> None:
    found = played(agent(50, 0, 0, 0), "sampled")
    assert found.returns.tolist() == [0] * EPISODES
    assert found.lengths.tolist() == [6] * EPISODES
    assert not found.terminated.any()
    assert found.visits.tolist() == [6 * EPISODES, 0, 0, 0, 0]


def test_episodes_end_at_the_goal_or_at_the_time_limit_and_count_once() -> None:
    # Up leads nowhere, right leads on: episodes end after three to six steps, some by the limit.
    found = played(agent(-50, 0, 0, -50), "sampled")
    assert set(np.unique(found.returns)) == {0, 1}
    assert (found.returns == found.terminated).all()
    assert set(found.lengths[found.terminated]) == {3, 4, 5, 6}
    assert (found.lengths[~found.terminated] == 6).all()
    assert found.visits.sum() == found.lengths.sum()


def test_the_first_episodes_do_not_depend_on_how_many_follow() -> None:
    state = agent(0, 0, 0, 0)
    many = played(state, "sampled")
    assert played(state, "sampled", episodes=10).lengths.tolist() == many.lengths[:10].tolist()
    assert played(state, "sampled", seed=1).lengths.tolist() != many.lengths.tolist()


def test_behaviour_takes_the_largest_bonus_as_long_as_its_coefficient_is_large() -> None:
    config = replace(CONFIG, exploration=replace(CONFIG.exploration, action_coef=1e5, action_coef_end=0.0))
    state = agent(0, 3, 0, 0)
    first = played(state, "behaviour", config=config).trace
    assert first is not None
    assert (first.decision.action == first.decision.action_bonus.argmax(axis=-1)).all()
    assert (first.decision.action != RIGHT).any()
    greedy = played(state, "greedy", config=config).trace
    assert greedy is not None
    assert (greedy.decision.action[:3] == RIGHT).all()
    at_the_end = replace(state, updates=jnp.asarray(config.updates, jnp.int32))
    last = played(at_the_end, "behaviour", config=config).trace
    assert last is not None
    np.testing.assert_array_equal(last.decision.beta, last.decision.pi)


def test_agents_of_a_run_are_evaluated_with_every_mode_and_the_trace_ends_with_the_episode() -> None:
    config = TrainConfig(env_config("open", size=3, episode_steps=5), CONFIG, seed=5, seeds=2)
    world = config.environment(jax.random.key(5))
    states = [agent(*(50 * np.eye(4)[action]), environment=world) for action in (RIGHT, UP)]
    found = evaluate(config, jax.tree.map(lambda *leaves: jnp.stack(leaves), *states), 3, seed=0)
    assert tuple(found) == ACTION_MODES
    greedy = found["greedy"]
    assert greedy.lengths.tolist() == [[5] * 3] * 2
    assert greedy.trace is not None
    assert greedy.trace.decision.action.tolist() == [RIGHT] * 5
    # From the lower left corner of a world without a goal, along the wall and then against it.
    assert [sorted(np.flatnonzero(visits)) for visits in greedy.visits] == [[1, 2], [3, 6]]
