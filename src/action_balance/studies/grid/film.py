"""The mean walk of a method as a film: which cells its runs had covered and visited at some moments.

Axes: R runs, K recorded steps, M moments, S cells, T steps of a run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from action_balance.envs.grid.world import GridWorld

#: The most moments of a film, and the most cells of all of them together.
FILM_MOMENTS, FILM_CELLS = 80, 1_000_000


@dataclass(frozen=True)
class Film:
    """What the runs of one method did until each moment."""

    visits: np.ndarray  # (M, S) float64, how often each cell was acted from, mean over runs
    covered: np.ndarray  # (M, S) float64, share of the runs that have acted from each cell


@dataclass(frozen=True)
class Recorder:
    """Counts visits and covered cells while the walks of a method arrive, some runs at a time."""

    recorded: np.ndarray  # (K,) int, the steps at which the covered cells of every run are kept
    moments: tuple[int, ...]
    cells: np.ndarray  # (R, K) int32, cells acted from so far, at each recorded step
    visits: np.ndarray  # (M, S) int64, sum over runs
    covered: np.ndarray  # (M, S) int64, number of runs

    @classmethod
    def create(cls, runs: int, recorded: np.ndarray, moments: Sequence[int], cells: int) -> "Recorder":
        visits, covered = (np.zeros((len(moments), cells), np.int64) for _ in range(2))
        return cls(recorded, tuple(moments), np.empty((runs, len(recorded)), np.int32), visits, covered)

    def add(self, chosen: slice, trace: np.ndarray) -> None:
        """Add walks: their places among the runs, and the cells that they acted from, (R, T)."""
        first = first_visits(trace, self.visits.shape[1])
        self.cells[chosen] = covered_cells(first, self.recorded, trace.shape[1])
        self.covered[...] += covered_until(first, self.moments)
        self.visits[...] += visits_until(trace, self.moments, self.visits.shape[1])

    def film(self) -> Film:
        """The film, once all runs have arrived."""
        return Film(self.visits / len(self.cells), self.covered / len(self.cells))


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
