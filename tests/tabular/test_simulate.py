import itertools
import os
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import plain_grid
import pytest
from scipy import stats

from action_balance.envs.grid.maps import goal_world, open_world
from action_balance.envs.grid.world import Array, GridWorld
from action_balance.tabular import simulate
from action_balance.tabular.settings import METHODS, TabularSettings
from action_balance.tabular.simulate import Cohort, FirstReach

PAPER = TabularSettings()

#: A setting with little in common with the paper's.
OTHER = TabularSettings(
    update_every=32, action_coef=0.5, state_coef=0.8, reward_base=1.1, gamma=0.9, gae_lambda=0.8, value_rate=0.3
)


def small_world(episode_steps: int = 37) -> GridWorld:
    """8x6 cells with walls, the start in the middle and no goal: not square, not symmetric."""
    walls = [(3, 0), (3, 1), (5, 4), (6, 4), (0, 3)]
    return GridWorld.create(8, 6, walls, start=(4, 2), episode_steps=episode_steps)


def goal_at(world: GridWorld, x: int, y: int) -> np.ndarray:
    goals = np.zeros(world.cells, bool)
    goals[y * world.width + x] = True
    return goals


def cohort(method: str, settings: TabularSettings, goals: Array, *stream: int) -> Cohort:
    return Cohort.create(method, settings, stream or (0,), goals)


def walk_all(world: GridWorld, cohorts: list[Cohort], runs: int, settings: TabularSettings, steps: int) -> np.ndarray:
    """The cells acted from, (C, R, steps), put together from the chunks."""
    cells = np.full((len(cohorts), runs, steps), -1)
    for number, chosen, chunk, _ in simulate.walk(world, cohorts, runs, settings, steps):
        assert (cells[number, chosen] == -1).all()
        cells[number, chosen] = chunk
    return cells


# Which run it is decides what happens in it, and nothing else.


@pytest.fixture(scope="module")
def three_hundred_walks() -> np.ndarray:
    world = small_world()
    return walk_all(world, [cohort("action-balance-rnd", OTHER, world.goals)], 300, OTHER, 700)[0]


def test_a_walk_depends_neither_on_other_walks_nor_on_its_length(three_hundred_walks: np.ndarray) -> None:
    world = small_world()
    methods = ["random", "action-balance-rnd", "rnd"]
    among = walk_all(world, [cohort(method, OTHER, world.goals) for method in methods], 7, OTHER, 333)
    np.testing.assert_array_equal(among[1], three_hundred_walks[:7, :333])


def test_every_run_is_walked_and_no_two_are_alike(three_hundred_walks: np.ndarray) -> None:
    assert (three_hundred_walks >= 0).all()
    assert len({cells.tobytes() for cells in three_hundred_walks}) == 300


def reach_small(runs: int, max_steps: int = 50_000, methods: tuple[str, ...] = tuple(METHODS)) -> FirstReach:
    """Runs to a corner, of each of the methods; they last from a few to more than a thousand steps."""
    world = small_world()
    cohorts = [cohort(method, OTHER, goal_at(world, 7, 5), 3) for method in methods]
    return simulate.reach(world, cohorts, runs, OTHER, max_steps)


@pytest.fixture(scope="module")
def many_reached() -> FirstReach:
    """So many runs that every lane is filled more than once."""
    return reach_small(300)


@pytest.mark.parametrize("count", [1, 3])
def test_nothing_depends_on_the_number_of_workers(
    count: int, three_hundred_walks: np.ndarray, many_reached: FirstReach, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(count)), raising=False)
    world = small_world()
    again = walk_all(world, [cohort("action-balance-rnd", OTHER, world.goals)], 300, OTHER, 700)[0]
    np.testing.assert_array_equal(again, three_hundred_walks)
    np.testing.assert_array_equal(reach_small(300).steps, many_reached.steps)


def test_a_first_reach_does_not_depend_on_the_number_of_runs_or_the_lane(many_reached: FirstReach) -> None:
    few = reach_small(10)
    np.testing.assert_array_equal(few.steps, many_reached.steps[:, :10])
    assert few.reached.all()
    assert many_reached.reached.all()
    one = reach_small(1, methods=("rnd",))
    assert one.steps[0, 0] == many_reached.steps[list(METHODS).index("rnd"), 0]


def test_runs_of_different_streams_and_methods_differ() -> None:
    world = small_world()
    streams = [(0,), (1,), (0, 0), (0, 1), (1, 0)]
    cohorts = [Cohort.create(method, OTHER, stream, world.goals) for stream in streams for method in METHODS]
    assert len({tuple(one.stream.tolist()) for one in cohorts}) == len(cohorts)
    # Before the first update all methods are alike but for their randomness: the walks differ all the same.
    cells = walk_all(world, cohorts, 1, OTHER, 32)
    assert len({run.tobytes() for run in cells}) == len(cohorts)


# The plain agent makes the same steps from the same random numbers.


@partial(jax.jit, static_argnames="update_every")
def draw_batch(key: jax.Array, update: int, update_every: int) -> jax.Array:
    return jax.random.uniform(jax.random.fold_in(key, update), (update_every,))


def uniforms(cohort: Cohort, number: int, update_every: int) -> Iterator[float]:
    """The random numbers of a run: one key for each update, folded into that of the run."""
    key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(cohort.stream)), number)
    for update in itertools.count():
        yield from np.asarray(draw_batch(key, update, update_every)).tolist()


def plain_world(world: GridWorld, goals: Array) -> plain_grid.World:
    return plain_grid.World(
        world.width,
        world.height,
        set(np.flatnonzero(world.walls).tolist()),
        int(world.start),
        set(np.flatnonzero(goals).tolist()),
        int(world.episode_steps),
    )


def plain_settings(cohort: Cohort, settings: TabularSettings) -> plain_grid.Settings:
    return plain_grid.Settings(
        float(cohort.action_coef),
        float(cohort.state_coef),
        settings.update_every,
        settings.reward_base,
        settings.gamma,
        settings.gae_lambda,
        settings.value_rate,
    )


@dataclass(frozen=True)
class Replay:
    """A walk to repeat. The seeds are chosen such that no random number lies within 1e-5 of the border between two
    actions: rounding (float32 here, double there) cannot decide one.
    """

    world: GridWorld
    settings: TabularSettings
    steps: int
    seed: int


REPLAYS = {
    "the paper": Replay(open_world(), PAPER, 5000, 3),
    "walls": Replay(small_world(), OTHER, 3000, 1),
    "a long batch": Replay(small_world(200), replace(OTHER, update_every=1500), 3000, 13),
}


@pytest.mark.parametrize("name", REPLAYS)
def test_the_plain_agent_makes_the_same_steps(name: str) -> None:
    replay = REPLAYS[name]
    world = replay.world
    cohorts = [cohort(method, replay.settings, world.goals, replay.seed) for method in METHODS]
    walked = walk_all(world, cohorts, 2, replay.settings, replay.steps)
    for chosen, runs in zip(cohorts, walked, strict=True):
        for number, cells in enumerate(runs):
            draws = uniforms(chosen, number, replay.settings.update_every)
            plain = plain_grid.run(
                plain_world(world, world.goals), plain_settings(chosen, replay.settings), replay.steps, draws
            )
            assert plain.cells == cells.tolist()


# Steps until the goal.


def test_the_steps_to_the_goal_are_those_of_the_walk() -> None:
    # In a world where no episode ends by itself, a walk that knows no goal is the same up to the goal.
    world = small_world(episode_steps=10**6)
    goals = goal_at(world, 7, 5)
    walked = walk_all(world, [cohort(method, OTHER, world.goals, 5) for method in METHODS], 150, OTHER, 3000)
    at_goal = goals[walked]
    assert at_goal.any(axis=-1).mean() > 0.9
    limit = 3000
    expected = np.where(at_goal.any(axis=-1), at_goal.argmax(axis=-1), limit)
    found = simulate.reach(world, [cohort(method, OTHER, goals, 5) for method in METHODS], 150, OTHER, limit)
    np.testing.assert_array_equal(found.steps, expected)
    np.testing.assert_array_equal(found.reached, at_goal.any(axis=-1))


def test_a_run_that_does_not_reach_its_goal_stops_at_the_limit(many_reached: FirstReach) -> None:
    limit = int(np.sort(many_reached.steps, axis=None)[many_reached.steps.size // 2])  # a run reaches it just so
    cut = reach_small(300, max_steps=limit)
    np.testing.assert_array_equal(cut.steps, np.minimum(many_reached.steps, limit))
    np.testing.assert_array_equal(cut.reached, many_reached.steps <= limit)
    assert 0 < cut.reached.sum() < cut.reached.size
    cut = reach_small(3, max_steps=5)  # shorter than a batch; the goal is 6 steps away
    assert (cut.steps == 5).all()
    assert not cut.reached.any()


def test_threads_that_need_the_same_program_compile_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end, calls = threading.Event(), threading.Event(), []
    program = simulate.compiled(8, 6, OTHER)

    def slow(*size: object) -> simulate.Program:
        calls.append(size)
        begun.set()
        assert may_end.wait(60)
        return program

    monkeypatch.setattr(simulate, "_compile", slow)
    world, settings = GridWorld.create(3, 5), replace(OTHER, update_every=77)
    with simulate.compiling(world, settings), ThreadPoolExecutor(1) as pool:
        assert begun.wait(60)
        waiting = pool.submit(simulate.compiled, 3, 5, settings)
        may_end.set()
        assert waiting.result() is simulate.compiled(3, 5, settings) is program
    assert calls == [(3, 5, settings)]


def test_progress_adds_up_to_all_runs() -> None:
    world = small_world()
    cohorts = [cohort(method, OTHER, goal_at(world, 4, 3)) for method in METHODS]
    reported: list[float] = []
    for _ in simulate.walk(world, cohorts, 130, OTHER, 1100, reported.append):
        pass
    assert sum(reported) == pytest.approx(4 * 130)
    reported.clear()
    simulate.reach(world, cohorts, 130, OTHER, 50_000, reported.append)
    assert sum(reported) == 4 * 130


# Threads.


def test_leaving_a_walk_early_stops_its_threads() -> None:
    world = small_world()
    before = threading.active_count()
    walk = simulate.walk(world, [cohort(method, OTHER, world.goals) for method in METHODS], 300, OTHER, 5000)
    assert isinstance(walk, Generator)
    next(walk)
    assert threading.active_count() > before
    walk.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("start", ["walk", "reach"])
def test_an_error_in_a_thread_comes_out_and_stops_the_others(start: str) -> None:
    def fail(_: float) -> None:
        raise InterruptedError("enough")

    world = small_world()
    cohorts = [cohort(method, OTHER, world.goals) for method in METHODS]
    before = threading.active_count()
    simulations: dict[str, Callable[[], object]] = {
        "walk": lambda: list(simulate.walk(world, cohorts, 300, OTHER, 5000, fail)),
        "reach": lambda: simulate.reach(world, cohorts, 300, OTHER, 5000, fail),
    }
    with pytest.raises(InterruptedError, match="enough"):
        simulations[start]()
    assert threading.active_count() == before


# Compiled once.


@contextmanager
def counted_compilations() -> Iterator[list[str]]:
    """What JAX traced, lowered or compiled meanwhile."""
    events: list[str] = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event.startswith("/jax/core/compile"):
            events.append(f"{event}: {duration_secs:.3f} s, {kwargs}")

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield events
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


def test_a_second_simulation_of_the_same_size_compiles_nothing() -> None:
    simulate._slot.cache_clear()  # whatever was simulated before

    def simulate_both(world: GridWorld, runs: int, steps: int, seed: int) -> None:
        cohorts = [cohort(method, OTHER, goal_at(world, 7, 5), seed) for method in METHODS]
        for _ in simulate.walk(world, cohorts, runs, OTHER, steps):
            pass
        simulate.reach(world, cohorts, runs, OTHER, steps)

    with counted_compilations() as first:
        simulate_both(small_world(), 3, 1100, 0)
    assert first
    with counted_compilations() as second:
        simulate_both(GridWorld.create(8, 6, start=(1, 1), episode_steps=90), 140, 1500, 1)
    assert second == []


# Statistics, all with fixed seeds.


#: Table I of the paper: mean steps until the goal first is reached, 100 runs a cell.
TABLE_I = {
    (0, 20): {"random": 10583.86, "rnd": 10304.23, "action-balance-rnd": 8118.19},
    (20, 0): {"random": 11142.43, "rnd": 11062.97, "action-balance-rnd": 8360.99},
    (10, 20): {"random": 12772.29, "rnd": 13434.67, "action-balance-rnd": 9248.96},
    (16, 16): {"random": 18755.5, "rnd": 12339.32, "action-balance-rnd": 11364.08},
    (20, 10): {"random": 13464.31, "rnd": 11197.49, "action-balance-rnd": 10384.51},
}


def test_table_i_of_the_paper_is_reproduced() -> None:
    """400 runs a cell against the paper's 100.

    The difference between the two means of a cell has the variance s^2 / 400 + s^2 / 100, with s the spread of our
    runs, about as large as their mean: some 11 % a cell. Over the table, the squared differences in units of that
    must not exceed the 99 % point of their chi-square distribution; averaged over the goals, as in the last line of
    the table, each method must agree within 3 standard errors, some 12 to 15 %.
    """
    methods = ["random", "rnd", "action-balance-rnd"]
    goals = list(TABLE_I)
    cohorts = [cohort(method, PAPER, goal_world(goal).goals, 2024, *goal) for method in methods for goal in goals]
    found = simulate.reach(open_world(), cohorts, 400, PAPER, 10**6)
    assert found.reached.all()

    ours = found.steps.mean(axis=1).reshape(3, 5)
    paper = np.array([[TABLE_I[goal][method] for goal in goals] for method in methods])
    variance = (found.steps.var(axis=1, ddof=1) * (1 / 400 + 1 / 100)).reshape(3, 5)
    chi_square = ((ours - paper) ** 2 / variance).sum()
    assert chi_square < stats.chi2.ppf(0.99, 15)

    average_errors = (ours - paper).mean(axis=1) / (np.sqrt(variance.sum(axis=1)) / 5)
    assert (np.abs(average_errors) < 3).all()
    assert list(np.argsort(ours.mean(axis=1))) == [2, 1, 0]  # action balance RND first, random last
