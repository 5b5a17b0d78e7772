from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from action_balance.errors import UserError
from action_balance.interop import Reached


class Counter(gymnasium.Env[Any, Any]):
    """Observations count the steps; an episode has two of them."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Dict(
        time=gymnasium.spaces.Box(0, 9, (1,)), pair=gymnasium.spaces.Tuple([gymnasium.spaces.Box(0, 9, (2,))])
    )

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.time = 0
        return self.observe(), {}

    def observe(self) -> Any:
        return {"time": np.array([self.time], np.float32), "pair": (np.array([self.time, 5], np.float32),)}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.time += int(action)
        return self.observe(), 0.0, self.time == 2, False, {}


def steps(mode: AutoresetMode) -> list[tuple[list[float], list[bool]]]:
    """The times that were reached and what is valid, where only the second environment moves."""
    envs = SyncVectorEnv([Counter, Counter], autoreset_mode=mode)
    reached, found = Reached(envs), []
    envs.reset()
    for _ in range(4):
        next_obs, _, terminated, truncated, infos = envs.step(np.array([0, 1]))
        before = next_obs["time"].copy()
        obs, valid = reached(next_obs, terminated | truncated, infos)
        np.testing.assert_array_equal(obs["pair"][0][:, 0], obs["time"][:, 0])
        np.testing.assert_array_equal(next_obs["time"], before)  # what the loop goes on with
        found.append((obs["time"][:, 0].tolist(), valid.tolist()))
    return found


def test_the_last_observation_of_an_episode_takes_the_place_of_the_first_of_the_next() -> None:
    everyone = [True, True]
    assert steps(AutoresetMode.SAME_STEP) == [([0, time], everyone) for time in (1, 2, 1, 2)]


def test_a_step_that_only_begins_an_episode_is_not_valid() -> None:
    assert steps(AutoresetMode.NEXT_STEP) == [
        ([0, 1], [True, True]),
        ([0, 2], [True, True]),
        ([0, 0], [True, False]),
        ([0, 1], [True, True]),
    ]


def test_a_reset_of_all_environments_is_a_new_beginning() -> None:
    reached = Reached("NextStep")
    reached(np.zeros((1, 1)), [True], {})
    reached.reset()
    assert reached(np.zeros((1, 1)), [False], {})[1].tolist() == [True]


def test_terminal_observations_of_stable_baselines3_are_put_in_place() -> None:
    class VecEnv:
        def step_wait(self) -> None: ...

    obs, valid = Reached(VecEnv())(np.zeros((2, 1)), [False, True], [{}, {"terminal_observation": np.ones(1)}])
    assert (obs.tolist(), valid.tolist()) == ([[0.0], [1.0]], [True, True])


def test_without_the_last_observation_or_the_mode_one_line_says_what_to_do() -> None:
    with pytest.raises(UserError, match=r"environment 0 has ended, but infos has no final_obs: create the vector"):
        Reached("SameStep")(np.zeros((1, 1)), [True], {})
    with pytest.raises(UserError, match="pass the name of the mode instead, SameStep, NextStep or Disabled"):
        Reached(object())
