"""Recurrent memory and stacks of frames, in a task that cannot be solved without: what is seen, learned and resumed."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from recall_env import Recall, RecallConfig

from action_balance.algorithms import learner, sequences, update
from action_balance.algorithms.base import Algorithm, make_algorithm
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.rollout import make_actor, rollout
from action_balance.algorithms.state import TrainState, Trajectory, UpdateInfo
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.engines.device.evaluate import evaluate_agent
from action_balance.envs.frame_stack import Frames

WORLD = Recall()
ENVS, STEPS = 16, 8  # episodes have 3 steps, so that rollouts begin and end within them
NONE = AgentConfig(
    method="rnd",
    steps=100_000,
    envs=ENVS,
    algorithm=PPOConfig(
        rollout_steps=STEPS,
        minibatches=2,
        minibatch_of="samples",
        learning_rate=1e-2,
        clip=0.2,
        intrinsic_coef=0.0,
        bootstrap_truncation=True,
        gamma_ext=0.9,
    ),
    exploration=ExplorationConfig(warmup_rollouts=1),
    network=NetworkConfig(memory_units=8, hidden=8, layers=1, bonus_hidden=4, bonus_outputs=2, trunks="separate"),
)
GRU = replace(NONE, network=replace(NONE.network, memory="gru"))

Made = tuple[TrainState, Trajectory, TrainState, UpdateInfo]


@cache
def algorithm(config: AgentConfig, stack: int = 1) -> Algorithm:
    return make_algorithm(config, RecallConfig("recall", stack).spec)


@cache
def program(config: AgentConfig, stack: int = 1) -> Callable[[TrainState], Made]:
    """One rollout and one update: the state between them, the rollout, the state after, and what is reported."""

    def both(state: TrainState) -> Made:
        after, trajectory = rollout(WORLD, state, algorithm(config, stack))
        learned, info = update.learn(after, trajectory, algorithm(config, stack))
        return after, trajectory, learned, info

    return jax.jit(both)


@cache
def begun(config: AgentConfig, stack: int = 1) -> TrainState:
    return jax.jit(lambda key: learner.init_state(WORLD, algorithm(config, stack), key))(jax.random.key(0))


@cache
def trained(config: AgentConfig, updates: int) -> tuple[TrainState, float, float]:
    """A state after some updates, the share of correct answers in the last ten, and the largest first ratio."""
    state, correct, ratios = begun(config), [], []
    for _ in range(updates):
        _, trajectory, state, info = program(config)(state)
        ended = trajectory.ended
        correct.append(float(trajectory.reward.sum() / ended.sum()))
        ratios.append(float(info.losses["furthest_ratio"][0]))
    return state, float(np.mean(correct[-10:])), max(ratios)


@pytest.fixture(scope="module")
def made() -> Made:
    """The third update of an agent with memory, and the rollout before it."""
    return program(GRU)(trained(GRU, 2)[0])


def test_acting_goes_through_episodes_and_forgets_them_at_their_ends(made: Made) -> None:
    after, trajectory, _, _ = made
    before = trained(GRU, 2)[0]
    ended = np.asarray(trajectory.ended)
    assert ended.any()
    assert before.memory is not None
    assert after.memory is not None
    assert trajectory.memory is not None
    assert np.abs(before.memory).max() > 0  # the rollout begins within episodes
    step = jax.jit(jax.vmap(before.params.policy.step))
    memory = before.memory
    for time in range(STEPS):
        np.testing.assert_allclose(trajectory.memory[time], memory, atol=1e-6)
        logits, values, memory = step(trajectory.observation[time], memory)
        np.testing.assert_allclose(trajectory.preferences[time], logits, atol=1e-6)
        np.testing.assert_allclose(trajectory.values[time], values, atol=1e-6)
        memory = jnp.where(ended[time][:, None, None], 0, memory)
    np.testing.assert_allclose(after.memory, memory, atol=1e-6)


def test_the_first_ratio_of_every_update_is_one_with_a_memory() -> None:
    assert trained(GRU, 120)[2] < 1e-5


def test_a_time_limit_continues_with_the_memory_of_the_episode_that_it_ended(made: Made) -> None:
    after, trajectory, _, _ = made
    policy = after.params.policy
    assert trajectory.memory is not None
    found = jax.jit(lambda one: sequences.final_values(one, policy, None, algorithm(GRU)))(trajectory)
    time, env = np.argwhere(np.asarray(trajectory.truncated))[0]

    @jax.jit
    def step(observation: Any, memory: Any) -> Any:
        return policy.step(observation, memory)

    memory = step(trajectory.observation[time, env], trajectory.memory[time, env])[2]
    assert memory is not None
    _, expected, _ = step(trajectory.next_obs[time, env], memory)
    np.testing.assert_allclose(found[time, env], expected, atol=1e-6)
    fresh = step(trajectory.next_obs[time, env], jnp.zeros_like(memory))[1]
    assert np.abs(np.asarray(fresh - expected)).max() > 1e-4


def test_only_an_agent_with_memory_recalls_the_cue_and_evaluations_remember_too() -> None:
    assert trained(NONE, 120)[1] < 0.65  # one half on average
    state, correct, _ = trained(GRU, 120)
    assert correct > 0.95
    played = jax.jit(
        lambda state: evaluate_agent(
            WORLD, make_actor(state, algorithm(GRU)), algorithm(GRU), jnp.asarray(0), 20, jax.random.key(1)
        )
    )(state)
    assert played.returns.tolist() == [1.0] * 20


def test_the_engine_stacks_frames_that_each_rollout_keeps_once() -> None:
    before = program(NONE, 3)(begun(NONE, 3))[2]
    after, trajectory, _, info = program(NONE, 3)(before)
    seen = trajectory.observation
    assert isinstance(seen, Frames)
    assert (seen.frame.shape, trajectory.next_obs.shape) == ((STEPS + 2, ENVS, 3), (STEPS, ENVS, 3))
    assert after.obs_stats.mean.shape == (3,)
    stacks, ended = np.asarray(seen.stacks()), np.asarray(trajectory.ended)
    assert info.losses["furthest_ratio"][0] < 1e-5
    np.testing.assert_array_equal(stacks[0], before.observation)
    everything = np.concatenate([stacks, after.observation[None]])
    for env in range(ENVS):
        for time in range(STEPS):
            frame = everything[time + 1, env, -1]
            older = np.zeros((2, 3)) if ended[time, env] else everything[time, env, 1:]
            np.testing.assert_array_equal(everything[time + 1, env], [*older, frame])
            if not ended[time, env]:
                np.testing.assert_array_equal(trajectory.next_obs[time, env], frame)
    # By hand: before the last step of an episode, the agent sees the cue and the times 1, 2 and 3.
    last = np.argwhere(ended)[0]
    cue = int(trajectory.truncated[tuple(last)])
    assert stacks[tuple(last)].tolist() == [[1 - cue, cue, 1], [0, 0, 2], [0, 0, 3]]
