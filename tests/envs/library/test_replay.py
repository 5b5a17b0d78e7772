"""Episodes on a ladder, played again."""

from typing import Any

import jax
import numpy as np
import pytest
from ladder import Ladder

from action_balance.envs.library.environment import LibraryEnvironment
from action_balance.envs.library.replay import LibraryReplay
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

#: Keys with which ladders begin on rung 0.
BELOW = next(key for key in map(jax.random.key, range(9)) if not jax.random.bernoulli(key))


class Painted(Ladder):
    """Draws a picture with as many rows as the rung, and one."""

    action_names = ("wait", "climb")
    steps_per_second = 3

    def render(self, state: dict[str, Any]) -> np.ndarray:
        return np.full((int(state["rung"]) + 1, 2, 3), 7, np.uint8)


def replay(adapter: Ladder, actions: list[int], rewards: list[float], terminated: bool = True) -> LibraryReplay:
    keys = jax.random.split(jax.random.key(1), len(actions))
    played = np.array(actions, np.int32), np.array(rewards, np.float32), terminated
    return LibraryReplay("ladder", *played, LibraryEnvironment(adapter, max_steps=5), BELOW, keys)


def test_a_replay_shows_every_state_also_the_last_one() -> None:
    shown = replay(Painted(), [1, 0, 1, 1], [0, 0, 0, 3])
    moments = list(shown.moments())
    assert [len(moment.screen) - 1 for moment in moments] == [0, 1, 1, 2, 3]
    assert [moment.score for moment in moments] == [0, 0, 0, 0, 3]
    assert [moment.info["climbed"] for moment in moments] == [0, 1, 1, 2, 3]
    assert (shown.action_names, shown.steps_per_second) == (("wait", "climb"), 3)


def test_without_pictures_observations_are_drawn_and_actions_are_numbers() -> None:
    shown = replay(Ladder(), [1], [0], terminated=False)
    first, second = (moment.screen for moment in shown.moments())
    assert first.shape == second.shape
    assert (first != second).any()
    assert shown.action_names == ("action 0", "action 1")


def test_each_number_of_an_action_has_a_name() -> None:
    class Pushed(Ladder):
        spec = EnvSpec("vector", (2,), (), bounds=((-1.0, 1.0), (None, None)))

    class Named(Pushed):
        action_names = ("push", "pull")

    assert replay(Pushed(), [1], [0]).action_names == ("action 0", "action 1")
    assert replay(Named(), [1], [0]).action_names == ("push", "pull")


@pytest.mark.parametrize(
    "record",
    [([1, 0], [0, 1], False), ([1, 1, 1, 1], [0, 0, 3, 0], True), ([1, 1, 1], [0, 0, 3], False)],
    ids=["another reward", "an earlier end", "another end"],
)
def test_an_episode_that_differs_is_not_shown(record: tuple[list[int], list[float], bool]) -> None:
    with pytest.raises(UserError, match="does not repeat"):
        list(replay(Painted(), *record).moments())


def test_a_picture_must_be_rgb() -> None:
    class Grey(Painted):
        def render(self, state: dict[str, Any]) -> np.ndarray:
            return super().render(state)[..., 0]

    with pytest.raises(UserError, match="not an RGB picture"):
        next(replay(Grey(), [1], [0]).moments())
