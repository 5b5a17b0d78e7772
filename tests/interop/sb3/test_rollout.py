from typing import Any

import numpy as np
import pytest
import torch as th
from gym_cases import Counter
from gymnasium import spaces
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.vec_env import DummyVecEnv

from action_balance.interop.sb3.policy import Acted, ExploringMlpPolicy, ShiftedObs
from action_balance.interop.sb3.rollout import ExploringRolloutBuffer, RolloutRecorder, gae


def policy() -> ExploringMlpPolicy:
    return ExploringMlpPolicy(Counter.observation_space, Counter.action_space, lambda _: 0.0)


def test_an_intrinsic_advantage_continues_beyond_the_end_of_an_episode() -> None:
    rewards, values = np.array([[1.0], [2.0]], np.float32), np.array([[0.5], [1.0], [4.0]], np.float32)

    # Step 1: 2 + 0.5 * 4 - 1 = 3. Step 0: 1 + 0.5 * 1 - 0.5 = 1, and 0.5 * 0.5 * 3 of the step after it.
    assert gae(rewards, values, gamma=0.5, gae_lambda=0.5) == pytest.approx(np.array([[1.75], [3.0]]))


def test_the_observation_after_the_end_of_an_episode_is_its_last() -> None:
    recorder = RolloutRecorder(DummyVecEnv([Counter]), policy())
    recorder.venv.seed(2)  # even: truncated after two steps
    before: list[Any] = [recorder.reset()]
    for _ in range(3):
        before.append(recorder.step(np.array([0]))[0])

    assert np.stack(before[:3])[:, 0].tolist() == [[2, 0, 0], [2, 0, 1], [2, 1, 0]]
    buffer = RolloutBuffer(3, Counter.observation_space, Counter.action_space, "cpu")
    found = recorder.rollout(buffer)
    assert found.next_obs[:, 0].tolist() == [[2, 0, 1], [2, 0, 2], [2, 1, 1]]
    assert found.transitions["ended"].tolist() == [[False], [True], [False]]


def test_a_rollout_remembers_what_was_added_to_the_logits() -> None:
    acting = policy()
    recorder = RolloutRecorder(DummyVecEnv([Counter]), acting)
    recorder.reset()
    acting.acted = Acted(th.tensor([[0.25, 0.5]]), th.tensor([3.0]))
    recorder.step(np.array([0]))

    assert recorder.shifts is not None
    assert recorder.shifts.tolist() == [[[0.25, 0.5]]]
    assert recorder.intrinsic_values.tolist() == [[3.0]]


def buffer() -> ExploringRolloutBuffer:
    """Two steps of two environments; the observation is 10 * environment + step."""
    result = ExploringRolloutBuffer(2, spaces.Box(0, 99, (1,)), spaces.Discrete(2), "cpu", n_envs=2)
    for step in range(2):
        obs = np.array([[step], [10 + step]], np.float32)
        result.add(obs, np.zeros(2), np.ones(2), np.zeros(2), th.zeros(2), th.zeros(2))
    result.compute_returns_and_advantage(th.zeros(2), np.zeros(2, bool))
    return result


def test_samples_keep_their_shifts() -> None:
    rollout = buffer()
    rollout.add_shifts(np.arange(8, dtype=np.float32).reshape(2, 2, 2))

    (batch,) = rollout.get()

    assert isinstance(batch.observations, ShiftedObs)
    pairs = zip(batch.observations.obs.flatten().tolist(), batch.observations.shift.tolist(), strict=True)
    assert dict(pairs) == {0: [0, 1], 1: [4, 5], 10: [2, 3], 11: [6, 7]}


def test_advantages_of_two_streams_are_added_and_their_returns_are_apart() -> None:
    rollout = buffer()
    own = rollout.advantages.copy()
    intrinsic, values = np.full((2, 2), 3.0, np.float32), np.full((2, 2), 1.0, np.float32)
    rollout.gae_lambda = 0.0
    rollout.add_stream(intrinsic, values, np.ones(2, np.float32), gamma=0.5, coefs=(2.0, 10.0))

    # An intrinsic advantage is 3 + 0.5 * 1 - 1 = 2.5, its return is 3.5.
    assert rollout.advantages == pytest.approx(2 * own + 25)
    assert rollout.returns[..., 1] == pytest.approx(np.full((2, 2), 3.5))
    assert rollout.returns[..., 0] == pytest.approx(own)
    (batch,) = rollout.get()
    assert batch.returns.shape == batch.old_values.shape == (8,)
