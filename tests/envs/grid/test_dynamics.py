import jax
import jax.numpy as jnp
import numpy as np
import plain_grid
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from action_balance.envs.grid import dynamics as grid
from action_balance.envs.grid.dynamics import GridState, GridStep
from action_balance.envs.grid.world import ACTIONS, MOVES, GridWorld

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


@pytest.mark.parametrize(("x", "y", "action"), [(2, 1, LEFT), (0, 1, RIGHT), (1, 0, UP), (1, 2, DOWN)])
def test_a_wall_blocks_from_every_side_and_costs_a_step(x: int, y: int, action: int) -> None:
    world = GridWorld.create(3, 3, walls=[(1, 1)])
    following, outcome = move(world, x, y, action, time=4)
    assert world.coordinates(int(outcome.cell)) == (x, y)
    assert world.coordinates(int(following.cell)) == (x, y)
    assert int(following.time) == 5


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


def test_a_goal_reached_with_the_last_step_counts_as_reached() -> None:
    world = GridWorld.create(3, 3, goals=[(2, 0)], episode_steps=2)
    outcome = move(world, 1, 0, RIGHT, time=1)[1]
    assert bool(outcome.terminated)
    assert not bool(outcome.truncated)


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
