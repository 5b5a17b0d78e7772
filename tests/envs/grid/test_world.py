from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import plain_grid
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from action_balance.envs.grid import world as grid
from action_balance.envs.grid.world import ACTIONS, MOVES, GridState, GridStep, GridWorld
from action_balance.errors import UserError

LEFT, RIGHT, UP, DOWN = range(4)

#: ``step`` compiled once for every world of one size.
fast_step = jax.jit(grid.step)


def state_at(world: GridWorld, x: int, y: int, time: int = 0) -> GridState:
    return GridState(cell=jnp.int32(y * world.width + x), time=jnp.int32(time))


def move(world: GridWorld, x: int, y: int, action: int, time: int = 0) -> tuple[GridState, GridStep]:
    return fast_step(world, state_at(world, x, y, time), jnp.int32(action))


@jax.jit
def follow(world: GridWorld, actions: jax.Array) -> tuple[GridState, GridStep]:
    """The states before each step and what each step brought, from the start on."""

    def one(state: GridState, action: jax.Array) -> tuple[GridState, tuple[GridState, GridStep]]:
        following, outcome = grid.step(world, state, action)
        return following, (state, outcome)

    return jax.lax.scan(one, grid.reset(world), actions)[1]


def test_a_cells_index_counts_from_the_bottom_left_row_by_row() -> None:
    world = GridWorld.create(3, 2)
    assert [world.coordinates(cell) for cell in range(6)] == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    assert world.cells == 6


@pytest.mark.parametrize(
    ("action", "name", "target"),
    [(0, "left", (0, 1)), (1, "right", (2, 1)), (2, "up", (1, 2)), (3, "down", (1, 0))],
)
def test_the_actions_are_left_right_up_down_and_up_adds_to_y(action: int, name: str, target: tuple[int, int]) -> None:
    world = GridWorld.create(3, 3)
    following, outcome = move(world, 1, 1, action)
    assert ACTIONS[action] == name
    assert (1 + MOVES[action][0], 1 + MOVES[action][1]) == target
    assert world.coordinates(int(outcome.cell)) == target
    assert int(following.cell) == int(outcome.cell)


@pytest.mark.parametrize(("x", "y", "action"), [(0, 1, LEFT), (2, 1, RIGHT), (1, 2, UP), (1, 0, DOWN)])
def test_a_move_off_the_grid_stays_and_costs_a_step(x: int, y: int, action: int) -> None:
    world = GridWorld.create(3, 3)
    following, outcome = move(world, x, y, action, time=4)
    assert world.coordinates(int(outcome.cell)) == (x, y)
    assert world.coordinates(int(following.cell)) == (x, y)
    assert int(following.time) == 5


def test_a_move_off_a_row_does_not_wrap_into_the_next() -> None:
    world = GridWorld.create(3, 3)
    assert world.coordinates(int(move(world, 2, 0, RIGHT)[1].cell)) == (2, 0)
    assert world.coordinates(int(move(world, 0, 1, LEFT)[1].cell)) == (0, 1)


@pytest.mark.parametrize(("x", "y", "action"), [(2, 1, LEFT), (0, 1, RIGHT), (1, 0, UP), (1, 2, DOWN)])
def test_a_wall_blocks_from_every_side_and_costs_a_step(x: int, y: int, action: int) -> None:
    world = GridWorld.create(3, 3, walls=[(1, 1)])
    following, outcome = move(world, x, y, action, time=4)
    assert world.coordinates(int(outcome.cell)) == (x, y)
    assert world.coordinates(int(following.cell)) == (x, y)
    assert int(following.time) == 5


def test_moves_of_a_world_that_is_not_square() -> None:
    # 3 x 2 cells:  3 4 5
    #               0 1 2     each row: left, right, up, down
    expected = [[0, 1, 3, 0], [0, 2, 4, 1], [1, 2, 5, 2], [3, 4, 3, 0], [3, 5, 4, 1], [4, 5, 5, 2]]
    np.testing.assert_array_equal(GridWorld.create(3, 2).successor, expected)


def test_an_episode_begins_at_the_start() -> None:
    world = GridWorld.create(3, 3, start=(2, 1))
    state = grid.reset(world)
    assert world.coordinates(int(state.cell)) == (2, 1)
    assert int(state.time) == 0


def test_the_papers_world_is_40_by_40_from_0_0_with_200_steps_and_nothing_in_it() -> None:
    world = GridWorld.create()
    assert (world.width, world.height, int(world.start), int(world.episode_steps)) == (40, 40, 0, 200)
    assert not world.walls.any()
    assert not world.goals.any()


def test_an_episode_has_200_steps_and_then_the_agent_is_back_at_the_start() -> None:
    world = GridWorld.create()
    actions = jnp.array([RIGHT, UP] * 100 + [RIGHT] * 5)
    before, outcome = follow(world, actions)
    xs, ys = np.divmod(np.asarray(before.cell), 40)[::-1]
    assert list(before.time[:201]) == [*range(200), 0]
    assert (xs[199], ys[199]) == (39, 39)  # a hundred steps right stop at the edge
    assert list(np.flatnonzero(outcome.truncated)) == [199]
    assert world.coordinates(int(outcome.cell[199])) == (39, 39)  # what was reached, not where it begins anew
    assert list(xs[200:]) == [0, 1, 2, 3, 4]
    assert list(ys[200:]) == [0, 0, 0, 0, 0]


def test_reaching_the_goal_ends_the_episode_with_reward_1() -> None:
    world = GridWorld.create(3, 3, start=(0, 0), goals=[(2, 0)])
    following, outcome = move(world, 1, 0, RIGHT, time=7)
    assert world.coordinates(int(outcome.cell)) == (2, 0)
    assert float(outcome.reward) == 1.0
    assert bool(outcome.terminated)
    assert not bool(outcome.truncated)
    assert (int(following.cell), int(following.time)) == (0, 0)


def test_any_other_step_brings_no_reward_and_no_end() -> None:
    world = GridWorld.create(3, 3, goals=[(2, 0)])
    following, outcome = move(world, 0, 0, RIGHT, time=7)
    assert float(outcome.reward) == 0.0
    assert not bool(outcome.terminated)
    assert not bool(outcome.truncated)
    assert (int(following.cell), int(following.time)) == (1, 8)


def test_a_goal_reached_with_the_last_step_counts_as_reached() -> None:
    world = GridWorld.create(3, 3, goals=[(2, 0)], episode_steps=2)
    outcome = move(world, 1, 0, RIGHT, time=1)[1]
    assert bool(outcome.terminated)
    assert not bool(outcome.truncated)


def test_the_time_limit_ends_the_episode_without_reward() -> None:
    world = GridWorld.create(3, 3, start=(1, 1), goals=[(2, 0)], episode_steps=2)
    following, outcome = move(world, 0, 0, UP, time=1)
    assert bool(outcome.truncated)
    assert not bool(outcome.terminated)
    assert float(outcome.reward) == 0.0
    assert world.coordinates(int(following.cell)) == (1, 1)
    assert int(following.time) == 0


def test_worlds_of_one_size_share_one_compiled_step() -> None:
    traced = []

    def step(world: GridWorld, state: GridState, action: jax.Array) -> tuple[GridState, GridStep]:
        traced.append(world)
        return grid.step(world, state, action)

    counted = jax.jit(step)
    worlds = [
        GridWorld.create(4, 3),
        GridWorld.create(4, 3, walls=[(1, 1)], start=(2, 2), goals=[(0, 0), (3, 2)], episode_steps=7),
        GridWorld.create(4, 3).without_goals(),
    ]
    for world in worlds:
        counted(world, grid.reset(world), jnp.int32(LEFT))
    assert len(traced) == 1


def test_vmapped_steps_are_those_of_each_state() -> None:
    world = GridWorld.create(3, 2, goals=[(2, 1)])
    states = GridState(cell=jnp.array([0, 5, 2]), time=jnp.array([0, 3, 199]))
    following, outcome = jax.vmap(partial(grid.step, world))(states, jnp.array([UP, LEFT, UP]))
    assert list(outcome.cell) == [3, 4, 5]
    assert list(outcome.terminated) == [False, False, True]
    assert list(following.cell) == [3, 4, 0]
    assert list(following.time) == [1, 4, 0]


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


def test_without_goals_only_the_goals_are_gone() -> None:
    world = GridWorld.create(3, 3, walls=[(1, 1)], start=(1, 0), goals=[(2, 2)], episode_steps=9)
    bare = world.without_goals()
    assert not bare.goals.any()
    assert list(np.flatnonzero(world.goals)) == [8]
    assert replace(bare, goals=world.goals).successor is world.successor
    assert (int(bare.start), int(bare.episode_steps)) == (1, 9)
    assert np.flatnonzero(bare.walls).tolist() == [4]


def test_a_goal_at_exactly_the_length_of_an_episode_passes() -> None:
    GridWorld.create(4, 1, goals=[(3, 0)], episode_steps=3).check_goals()


ERRORS: dict[str, tuple[Callable[[], GridWorld], str]] = {
    "one cell": (lambda: GridWorld.create(1, 1), "a world of 1x1 cells leaves nothing to explore: use at least two"),
    "no width": (lambda: GridWorld.create(0, 5), "a world of 0x5 cells leaves nothing to explore"),
    "no height": (lambda: GridWorld.create(5, 0), "a world of 5x0 cells leaves nothing to explore"),
    "negative size": (lambda: GridWorld.create(-2, -2), "a world of -2x-2 cells leaves nothing to explore"),
    "no steps": (lambda: GridWorld.create(2, 2, episode_steps=0), "an episode needs at least one step, not 0"),
    "wall outside": (
        lambda: GridWorld.create(4, 3, walls=[(0, 3)]),
        "wall (0,3) lies outside the 4x3 grid: x goes from 0 to 3, y from 0 to 2",
    ),
    "start outside": (lambda: GridWorld.create(4, 3, start=(4, 0)), "start (4,0) lies outside the 4x3 grid"),
    "goal outside": (lambda: GridWorld.create(4, 3, goals=[(0, -1)]), "goal (0,-1) lies outside the 4x3 grid"),
    "goal left of it": (lambda: GridWorld.create(4, 3, goals=[(-1, 0)]), "goal (-1,0) lies outside the 4x3 grid"),
    "start on wall": (
        lambda: GridWorld.create(4, 3, walls=[(1, 0)], start=(1, 0)),
        "start (1,0) is a wall: put it on a free cell",
    ),
    "goal on wall": (
        lambda: GridWorld.create(4, 3, walls=[(1, 0)], goals=[(2, 0), (1, 0)]),
        "goal (1,0) is a wall: put it on a free cell",
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


def test_a_goal_behind_walls_is_refused() -> None:
    world = GridWorld.create(4, 1, walls=[(1, 0)], goals=[(3, 0)])
    with pytest.raises(UserError, match=r"^goal \(3,0\) cannot be reached from the start: open a way"):
        world.check_goals()


def test_a_goal_too_far_for_one_episode_is_refused() -> None:
    world = GridWorld.create(4, 1, goals=[(3, 0)], episode_steps=2)
    with pytest.raises(UserError, match=r"^goal \(3,0\) is 3 steps away, more than the 2 of an episode: raise --epi"):
        world.check_goals()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_walls_are_never_crossed_and_the_agent_stays_on_free_cells(data: st.DataObject) -> None:
    width, height = data.draw(st.sampled_from([(5, 4), (1, 7)]))
    cells = [(x, y) for x in range(width) for y in range(height)]
    start = data.draw(st.sampled_from(cells))
    walls = data.draw(st.sets(st.sampled_from([cell for cell in cells if cell != start])))
    episode_steps = data.draw(st.integers(1, 30))
    actions = data.draw(st.lists(st.integers(0, 3), min_size=40, max_size=40))
    world = GridWorld.create(width, height, walls, start, episode_steps=episode_steps)

    before, outcome = follow(world, jnp.array(actions))

    where, reached = np.asarray(before.cell), np.asarray(outcome.cell)
    assert ((where >= 0) & (where < world.cells)).all()
    assert not world.walls[where].any()
    assert not world.walls[reached].any()
    steps = np.abs(where % width - reached % width) + np.abs(where // width - reached // width)
    assert (steps <= 1).all()
    plain = plain_grid.World(width, height, walls={y * width + x for x, y in walls})
    assert list(reached) == [plain_grid.move(plain, int(s), a) for s, a in zip(where, actions, strict=True)]
    assert list(np.asarray(before.time)) == [step % episode_steps for step in range(40)]
    ended = np.asarray(outcome.truncated)
    assert list(where[1:]) == list(np.where(ended, int(world.start), reached)[:-1])
