"""Episodes in Gymnasium played again for their pictures."""

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gym_cases import Counter
from gymnasium import spaces

from action_balance.envs.gymnasium.config import GymnasiumConfig
from action_balance.envs.gymnasium.make import examine
from action_balance.envs.gymnasium.replay import GymReplay
from action_balance.errors import UserError

DRAWS: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 50}


class Drawn(Counter):
    """Its picture is as bright as its step; pictures are drawn only in their render mode."""

    metadata = DRAWS

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__()
        self.render_mode = render_mode

    def render(self) -> Any:
        return np.full((4, 6, 3), self.step_number, np.uint8) if self.render_mode == "rgb_array" else None


def without_argument() -> Drawn:
    return Drawn()


class Moody(Drawn):
    """Its rewards are not drawn from its seed."""

    moods = iter(range(100))

    def step(self, action: Any) -> Any:
        return (super().step(action)[0], float(next(self.moods)), *super().step(action)[2:])


class Text(Drawn):
    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012


class Broken(Drawn):
    def render(self) -> Any:
        raise ZeroDivisionError("no brush")


class Flat(Drawn):
    def render(self) -> Any:
        return np.zeros((4, 6))


def record(make: Any, **changes: Any) -> GymReplay:
    """An episode with an odd seed: three steps, and reward 1 for action 1."""
    given = {"actions": np.array([0, 1, 1]), "rewards": np.array([0.0, 1.0, 1.0], np.float32), "terminated": True}
    return GymReplay("gym:drawn", **{**given, **changes}, examined=examine("gym:drawn", make), seed=3)


@pytest.mark.parametrize("make", [Drawn, without_argument, partial(Drawn, render_mode="rgb_array")])
def test_a_replay_draws_every_step_however_the_environment_is_made(make: Any) -> None:
    replay = record(make)

    moments = list(replay.moments())

    assert [int(moment.screen[0, 0, 0]) for moment in moments] == [0, 1, 2, 3]
    assert [moment.score for moment in moments] == [0, 0, 1, 2]
    assert replay.action_names == ("action 0", "action 1")
    assert replay.steps_per_second == 15  # 50 are too fast to follow


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Text, r"no render mode rgb_array \(it has: ansi\)"),
        (Broken, "cannot be drawn: ZeroDivisionError: no brush"),
        (Flat, r"returns float64 \(4, 6\), not an RGB picture"),
        (Moody, "does not repeat an episode with the same random numbers"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(make: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(record(make).moments())


@pytest.mark.parametrize(
    "changes",
    [
        {"terminated": False},
        {"actions": np.array([0, 1, 1, 1]), "rewards": np.array([0.0, 1, 1, 1], np.float32)},
    ],
)
def test_an_episode_that_ends_otherwise_is_not_shown(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="does not repeat an episode"):
        list(record(Drawn, **changes).moments())


def test_wrappers_and_ids_are_drawn_too() -> None:
    config = GymnasiumConfig("gym:CartPole-v1", wrapper=("gymnasium.wrappers:FlattenObservation",))
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=4)
    rewards = np.array([env.step(1)[1] for _ in range(2)])
    (first, *_) = GymReplay("gym:cart", np.array([1, 1]), rewards, False, config.examined, 4).moments()

    assert first.screen.shape == (400, 600, 3)
    assert len(np.unique(first.screen)) > 2


def test_continuous_actions_are_taken_again() -> None:
    class Steered(Drawn):
        action_space: Any = spaces.Box(-1, 3, (1, 2))

        def step(self, action: Any) -> Any:
            assert self.action_space.contains(action)
            return super().step(action.tolist() == [[-0.5, 3]])

    replay = record(Steered, actions=np.array([[0, 0], [-0.5, 3], [-0.5, 3.01]], np.float32))

    assert [moment.score for moment in replay.moments()] == [0, 0, 1, 2]
    assert replay.action_names == ("action 0", "action 1")


def test_an_action_of_several_components_is_taken_again() -> None:
    class Two(Drawn):
        action_space: Any = spaces.MultiDiscrete([2, 3], start=[0, 5])

        def step(self, action: Any) -> Any:
            return super().step(action.tolist() == [1, 7])

    replay = record(Two, actions=np.array([[0, 0], [1, 2], [1, 2]]))

    assert [moment.score for moment in replay.moments()] == [0, 0, 1, 2]
    assert replay.action_names == ("0: choice 0", "0: choice 1", "1: choice 5", "1: choice 6", "1: choice 7")
