"""Many runs at once: walks of a fixed length, and runs until a goal is reached.

A *lane* carries one run. Every program is compiled for the same number of lanes, whatever the number of runs, and
a run draws from its own random key alone: its result does not depend on how many others there are, nor on the
lane it got. Each worker thread owns one set of lanes. A run that has ended gives its lane to the next in the queue.
When the queue is empty, free lanes go on being computed until the last run of their thread has ended: a program for
fewer lanes would take longer to compile than it saves (a step of 32 lanes costs two thirds of one of all).

Axes: R runs, L lanes, S cells.
"""

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.envs.grid import world as grid
from action_balance.envs.grid.world import Array, GridWorld
from action_balance.tabular import agent
from action_balance.tabular.agent import Run, TabularSettings

#: Runs that one program advances together: enough that a loop's turn is worth its overhead, few enough that their
#: tables stay in the cache, and a multiple of 16 that 100 runs fill well.
LANES = 112

#: Steps between two looks at which runs have ended.
BLOCK_STEPS = 2048

T = TypeVar("T")

#: Told how many more runs are done; a walk tells it in fractions.
Progress = Callable[[float], None]


def silent(_: float) -> None:
    """No progress is shown."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Cohort:
    """What the runs of one kind have in common: a method, its goals and a stream of randomness."""

    stream: np.ndarray  # (2,) uint32, data of the random key into which each run folds its number
    action_coef: np.ndarray  # () float32, c_a
    state_coef: np.ndarray  # () float32, c_s
    goals: np.ndarray  # (S,) bool, the cells that end a run

    @classmethod
    def create(cls, method: str, settings: TabularSettings, stream: Sequence[int], goals: Array) -> Self:
        """Runs of ``method`` that draw from ``stream``: whole numbers, the seed first.

        Two cohorts are independent if their streams or their methods differ.
        """
        action_coef, state_coef = agent.coefficients(method, settings)
        seed, *path = stream
        with _on_cpu():
            key = jax.random.key(seed)
            for number in (*path, list(agent.METHODS).index(method)):
                key = jax.random.fold_in(key, number)
            data = np.asarray(jax.random.key_data(key))
        return cls(
            data, np.asarray(action_coef, np.float32), np.asarray(state_coef, np.float32), np.asarray(goals, bool)
        )


def _begin(world: GridWorld, cohort: Cohort, number: jax.Array) -> Run:
    """Run ``number`` of a cohort, before its first step."""
    key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(cohort.stream)), number)
    return agent.begin(world, key, cohort.action_coef, cohort.state_coef, cohort.goals)


def _refill(
    world: GridWorld, lanes: Run, lane: jax.Array, cohorts: Cohort, numbers: jax.Array, count: jax.Array
) -> Run:
    """The first ``count`` of the given runs begin in the lanes given for them; each array has one row a lane."""

    def one(i: jax.Array, lanes: Run) -> Run:
        run = _begin(world, jax.tree.map(lambda leaf: leaf[i], cohorts), numbers[i])
        return jax.tree.map(lambda all_lanes, new: all_lanes.at[lane[i]].set(new), lanes, run)

    return jax.lax.fori_loop(0, count, one, lanes)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Made:
    """What the lanes did in some updates. Axes: U updates, T steps of one."""

    cells: jax.Array  # (U, L, T) int32, acted from
    pairs: jax.Array  # (U, T) int32, cell * A + action, of the first lane
    advantage: jax.Array  # (U, T) float32, A(s, a) of these pairs after the update that learned from the step


@dataclass(frozen=True)
class Trace:
    """What one run did, every step of it, and what it learned: counts, bonuses and policies of any moment follow."""

    pairs: np.ndarray  # (T,) int32, cell * A + action of each step
    advantage: np.ndarray  # (T,) float32, A(s, a) of that pair after the update that learned from the step


@dataclass(frozen=True)
class Program:
    """The compiled functions over lanes, for one size of world and one set of settings."""

    begin: Callable[[GridWorld, Cohort, np.ndarray], Run]
    refill: Callable[[GridWorld, Run, np.ndarray, Cohort, np.ndarray, np.ndarray], Run]
    advance: Callable[[GridWorld, Run], tuple[Run, "Made"]]
    block: int  # steps that one call of `advance` makes
    compile_seconds: float


@lru_cache(maxsize=16)
def compiled(width: int, height: int, settings: TabularSettings) -> Program:
    """Compile once for all worlds of this size."""
    began = time.perf_counter()
    updates = max(1, BLOCK_STEPS // settings.update_every)

    def advance(world: GridWorld, lanes: Run) -> tuple[Run, Made]:
        def update(lanes: Run, _: None) -> tuple[Run, Made]:
            lanes, batch = jax.vmap(lambda run: agent.advance(world, run, settings))(lanes)
            cell, action = batch.cell[0], batch.action[0]
            learned = lanes.tables.advantage[0, cell, action]
            return lanes, Made(batch.cell, cell * len(grid.MOVES) + action, learned)

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
    """Small tables and a long loop belong on a CPU, even beside an accelerator."""
    return jax.default_device(jax.devices("cpu")[0])


class Workers:
    """Threads that advance lanes; XLA releases Python's lock while it computes. Leaving the context stops them."""

    def __init__(self) -> None:
        self.count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.count)
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    def submit(self, work: Callable[..., T], *args: object) -> Future[T]:
        """Do ``work`` on some thread, on the CPU."""

        def on_cpu() -> T:
            with _on_cpu():
                return work(*args)

        return self._pool.submit(on_cpu)

    def check(self) -> None:
        """Leave the thread if the work is no longer wanted."""
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
    """``runs`` runs of each cohort, each ``steps`` steps long; a chunk of runs at a time. Goals change nothing.

    Yields:
        the number of the cohort, which of its runs, the cells that these acted from, (runs, steps) int32, and all
        that the first of them did.
    """
    settings = _shortened(settings, steps)
    program = compiled(world.width, world.height, settings)

    def chunk(workers: Workers, rows: np.ndarray) -> tuple[np.ndarray, Trace]:
        lanes = program.begin(world, *_take(cohorts, runs, rows))
        cells = np.empty((len(rows), steps), np.int32)
        first = Trace(np.empty(steps, np.int32), np.empty(steps, np.float32))
        for begin in range(0, steps, program.block):
            workers.check()
            lanes, made = program.advance(world, lanes)
            end = min(begin + program.block, steps)
            by_run = np.asarray(made.cells).swapaxes(0, 1).reshape(LANES, -1)
            cells[:, begin:end] = by_run[: len(rows), : end - begin]
            first.pairs[begin:end] = np.asarray(made.pairs).ravel()[: end - begin]
            first.advantage[begin:end] = np.asarray(made.advantage).ravel()[: end - begin]
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
    """When runs first reached a goal. Axes: C cohorts, R runs."""

    steps: np.ndarray  # (C, R) int64, steps until then, or the limit
    reached: np.ndarray  # (C, R) bool, False where the limit came first
    lane_steps: int  # steps computed, those of lanes without a run included


def reach(
    world: GridWorld,
    cohorts: Sequence[Cohort],
    runs: int,
    settings: TabularSettings,
    max_steps: int,
    progress: Progress = silent,
) -> FirstReach:
    """``runs`` runs of each cohort, each until it reaches one of its goals or has taken ``max_steps`` steps."""
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
        """Advance one set of lanes until the queue is empty; returns the steps computed."""
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
            progress(len(ended))
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
    """An update that would come after the last step can come at it: nobody sees what it learns."""
    return replace(settings, update_every=min(settings.update_every, steps))


def _take(cohorts: Sequence[Cohort], runs: int, rows: np.ndarray) -> tuple[Cohort, np.ndarray]:
    """Cohort and number of the runs in these rows of (cohorts x runs), repeated to fill the lanes."""
    numbers, in_cohort = np.divmod(np.resize(rows, LANES), runs)
    chosen = [cohorts[number] for number in numbers]
    stacked = Cohort(**{f.name: np.stack([getattr(c, f.name) for c in chosen]) for f in fields(Cohort)})
    return stacked, in_cohort.astype(np.int32)
