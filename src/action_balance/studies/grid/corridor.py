"""Part ``corridor``: does a next-state bonus keep digging where it has been? (Section I, Figure 1)

Two rooms, the agent born between them, a treasure in the right one. The paper argues that an agent that happens to
go left first is rewarded for the left and returns there again and again. Three numbers test this:

* one-sidedness: |steps in the right room - steps in the left room| / steps in either, per run, over the first
  episodes (0: equal time in both, 1: only ever in one);
* same side again: among successive episodes that both enter a room, how often both enter the same room first;
* the steps until the treasure is first reached.

Axes: R runs, M moments, S cells, E episodes.
"""

from dataclasses import dataclass

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

from action_balance.envs.grid.maps import corridor_world
from action_balance.envs.grid.world import GridWorld
from action_balance.files import Data
from action_balance.plots.drawing import NAMES, STYLED
from action_balance.plots.heatmaps import heatmaps, mark_places
from action_balance.runs.results import ResultFolder
from action_balance.studies import statistics
from action_balance.studies.grid import film, first_reach, trace_file
from action_balance.studies.grid.coverage import write_curves
from action_balance.studies.grid.film import Walks, as_maps, film_moments, visits_until
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.settings import CORRIDOR_EPISODES, GridSettings
from action_balance.studies.statistics import Estimate
from action_balance.tabular.simulate import Progress, silent
from action_balance.web.format import count

#: Episodes after which the visits are shown.
MOMENTS = (1, 5, 10, CORRIDOR_EPISODES)

#: Number of first episodes over which one-sidedness is measured.
EARLY_EPISODES = 5

#: Name the random streams: walks that ignore the treasure, and runs that end with it.
WALK_STREAM, REACH_STREAM = 2, 3

LEFT, RIGHT = -1, 1


@dataclass
class Digging:
    """Where the runs of one method spent their time without a treasure."""

    visits: np.ndarray  # (M, S) float64, mean visits until each moment, of the runs that entered the left room first
    one_sidedness: np.ndarray  # (R,) float64, nan for a run that entered no room
    same_side_again: np.ndarray  # (R,) float64, share of pairs of successive episodes; nan where there are none
    left_first: int = 0  # number of runs that entered the left room first


@dataclass(frozen=True)
class Corridor:
    """The result."""

    world: GridWorld
    moments: tuple[int, ...]  # steps of the heat maps
    digging: dict[str, Digging]
    walks: dict[str, Walks]  # the same walks, at the moments of a film
    treasure: dict[str, FirstReachSteps]

    def one_sidedness(self, method: str) -> Estimate | None:
        """Mean over the runs that entered a room early."""
        return _mean_of_known(self.digging[method].one_sidedness)

    def same_side_again(self, method: str) -> Estimate | None:
        """Mean over the runs with such episodes; 0.5 for an agent without memory."""
        return _mean_of_known(self.digging[method].same_side_again)

    def ratio(self) -> Estimate | None:
        if not {"rnd", "action-balance-rnd"} <= self.treasure.keys():
            return None
        return statistics.ratio_of_means(self.treasure["rnd"].steps, self.treasure["action-balance-rnd"].steps)

    @property
    def numbers(self) -> Data:
        methods = {
            name: {
                "treasure": found.numbers,
                "one_sidedness": statistics.to_data(self.one_sidedness(name)),
                "same_side_again": statistics.to_data(self.same_side_again(name)),
                "left_first_runs": self.digging[name].left_first,
            }
            for name, found in self.treasure.items()
        }
        return {"methods": methods, "ratio": statistics.to_data(self.ratio()), "early_episodes": EARLY_EPISODES}


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
    """Walk without the treasure for the visits, then run to the treasure for the steps."""
    world = world or corridor_world(episode_steps=settings.episode_steps)
    moments = tuple(episodes * settings.episode_steps for episodes in MOMENTS)
    of_film = film_moments(moments[-1], world.cells * len(settings.methods))
    side_of_cell, walks, digging = sides(world), dict[str, Walks](), dict[str, Digging]()
    found = film.simulated(world, settings, WALK_STREAM, np.array(of_film), of_film, progress)
    for method, walks[method], chosen, trace in found:
        if method not in digging:
            digging[method] = Digging(np.zeros((len(moments), world.cells)), *np.empty((2, settings.runs)))
        one = digging[method]
        first_room, *measured = dig(trace, side_of_cell, settings.episode_steps)
        one.one_sidedness[chosen], one.same_side_again[chosen] = measured
        leftwards = left_first(first_room)
        one.visits += visits_until(trace[leftwards], moments, world.cells)
        one.left_first += int(leftwards.sum())
    for one in digging.values():
        one.visits /= max(one.left_first, 1)
    return Corridor(world, moments, digging, walks, first_reach.run(world, settings, REACH_STREAM, progress))


@style.context(STYLED)
def corridor_visits(result: Corridor) -> Figure:
    """Mean visits of the runs that entered the left room first, after more and more episodes (columns)."""
    methods = [name for name in result.digging if name in ("rnd", "action-balance-rnd")] or list(result.digging)
    episode = int(result.world.episode_steps)
    moments = [count(moment // episode, "episode") for moment in result.moments]
    digging = [(NAMES[name].replace(" ", "\n", 1), result.digging[name]) for name in methods]
    rows = {f"{name}\n{count(one.left_first, 'run')}": list(one.visits) for name, one in digging}
    side = sides(result.world)
    figure = heatmaps("Visits of the runs that entered the left room first", result.world, rows, moments, side != 0)
    for axes, visits in zip(figure.axes, (visits for row in rows.values() for visits in row), strict=False):
        left, right = (float(visits[side == room].sum()) for room in (LEFT, RIGHT))
        if left + right:
            share = 100 * left / (left + right)
            axes.set_xlabel(f"left {share:.0f} %, right {100 - share:.0f} %", fontsize=8)
        mark_places(axes, result.world)
    return figure


def _write_maps(folder: ResultFolder, result: Corridor) -> None:
    """Write the heat maps of the runs that entered the left room first, and the film and curves of all runs."""
    maps = {f"corridor_{name}": method.visits for name, method in result.digging.items()}
    for name, walks in result.walks.items():
        maps |= {f"corridor_visits_{name}": walks.visits, f"corridor_covered_{name}": walks.covered}
    reachable = result.world.reachable_cells()
    rates = {name: statistics.mean_band(walks.cells / reachable) for name, walks in result.walks.items()}
    recorded = next(iter(result.walks.values())).recorded
    moments = {"corridor_moments": np.array(result.moments), "corridor_film_moments": recorded}
    folder.add_arrays("heatmaps.npz", {**moments, **as_maps(result.world, maps)})
    write_curves(folder, "corridor_coverage.csv", recorded, rates)


def reproduce(settings: GridSettings, folder: ResultFolder, progress: Progress) -> tuple[Data, int]:
    result = run(settings, progress)
    first_reach.write(folder, "corridor.csv", result.treasure)
    _write_maps(folder, result)
    treasure_steps = first_reach.first_reach_steps(result.treasure, "Share of runs that have found the treasure")
    first_reach.save_figures(folder, corridor_visits=corridor_visits(result), treasure_steps=treasure_steps)
    trace_file.write(folder, "corridor", result.world, result.walks)
    walked = result.moments[-1] * settings.runs * len(settings.methods)
    return result.numbers, walked + sum(int(found.steps.sum()) for found in result.treasure.values())
