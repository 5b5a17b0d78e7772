"""The files of each study: CSV tables, heat maps and figures."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from action_balance.envs.grid.world import GridWorld
from action_balance.plots import drawing
from action_balance.runs.results import ResultFolder
from action_balance.studies.grid import figures
from action_balance.studies.grid.corridor import Corridor
from action_balance.studies.grid.coverage import Coverage
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.goals import Goals


def coverage(folder: ResultFolder, result: Coverage) -> None:
    """``coverage.csv``, ``coverage_final.csv``, heat maps and figures of a coverage study."""
    rates = {method: result.rate(method) for method in result.methods}
    folder.write_csv(
        "coverage.csv",
        ("method", "step", "mean", "low", "high"),
        (
            (method, step, *(round(float(part[i]), 6) for part in rate))
            for method, rate in rates.items()
            for i, step in enumerate(result.steps)
        ),
    )
    folder.write_csv(
        "coverage_final.csv",
        ("method", "run", "cells"),
        ((method, run, cells) for method in rates for run, cells in enumerate(result.final_cells(method))),
    )
    maps = {name: method.visits for name, method in result.methods.items()}
    folder.add_arrays("heatmaps.npz", {"moments": np.array(result.moments), **_as_maps(result.world, maps)})
    _draw(
        folder,
        coverage_rate=figures.coverage_rate(result),
        relative_increase=figures.relative_increase(result),
        heatmaps=figures.heatmaps(result),
        final_cells=figures.final_cells(result),
    )


def goals(folder: ResultFolder, result: Goals, as_in_paper: bool) -> None:
    """``goals.csv`` and the box plots."""
    folder.write_csv(
        "goals.csv",
        ("method", "goal_x", "goal_y", "run", "steps"),
        (
            (method, *goal, run, steps)
            for method, by_goal in result.methods.items()
            for goal, found in by_goal.items()
            for run, steps in _steps(found)
        ),
    )
    _draw(folder, goal_boxes=figures.goal_boxes(result, as_in_paper))


def corridor(folder: ResultFolder, result: Corridor) -> None:
    """``corridor.csv``, the visits and the figures."""
    first_reach(folder, "corridor.csv", result.treasure)
    maps = {f"corridor_{name}": method.visits for name, method in result.digging.items()}
    arrays = {"corridor_moments": np.array(result.moments), **_as_maps(result.world, maps)}
    folder.add_arrays("heatmaps.npz", arrays)
    _draw(folder, corridor_visits=figures.corridor_visits(result), treasure_steps=figures.treasure_steps(result))


def first_reach(folder: ResultFolder, name: str, result: Mapping[str, FirstReachSteps]) -> None:
    """A table of the steps of each run; empty where the goal was never reached."""
    folder.write_csv(
        name,
        ("method", "run", "steps"),
        ((method, run, steps) for method, found in result.items() for run, steps in _steps(found)),
    )


def _steps(found: FirstReachSteps) -> list[tuple[int, float]]:
    """Number and steps of each run; nan, an empty field, for one that was given up."""
    known = zip(found.steps.tolist(), found.reached, strict=True)
    return [(run, steps if reached else np.nan) for run, (steps, reached) in enumerate(known)]


def _as_maps(world: GridWorld, visits: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Visits (M, S) as maps (M, height, width); the first row is y = 0."""
    return {name: array.reshape(-1, world.height, world.width) for name, array in visits.items()}


def _draw(folder: ResultFolder, **drawn: Figure | None) -> None:
    for name, figure in drawn.items():
        if figure is not None:
            drawing.save(figure, folder.write, f"figures/{name}")
