"""The walks of a method as a film: which cells its runs had covered and visited at some moments.

Axes: R runs, K recorded steps, M moments, S cells, T steps of a run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from action_balance.envs.grid.world import GridWorld
from action_balance.studies.grid.settings import RunSettings
from action_balance.tabular import simulate
from action_balance.tabular.simulate import Cohort, Progress, Trace

#: The most moments of a film, and the most cells of all of them together.
FILM_MOMENTS, FILM_CELLS = 80, 1_000_000


@dataclass
class Walks:
    """What the runs of one method have done, which arrive some at a time."""

    recorded: np.ndarray  # (K,) int, the steps at which the covered cells of every run are kept
    moments: tuple[int, ...]
    cells: np.ndarray  # (R, K) int32, cells acted from so far, at each recorded step
    sum_visits: np.ndarray  # (M, S) int64, how often each cell was acted from until each moment, by all runs
    sum_covered: np.ndarray  # (M, S) int64, runs that have acted from each cell until each moment
    first: Trace | None = None  # every step of the first run

    @classmethod
    def create(cls, runs: int, recorded: np.ndarray, moments: Sequence[int], cells: int) -> "Walks":
        visits, covered = np.zeros((2, len(moments), cells), np.int64)
        return cls(recorded, tuple(moments), np.empty((runs, len(recorded)), np.int32), visits, covered)

    def add(self, chosen: slice, trace: np.ndarray) -> None:
        """Add walks: their places among the runs, and the cells that they acted from, (R, T)."""
        first = first_visits(trace, self.sum_visits.shape[1])
        self.cells[chosen] = covered_cells(first, self.recorded, trace.shape[1])
        self.sum_covered += covered_until(first, self.moments)
        self.sum_visits += visits_until(trace, self.moments, self.sum_visits.shape[1])

    @property
    def visits(self) -> np.ndarray:
        """Mean visits of each cell until each moment, (M, S)."""
        return self.sum_visits / len(self.cells)

    @property
    def covered(self) -> np.ndarray:
        """Share of the runs that have covered each cell until each moment, (M, S)."""
        return self.sum_covered / len(self.cells)


def simulated(
    world: GridWorld,
    settings: RunSettings,
    stream: int,
    recorded: np.ndarray,
    moments: Sequence[int],
    progress: Progress,
) -> Iterator[tuple[str, Walks, slice, np.ndarray]]:
    """Simulate walks until the last moment. After each chunk of runs: the method, its walks, and what was added."""
    empty, methods, runs = world.without_goals(), settings.methods, settings.runs
    cohorts = [Cohort.create(method, settings.agent, (settings.seed, stream), empty.goals) for method in methods]
    found = {method: Walks.create(runs, recorded, moments, world.cells) for method in methods}
    for number, chosen, trace, first in simulate.walk(empty, cohorts, runs, settings.agent, moments[-1], progress):
        walks = found[methods[number]]
        walks.add(chosen, trace)
        walks.first = walks.first or first
        yield methods[number], walks, chosen, trace


def film_moments(steps: int, cells: int, also: Sequence[int] = ()) -> tuple[int, ...]:
    """Moments of a film: the last step, evenly spaced ones as memory allows, and those in ``also`` before the end."""
    count = min(FILM_MOMENTS, steps, FILM_CELLS // cells)
    even = (steps * (i + 1) // count for i in range(count))
    return tuple(sorted({*even, *(moment for moment in also if moment < steps), steps}))


def first_visits(trace: np.ndarray, cells: int) -> np.ndarray:
    """The step at which each cell first occurs in a trace, counted from 0; T if never. (R, T) -> (R, S)."""
    runs, steps = trace.shape
    first = np.full(runs * cells, steps, np.int32)
    places = (np.arange(runs)[:, None] * cells + trace).ravel()
    # Written from the last step to the first, so that the first visit is what stays.
    first[places[::-1]] = np.tile(np.arange(steps - 1, -1, -1, dtype=np.int32), runs)
    return first.reshape(runs, cells)


def covered_cells(first_visit: np.ndarray, recorded: np.ndarray, steps: int) -> np.ndarray:
    """Number of cells that each run has covered until each recorded step, (R, S) -> (R, K)."""
    runs = len(first_visit)
    # The number of new cells at each step; cells never visited count for a step after the last.
    new_at = (np.arange(runs)[:, None] * (steps + 1) + first_visit).ravel()
    new_cells = np.bincount(new_at, minlength=runs * (steps + 1)).reshape(runs, steps + 1)
    return new_cells.cumsum(axis=1)[:, recorded - 1]


def covered_until(first_visit: np.ndarray, moments: Sequence[int]) -> np.ndarray:
    """Number of runs that have covered each cell until each moment, (R, S) -> (M, S)."""
    cells = first_visit.shape[1]
    # A cell that is first visited at step t, counted from 0, is covered at the first moment beyond t.
    place = np.searchsorted(moments, first_visit, side="right")
    new = np.bincount((place * cells + np.arange(cells)).ravel(), minlength=(len(moments) + 1) * cells)
    return new.reshape(-1, cells)[:-1].cumsum(axis=0)


def visits_until(trace: np.ndarray, moments: Sequence[int], cells: int) -> np.ndarray:
    """How often each cell occurs in a trace until each moment, summed over runs, (R, T) -> (M, S)."""
    begins = (0, *moments[:-1])
    between = [np.bincount(trace[:, a:b].ravel(), minlength=cells) for a, b in zip(begins, moments, strict=True)]
    return np.cumsum(between, axis=0)


def as_maps(world: GridWorld, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays (M, S) as maps (M, height, width); the first row is y = 0."""
    return {name: array.reshape(-1, world.height, world.width) for name, array in arrays.items()}
