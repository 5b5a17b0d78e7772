"""Simulate many runs at once: walks of a fixed length, and runs until a goal is reached.

A *lane* holds one run. Every program is compiled for `LANES` lanes, whatever the number of runs, and each run has its
own random key: its result depends neither on the number of runs nor on its lane. Each worker thread owns one set of
lanes. When a run ends, the next run in the queue takes its lane. When the queue is empty, free lanes are still
computed until the last run of their thread has ended: a program for fewer lanes would take longer to compile than it
saves (a step of 32 lanes costs two thirds of a step of all).

Axes: C cohorts, R runs, L lanes, S cells, T steps.
"""

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float32, Int32, Int64, Integer, UInt32

from action_balance.envs.grid import world as grid
from action_balance.envs.grid.world import GridWorld
from action_balance.machine import cores
from action_balance.tabular import agent
from action_balance.tabular.agent import Run
from action_balance.tabular.settings import METHODS, TabularSettings, coefficients

#: Runs that one program advances together: enough to amortise the overhead of a loop iteration, few enough that their
#: tables stay in the cache, and a multiple of 16 that 100 runs fill well.
LANES = 112

#: Steps between two checks of which runs have ended.
BLOCK_STEPS = 1024

T = TypeVar("T")

#: Called with the number of further runs that are done, or parts of them.
Progress = Callable[[float], None]


def silent(_: float) -> None:
    """Report no progress."""


class Cohort(eqx.Module):
    """What the runs of one kind share: method, goals and random stream. Stacked for lanes, each array has an axis L."""

    stream: UInt32[np.ndarray, "*L 2"]  # data of the random key into which each run folds its number
    action_coef: Float32[np.ndarray, "*L"]  # c_a
    state_coef: Float32[np.ndarray, "*L"]  # c_s
    goals: Bool[np.ndarray, "*L S"]  # the cells that end a run

    @classmethod
    def create(
        cls, method: str, settings: TabularSettings, stream: Sequence[int], goals: Bool[ArrayLike, " S"]
    ) -> "Cohort":
        """Describe the runs of a method. The stream is the seed and further integers; cohorts whose streams or methods
        differ are independent."""
        action_coef, state_coef = coefficients(method, settings)
        seed, *path = stream
        with _on_cpu():
            key = jax.random.key(seed)
            for number in (*path, list(METHODS).index(method)):
                key = jax.random.fold_in(key, number)
            data = np.asarray(jax.random.key_data(key))
        return cls(
            data, np.asarray(action_coef, np.float32), np.asarray(state_coef, np.float32), np.asarray(goals, bool)
        )


def _begin(world: GridWorld, cohort: Cohort, number: Int32[Array, ""]) -> Run:
    key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(cohort.stream)), number)
    return agent.begin(world, key, cohort.action_coef, cohort.state_coef, cohort.goals)


def _refill(
    world: GridWorld,
    lanes: Run,
    lane: Int32[Array, " L"],
    cohorts: Cohort,
    numbers: Int32[Array, " L"],
    count: Int32[Array, ""],
) -> Run:
    """Start the first ``count`` of the given runs in these lanes."""

    def one(i: Array, lanes: Run) -> Run:
        run = _begin(world, jax.tree.map(lambda leaf: leaf[i], cohorts), numbers[i])
        return jax.tree.map(lambda all_lanes, new: all_lanes.at[lane[i]].set(new), lanes, run)

    return jax.lax.fori_loop(0, count, one, lanes)


class Steps(eqx.Module):
    """The steps of all lanes in one update."""

    cells: Int32[Array, "L T"]  # acted from
    pairs: Int32[Array, " T"]  # cell * A + action, of the first lane
    advantage: Float32[Array, " T"]  # A(s, a) of these pairs after the update that learned from the step


@dataclass(frozen=True)
class Trace:
    """Every step of one run and what it learned; counts, bonuses and policies at any time follow from it."""

    pairs: Integer[np.ndarray, " T"]  # cell * A + action of each step
    advantage: Float32[np.ndarray, " T"]  # A(s, a) of that pair after the update that learned from the step


@dataclass(frozen=True)
class Program:
    """The compiled functions over lanes, for one size of world and one set of settings."""

    begin: Callable[[GridWorld, Cohort, np.ndarray], Run]
    refill: Callable[[GridWorld, Run, np.ndarray, Cohort, np.ndarray, np.ndarray], Run]
    advance: Callable[[GridWorld, Run], tuple[Run, Steps]]  # steps with a leading axis of updates
    block: int  # steps of one call of `advance`
    compile_seconds: float


class _Slot:
    """The place of one program: whoever comes first compiles it, whoever comes meanwhile waits for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.program: Program | None = None


_slots_lock = threading.Lock()


@lru_cache(maxsize=16)
def _slot(_width: int, _height: int, _settings: TabularSettings) -> _Slot:
    return _Slot()


def compiled(width: int, height: int, settings: TabularSettings) -> Program:
    """The compiled simulation: compiled once for all worlds of the same size. Any thread may call it."""
    with _slots_lock:
        slot = _slot(width, height, settings)
    with slot.lock:
        slot.program = slot.program or _compile(width, height, settings)
        return slot.program


@contextmanager
def compiling(world: GridWorld, settings: TabularSettings) -> Iterator[None]:
    """Compile the simulation of a world in a thread while the body does something else."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(compiled, world.width, world.height, settings)  # an error occurs again where the program is needed
        yield


def _compile(width: int, height: int, settings: TabularSettings) -> Program:
    began = time.perf_counter()
    updates = max(1, BLOCK_STEPS // settings.update_every)

    def advance(world: GridWorld, lanes: Run) -> tuple[Run, Steps]:
        def update(lanes: Run, _: None) -> tuple[Run, Steps]:
            lanes, batch = jax.vmap(lambda run: agent.advance(world, run, settings))(lanes)
            cell, action = batch.cell[0], batch.action[0]
            learned = lanes.tables.advantage[0, cell, action]
            return lanes, Steps(batch.cell, cell * len(grid.MOVES) + action, learned)

        return jax.lax.scan(update, lanes, None, length=updates)

    world = GridWorld.create(width, height)
    cohorts, numbers = _take([Cohort.create("random", settings, (0,), world.goals)], 1, np.zeros(1, np.int64))
    begin = jax.vmap(_begin, in_axes=(None, 0, 0))
    with _on_cpu():
        lanes = jax.eval_shape(begin, world, cohorts, numbers)
        lane, count = np.zeros(LANES, np.int32), np.zeros((), np.int32)
        program = (
            jax.jit(begin).lower(world, cohorts, numbers).compile(),
            jax.jit(_refill, donate_argnums=1).lower(world, lanes, lane, cohorts, numbers, count).compile(),
            jax.jit(advance, donate_argnums=1).lower(world, lanes).compile(),
        )
    return Program(*program, updates * settings.update_every, time.perf_counter() - began)


def _on_cpu() -> AbstractContextManager[None]:
    """Compute on the CPU: small tables and a long loop are faster there than on an accelerator."""
    return jax.default_device(jax.devices("cpu")[0])


class Workers:
    """Threads that advance lanes; XLA releases the GIL while it computes. Leaving the context stops them."""

    def __init__(self) -> None:
        self.count = cores()
        self._pool = ThreadPoolExecutor(self.count)
        self._stop = threading.Event()

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    def submit(self, work: Callable[..., T], *args: object) -> Future[T]:
        """Call ``work(*args)`` in one of the threads, on the CPU."""

        def on_cpu() -> T:
            with _on_cpu():
                return work(*args)

        return self._pool.submit(on_cpu)

    def check(self) -> None:
        if self._stop.is_set():
            raise CancelledError


def walk(
    world: GridWorld,
    cohorts: Sequence[Cohort],
    runs: int,
    settings: TabularSettings,
    steps: int,
    progress: Progress = silent,
) -> Iterator[tuple[int, slice, np.ndarray, Trace]]:
    """Simulate runs of a fixed length, a chunk of runs at a time. Goals have no effect.

    Of each chunk, yield the number of the cohort, its runs, the cells that they acted from, (runs, steps), and every
    step of the first of them.
    """
    settings = _shortened(settings, steps)
    program = compiled(world.width, world.height, settings)

    def chunk(workers: Workers, rows: np.ndarray) -> tuple[np.ndarray, Trace]:
        lanes = program.begin(world, *_take(cohorts, runs, rows))
        cells = np.empty((len(rows), steps), np.int32)
        first = Trace(np.empty(steps, np.int32), np.empty(steps, np.float32))
        for begin in range(0, steps, program.block):
            workers.check()
            lanes, taken = program.advance(world, lanes)
            end = min(begin + program.block, steps)
            by_run = np.asarray(taken.cells).swapaxes(0, 1).reshape(LANES, -1)
            cells[:, begin:end] = by_run[: len(rows), : end - begin]
            first.pairs[begin:end] = np.asarray(taken.pairs).ravel()[: end - begin]
            first.advantage[begin:end] = np.asarray(taken.advantage).ravel()[: end - begin]
            progress((end - begin) / steps * len(rows))
        return cells, first

    with Workers() as workers:
        pending: deque[tuple[int, slice, Future[tuple[np.ndarray, Trace]]]] = deque()
        chunks = itertools.product(range(len(cohorts)), range(0, runs, LANES))
        while True:
            for number, begin in itertools.islice(chunks, workers.count + 1 - len(pending)):  # bounds the memory
                chosen = slice(begin, min(begin + LANES, runs))
                rows = number * runs + np.arange(chosen.start, chosen.stop)
                pending.append((number, chosen, workers.submit(chunk, workers, rows)))
            if not pending:
                break
            done, chosen, future = pending.popleft()
            yield done, chosen, *future.result()


@dataclass(frozen=True)
class FirstReach:
    """When runs first reached a goal."""

    steps: Int64[np.ndarray, "C R"]  # steps until the goal, or the limit
    reached: Bool[np.ndarray, "C R"]  # False where the limit came first
    lane_steps: int  # steps computed, including those of lanes without a run


def reach(
    world: GridWorld,
    cohorts: Sequence[Cohort],
    runs: int,
    settings: TabularSettings,
    max_steps: int,
    progress: Progress = silent,
) -> FirstReach:
    settings = _shortened(settings, max_steps)
    program = compiled(world.width, world.height, settings)
    total = len(cohorts) * runs
    steps = np.zeros(total, np.int64)
    reached = np.zeros(total, bool)
    queue = iter(range(total))
    lock = threading.Lock()

    def dequeue(count: int) -> np.ndarray:
        with lock:
            return np.fromiter(itertools.islice(queue, count), np.int64)

    def work(workers: Workers, rows: np.ndarray) -> int:
        """Advance one set of lanes until the queue is empty; the number of steps computed."""
        if not len(rows):
            return 0
        row_of_lane = np.full(LANES, -1)
        row_of_lane[: len(rows)] = rows
        lanes = program.begin(world, *_take(cohorts, runs, rows))
        computed = 0
        while (row_of_lane >= 0).any():
            workers.check()
            lanes, _ = program.advance(world, lanes)
            computed += program.block * LANES
            lane_steps, lane_reached = np.asarray(lanes.steps), np.asarray(lanes.reached)
            ended = np.flatnonzero((row_of_lane >= 0) & (lane_reached | (lane_steps >= max_steps)))
            rows = row_of_lane[ended]
            steps[rows] = np.minimum(lane_steps[ended], max_steps)
            reached[rows] = lane_reached[ended] & (lane_steps[ended] <= max_steps)
            row_of_lane[ended] = -1
            progress(float(len(ended)))
            rows = dequeue(len(ended))
            if len(rows):
                free = ended[: len(rows)]
                row_of_lane[free] = rows
                lane, count = np.resize(free, LANES).astype(np.int32), np.asarray(len(rows), np.int32)
                lanes = program.refill(world, lanes, lane, *_take(cohorts, runs, rows), count)
        return computed

    with Workers() as workers:
        share = min(LANES, -(-total // workers.count))
        futures = [workers.submit(work, workers, dequeue(share)) for _ in range(workers.count)]
        lane_steps = sum(future.result() for future in futures)
    shape = (len(cohorts), runs)
    return FirstReach(steps.reshape(shape), reached.reshape(shape), lane_steps)


def _shortened(settings: TabularSettings, steps: int) -> TabularSettings:
    """Move an update that would come after the last step to that step: what it learns is never used."""
    return replace(settings, update_every=min(settings.update_every, steps))


def _take(cohorts: Sequence[Cohort], runs: int, rows: np.ndarray) -> tuple[Cohort, np.ndarray]:
    """Cohorts and numbers of the runs in these rows of (cohorts x runs), repeated to fill the lanes."""
    numbers, in_cohort = np.divmod(np.resize(rows, LANES), runs)
    chosen = [cohorts[number] for number in numbers]
    stacked = Cohort(**{f.name: np.stack([getattr(c, f.name) for c in chosen]) for f in fields(Cohort)})
    return stacked, in_cohort.astype(np.int32)
