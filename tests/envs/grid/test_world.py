from collections.abc import Callable

import numpy as np
import pytest

from action_balance.envs.grid.world import GridWorld
from action_balance.errors import UserError


def test_a_cells_index_counts_from_the_bottom_left_row_by_row() -> None:
    world = GridWorld.create(3, 2)
    assert [world.coordinates(cell) for cell in range(6)] == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    assert world.cells == 6


def test_moves_of_a_world_that_is_not_square() -> None:
    # 3 x 2 cells:  3 4 5
    #               0 1 2     each row: left, right, up, down
    expected = [[0, 1, 3, 0], [0, 2, 4, 1], [1, 2, 5, 2], [3, 4, 3, 0], [3, 5, 4, 1], [4, 5, 5, 2]]
    np.testing.assert_array_equal(GridWorld.create(3, 2).successor, expected)


def test_distances_are_fewest_steps_around_walls_and_minus_1_without_a_way() -> None:
    # . # .      rows from the top: y = 2, 1, 0
    # S # .
    # . . #
    world = GridWorld.create(3, 3, walls=[(1, 2), (1, 1), (2, 0)], start=(0, 1))
    np.testing.assert_array_equal(world.distances().reshape(3, 3), [[1, 2, -1], [0, -1, -1], [1, -1, -1]])


def test_reachable_cells_can_be_acted_from_before_the_episode_ends() -> None:
    # In a row of 5 the agent acts from the start at time 0, from the next cell at time 1 and so on.
    assert GridWorld.create(5, 1, episode_steps=3).reachable_cells() == 3
    assert GridWorld.create(5, 1, episode_steps=5).reachable_cells() == 5
    assert GridWorld.create(5, 1, walls=[(2, 0)], episode_steps=5).reachable_cells() == 2
    assert GridWorld.create().reachable_cells() == 1600


ERRORS: dict[str, tuple[Callable[[], GridWorld], str]] = {
    "one cell": (lambda: GridWorld.create(1, 1), "a world of 1x1 cells leaves nothing to explore: use at least two"),
    "no steps": (lambda: GridWorld.create(2, 2, episode_steps=0), "an episode needs at least one step, not 0"),
    "start outside": (lambda: GridWorld.create(4, 3, start=(4, 0)), "start (4,0) is outside the 4x3 grid"),
    "goal outside": (lambda: GridWorld.create(4, 3, goals=[(0, -1)]), "goal (0,-1) is outside the 4x3 grid"),
    "start on wall": (
        lambda: GridWorld.create(4, 3, walls=[(1, 0)], start=(1, 0)),
        "start (1,0) is a wall: put it on a free cell",
    ),
    "goal on start": (
        lambda: GridWorld.create(4, 3, start=(1, 0), goals=[(1, 0)]),
        "goal (1,0) is the start: put it on another cell",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_wrong_world_is_refused_in_one_line(name: str) -> None:
    create, message = ERRORS[name]
    with pytest.raises(UserError) as caught:
        create()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_goal_too_far_for_one_episode_is_refused() -> None:
    world = GridWorld.create(4, 1, goals=[(3, 0)], episode_steps=2)
    with pytest.raises(UserError, match=r"^goal \(3,0\) is 3 steps away, more than the 2 of an episode"):
        world.check_goals()
