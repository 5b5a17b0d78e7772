"""Study ``coverage``: how much of a world without rewards each method finds (Section IV-A, Figures 4 and 5).

Axes: R runs, K recorded steps, M moments of the heat maps, S cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from action_balance.envs.grid.world import GridWorld
from action_balance.studies import statistics
from action_balance.studies.statistics import Estimate
from action_balance.tabular import simulate
from action_balance.tabular.settings import TabularSettings
from action_balance.tabular.simulate import Cohort, Progress, Trace, silent

#: Coverage is recorded every so many steps.
RECORD_EVERY = 10

#: Steps at which the paper shows heat maps (Figure 5); the end is added.
MOMENTS = (1000, 2000, 3000, 4000)

#: Visits are kept at about so many moments besides, and of so many cells of all methods in all: a film of the mean run.
FILM_MOMENTS, FILM_CELLS = 80, 1_000_000

#: Names this study's stream of randomness.
STREAM = 0


@dataclass(frozen=True)
class MethodCoverage:
    """What the runs of one method covered."""

    cells: np.ndarray  # (R, K) int32, cells acted from so far, at each recorded step
    visits: np.ndarray  # (M, S) float64, times each cell was acted from until each moment, mean over runs
    first: Trace | None = None  # all that the first run did


@dataclass(frozen=True)
class Coverage:
    """The result of the study."""

    world: GridWorld
    steps: np.ndarray  # (K,) int, the recorded steps
    moments: tuple[int, ...]  # steps of the heat maps, those of the paper among them
    reachable: int  # the cells there are to cover
    methods: dict[str, MethodCoverage]
    simulated_steps: int

    def rate(self, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coverage rate, visited over all reachable cells: mean and both ends of its interval, each (K,)."""
        rates = self.methods[method].cells / self.reachable
        mean, half = rates.mean(axis=0), statistics.half_width(rates)
        return mean, mean - half, mean + half

    @property
    def shown_moments(self) -> tuple[int, ...]:
        """The moments that the paper shows, and the end."""
        return tuple(moment for moment in self.moments if moment in (*MOMENTS, self.moments[-1]))

    def final_cells(self, method: str) -> np.ndarray:
        """Cells covered in the end by each run, (R,)."""
        return self.methods[method].cells[:, -1]

    def increase(self, method: str) -> np.ndarray | None:
        """Relative increase of the mean coverage over that of random, (K,); None without random."""
        if "random" not in self.methods:
            return None
        random = self.methods["random"].cells.mean(axis=0)
        return (self.methods[method].cells.mean(axis=0) - random) / random

    def overtakes(self, method: str) -> int | None:
        """The recorded step from which the mean coverage stays above that of random; None if it never does."""
        increase = self.increase(method)
        if increase is None:
            return None
        step = overtaking_steps(increase[None], self.steps)[0]
        return int(step) if np.isfinite(step) else None

    def times_sooner(self) -> Estimate | None:
        """How many times sooner action-balance-rnd overtakes random for good than rnd does.

        The interval is a bootstrap over runs; None where a method is missing or never overtakes.
        """
        names = ("rnd", "action-balance-rnd")
        if not {"random", *names} <= self.methods.keys():
            return None
        slow, fast = (self.overtakes(name) for name in names)
        if slow is None or fast is None:
            return None
        runs = len(self.final_cells("rnd"))
        if runs < 2:
            return Estimate(slow / fast, np.nan, np.nan)
        random, *means = (
            statistics.resample_weights(runs, seed) @ self.methods[name].cells.astype(np.float32)
            for seed, name in enumerate(("random", *names))
        )
        slow_steps, fast_steps = (overtaking_steps(mean - random, self.steps) for mean in means)
        # A resample in which only rnd never overtakes counts as infinitely many times, one in which only action
        # balance never does as zero times, and one in which neither does says nothing.
        with np.errstate(invalid="ignore"):
            ratios = np.sort(slow_steps / fast_steps)
        ratios = ratios[~np.isnan(ratios)]
        low, high = (float(ratios[round(q * (len(ratios) - 1))]) for q in (0.025, 0.975))
        return Estimate(slow / fast, low, high)


def overtaking_steps(increase: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """First recorded step of the last stretch of positive values, (..., K) -> (...); infinite if the last is not."""
    above_from_here = np.flip(np.logical_and.accumulate(np.flip(increase > 0, -1), axis=-1), -1)
    return np.where(above_from_here[..., -1], steps[above_from_here.argmax(axis=-1)], np.inf)


def run(
    world: GridWorld,
    methods: Sequence[str],
    runs: int,
    steps: int,
    settings: TabularSettings,
    seed: int,
    progress: Progress = silent,
) -> Coverage:
    """Let ``runs`` runs of each method walk ``steps`` steps; goals of the world are ignored."""
    world = world.without_goals()
    recorded = np.arange(RECORD_EVERY, steps + 1, RECORD_EVERY) if steps >= RECORD_EVERY else np.array([steps])
    if recorded[-1] != steps:
        recorded = np.append(recorded, steps)
    moments = film_moments(steps, world.cells * len(methods))
    cells = {method: np.empty((runs, len(recorded)), np.int32) for method in methods}
    visits = {method: np.zeros((len(moments), world.cells), np.int64) for method in methods}
    cohorts = [Cohort.create(method, settings, (seed, STREAM), world.goals) for method in methods]
    first: dict[str, Trace] = {}
    for number, chosen, trace, of_first in simulate.walk(world, cohorts, runs, settings, steps, progress):
        method = methods[number]
        cells[method][chosen] = covered_cells(trace, recorded, world.cells)
        visits[method] += visits_until(trace, moments, world.cells)
        if chosen.start == 0:
            first[method] = of_first
    results = {method: MethodCoverage(cells[method], visits[method] / runs, first[method]) for method in methods}
    return Coverage(world, recorded, moments, world.reachable_cells(), results, runs * steps * len(methods))


def film_moments(steps: int, cells: int) -> tuple[int, ...]:
    """The steps at which visits are kept: those of the paper, the end, and even ones between, as memory allows."""
    count = min(FILM_MOMENTS, steps, FILM_CELLS // cells)
    even = (steps * (i + 1) // count for i in range(count))
    return tuple(sorted({*even, *(moment for moment in MOMENTS if moment < steps), steps}))


def covered_cells(trace: np.ndarray, recorded: np.ndarray, cells: int) -> np.ndarray:
    """Distinct cells among the first ``recorded`` of each run's, (R, T) -> (R, K)."""
    runs, steps = trace.shape
    rows = np.arange(runs)[:, None]
    first_visit = np.full(runs * cells, steps, np.int32)
    np.minimum.at(first_visit, (rows * cells + trace).ravel(), np.tile(np.arange(steps, dtype=np.int32), runs))
    # How many cells are new at each step; those never visited fall behind the last.
    new_at = (rows * (steps + 1) + first_visit.reshape(runs, cells)).ravel()
    new_cells = np.bincount(new_at, minlength=runs * (steps + 1)).reshape(runs, steps + 1)
    return new_cells.cumsum(axis=1)[:, recorded - 1]


def visits_until(trace: np.ndarray, moments: Sequence[int], cells: int) -> np.ndarray:
    """How often each cell was acted from until each moment, summed over runs, (R, T) -> (M, S)."""
    begins = (0, *moments[:-1])
    between = [np.bincount(trace[:, a:b].ravel(), minlength=cells) for a, b in zip(begins, moments, strict=True)]
    return np.cumsum(between, axis=0)
