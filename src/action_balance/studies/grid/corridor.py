"""Study ``corridor``: does a next-state bonus keep digging where it has been? (Section I, Figure 1)

Two rooms, the agent born between them, a treasure in the right one. The paper argues that an agent that happens to
go left first is rewarded for the left and goes there again and again. Three numbers tell whether it does so:

* one-sidedness: |steps in the right room - steps in the left room| / steps in either, per run, over the first
  episodes (0: both alike, 1: only ever one);
* same side again: of two successive episodes that enter a room, how often both enter the same room first;
* the steps until the treasure is first reached.

Axes: R runs, M moments, S cells, E episodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from action_balance.envs.grid.maps import corridor_world
from action_balance.envs.grid.world import GridWorld
from action_balance.studies import statistics
from action_balance.studies.grid import first_reach
from action_balance.studies.grid.coverage import visits_until
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.settings import GridSettings
from action_balance.studies.statistics import Estimate
from action_balance.tabular import simulate
from action_balance.tabular.simulate import Cohort, Progress, Trace, silent

#: The visits are shown after so many episodes.
MOMENTS = (1, 5, 10, 25)

#: One-sidedness is measured over so many first episodes.
EARLY_EPISODES = 5

#: Name the streams of randomness: walks that ignore the treasure, and runs that end with it.
WALK_STREAM, REACH_STREAM = 2, 3

LEFT, RIGHT = -1, 1


@dataclass(frozen=True)
class Digging:
    """Where the runs of one method spent their time, with nothing to be found."""

    visits: np.ndarray  # (M, S) float64, mean visits until each moment, of the runs that entered the left room first
    left_first: int  # the number of those runs
    one_sidedness: np.ndarray  # (R,) float64, nan for a run that entered no room
    same_side_again: np.ndarray  # (R,) float64, share of pairs of successive episodes; nan where there are none
    first: Trace | None = None  # all that the first run did


@dataclass(frozen=True)
class Corridor:
    """The result of the study."""

    world: GridWorld
    moments: tuple[int, ...]  # steps of the heat maps
    digging: dict[str, Digging]
    treasure: dict[str, FirstReachSteps]
    simulated_steps: int

    def one_sidedness(self, method: str) -> Estimate | None:
        """Mean over the runs that entered a room early."""
        return _mean_of_known(self.digging[method].one_sidedness)

    def same_side_again(self, method: str) -> Estimate | None:
        """Mean over the runs with such episodes; an agent without memory has 0.5."""
        return _mean_of_known(self.digging[method].same_side_again)

    def ratio(self) -> Estimate | None:
        """Mean steps to the treasure, rnd over action-balance-rnd."""
        if not {"rnd", "action-balance-rnd"} <= self.treasure.keys():
            return None
        return statistics.ratio_of_means(self.treasure["rnd"].steps, self.treasure["action-balance-rnd"].steps)


def _mean_of_known(values: np.ndarray) -> Estimate | None:
    known = values[np.isfinite(values)]
    return statistics.mean(known) if len(known) else None


def sides(world: GridWorld) -> np.ndarray:
    """`LEFT` for the cells of the left room, `RIGHT` for those of the right, 0 for the corridor, (S,) int8."""
    has_wall = world.walls.reshape(world.height, world.width).any(axis=0)
    corridor = np.flatnonzero(has_wall)
    x = np.arange(world.cells) % world.width
    return np.where(x < corridor[0], LEFT, np.where(x > corridor[-1], RIGHT, 0)).astype(np.int8)


def dig(trace: np.ndarray, side_of_cell: np.ndarray, episode_steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First room of each episode (R, E), one-sidedness (R,) and same side again (R,) of traces (R, E * steps)."""
    side = side_of_cell[trace].reshape(len(trace), -1, episode_steps)
    first_room = np.take_along_axis(side, (side != 0).argmax(axis=-1, keepdims=True), axis=-1)[..., 0]
    early = side[:, :EARLY_EPISODES].reshape(len(trace), -1)
    with np.errstate(invalid="ignore"):
        one_sidedness = np.abs(early.sum(axis=-1, dtype=np.int64)) / (early != 0).sum(axis=-1)
        before, after = first_room[:, :-1], first_room[:, 1:]
        same_side_again = ((before == after) & (before != 0)).sum(axis=-1) / ((before != 0) & (after != 0)).sum(axis=-1)
    return first_room, one_sidedness, same_side_again


def left_first(first_room: np.ndarray) -> np.ndarray:
    """Which runs entered the left room before the right one, (R, E) -> (R,) bool."""
    entered = first_room != 0
    return first_room[np.arange(len(first_room)), entered.argmax(axis=-1)] == LEFT


def run(settings: GridSettings, progress: Progress = silent, world: GridWorld | None = None) -> Corridor:
    """Walks without the treasure for the visits, then runs until the treasure for the steps.

    Args:
        world: another corridor than that of the study.
    """
    world = world or corridor_world(episode_steps=settings.episode_steps)
    moments = tuple(episodes * settings.episode_steps for episodes in MOMENTS)
    digging = _walks(world, settings, moments, progress)
    treasure = first_reach.run(world, settings, REACH_STREAM, progress)
    walked = moments[-1] * settings.runs * len(settings.methods)
    return Corridor(
        world, moments, digging, treasure, walked + sum(int(result.steps.sum()) for result in treasure.values())
    )


def _walks(world: GridWorld, settings: GridSettings, moments: Sequence[int], progress: Progress) -> dict[str, Digging]:
    empty = world.without_goals()
    cohorts = [
        Cohort.create(method, settings.agent, (settings.seed, WALK_STREAM), empty.goals) for method in settings.methods
    ]
    side_of_cell = sides(world)
    parts: dict[str, list[Digging]] = {method: [] for method in settings.methods}
    for number, _, trace, first in simulate.walk(empty, cohorts, settings.runs, settings.agent, moments[-1], progress):
        first_room, one_sidedness, same_side_again = dig(trace, side_of_cell, settings.episode_steps)
        leftwards = left_first(first_room)
        visits = visits_until(trace[leftwards], moments, world.cells).astype(np.float64)
        part = Digging(visits, int(leftwards.sum()), one_sidedness, same_side_again, first)
        parts[settings.methods[number]].append(part)
    return {method: _join(several) for method, several in parts.items()}


def _join(parts: list[Digging]) -> Digging:
    """One method's chunks of runs as one; sums of visits become means."""
    count = sum(part.left_first for part in parts)
    total = np.sum([part.visits for part in parts], axis=0)
    return Digging(
        visits=total / max(count, 1),
        left_first=count,
        one_sidedness=np.concatenate([part.one_sidedness for part in parts]),
        same_side_again=np.concatenate([part.same_side_again for part in parts]),
        first=parts[0].first,
    )
