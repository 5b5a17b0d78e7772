"""Which room, how one-sided, and again the same?"""

import numpy as np
import pytest

from action_balance.envs.grid.maps import corridor_world
from action_balance.studies.grid import corridor
from action_balance.studies.grid.settings import GridSettings

# A 1 x 3 world: cell 0 is the left room, 1 the corridor, 2 the right room.
SIDE_OF_CELL = np.array([corridor.LEFT, 0, corridor.RIGHT], np.int8)


def test_rooms_lie_left_and_right_of_the_corridor() -> None:
    world = corridor_world(room=3, length=3)
    assert corridor.sides(world).reshape(3, 9).tolist() == [[-1, -1, -1, 0, 0, 0, 1, 1, 1]] * 3


def test_first_room_of_each_episode() -> None:
    trace = np.array([[1, 0, 1, 1, 2, 0, 1, 1, 1]])
    first_room, _, _ = corridor.dig(trace, SIDE_OF_CELL, episode_steps=3)
    assert first_room.tolist() == [[-1, 1, 0]]


def test_one_sidedness_compares_the_steps_in_both_rooms() -> None:
    trace = np.array([[0, 0, 0, 2], [0, 0, 2, 2], [2, 1, 1, 1], [1, 1, 1, 1]])
    _, one_sidedness, _ = corridor.dig(trace, SIDE_OF_CELL, episode_steps=4)
    assert one_sidedness[:3].tolist() == [0.5, 0, 1]
    assert np.isnan(one_sidedness[3])


def test_one_sidedness_looks_at_the_first_episodes_only() -> None:
    early = [0] * corridor.EARLY_EPISODES
    trace = np.array([early + [2] * 100])
    _, one_sidedness, _ = corridor.dig(trace, SIDE_OF_CELL, episode_steps=1)
    assert one_sidedness.tolist() == [1]


def test_same_side_again_skips_episodes_that_enter_no_room() -> None:
    # episodes of one step: left, left, right, corridor, right -> pairs: same, other, none, none
    _, _, same = corridor.dig(np.array([[0, 0, 2, 1, 2]]), SIDE_OF_CELL, episode_steps=1)
    assert same.tolist() == [0.5]


def test_left_first_ignores_episodes_without_a_room() -> None:
    first_room = np.array([[0, -1, 1], [0, 1, -1], [0, 0, 0]])
    assert corridor.left_first(first_room).tolist() == [True, False, False]


def test_the_drawback_shows() -> None:
    """rnd digs on one side, action balance does not, and reaches the treasure sooner (500 runs, fixed seed)."""
    result = corridor.run(GridSettings(runs=500, studies=("corridor",)))
    sidedness = {method: result.one_sidedness(method) for method in result.digging}
    rnd, balanced, random = (sidedness[name] for name in ("rnd", "action-balance-rnd", "random"))
    assert rnd is not None
    assert balanced is not None
    assert random is not None
    assert rnd.low > random.high > random.low > balanced.high
    ratio = result.ratio()
    assert ratio is not None
    assert ratio.low > 1


def test_visits_are_those_of_the_runs_that_went_left_first() -> None:
    # Whether the treasure is found, which most of these short episodes never do, is not asked.
    result = corridor.run(GridSettings(runs=5, episode_steps=30, max_steps=6000, studies=("corridor",)))
    for walks in result.walks.values():  # of all runs
        assert walks.visits.sum(axis=1) == pytest.approx(walks.recorded)
        assert walks.covered.sum(axis=1) == pytest.approx(walks.cells.mean(axis=0))
    for digging in result.digging.values():
        if digging.left_first:
            assert digging.visits.sum(axis=1) == pytest.approx(result.moments)
