"""What the page of a tabular result shows by script: the players, the coverage curves and first-reach distributions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from action_balance.envs.grid.world import ACTIONS
from action_balance.files import Data, own_file
from action_balance.packing import packed
from action_balance.plots.drawing import NAMES
from action_balance.plots.heatmaps import DIFFERENCE_STOPS, HEAT_STOPS, SHARE_STOPS
from action_balance.studies.grid.trace_file import HEATMAPS, Recording, read, read_arrays
from action_balance.studies.statistics import has_interval
from action_balance.tabular.settings import TabularSettings, coefficients
from action_balance.web.files import read_table

#: The most points of a curve, and the most steps of a distribution.
CURVE_POINTS, QUANTILES = 240, 200

#: The method that others are compared with on the maps.
REFERENCE = "random"


@dataclass(frozen=True)
class World:
    """How a world of a recording is shown, and where the data of all its runs are."""

    title: str  # of its tab
    goal: str  # what its goals are called
    curves: str  # table of the coverage
    moments: str = "moments"  # array of the moments in `HEATMAPS`
    visits: str = ""  # what the names of the arrays of visits begin with
    covered: str = "covered_"  # the same of the arrays of covered cells


WORLDS = {
    "open": World("Open grid", "a goal of the goal study", "coverage.csv"),
    "corridor": World(
        "Corridor",
        "the treasure",
        "corridor_coverage.csv",
        "corridor_film_moments",
        "corridor_visits_",
        "corridor_covered_",
    ),
    "map": World("Your map", "a goal", "coverage.csv"),
}

#: The tables of first-reach steps, and the titles of their charts.
REACHED = {
    "goals": "Share of runs that have reached the goal",
    "corridor": "Share of runs that have found the treasure",
    "reach": "Share of runs that have reached a goal",
}


def result_data(path: Path, summary: Data) -> Data:
    """Everything that the page of a result shows by script."""
    recordings = read(path)
    players = [_player(path, summary, name, recordings[name]) for name in WORLDS if name in recordings]
    colours = {"heat": HEAT_STOPS, "difference": DIFFERENCE_STOPS, "share": SHARE_STOPS}
    return {**colours, "players": players, "reach": _reach(path)}


def _player(path: Path, summary: Data, name: str, recording: Recording) -> Data:
    settings, traces = summary["settings"], recording.traces
    rows = recording.map.splitlines()
    steps = len(next(iter(traces.values())).pairs)
    start, goals = cells_of(rows, "S")[0], cells_of(rows, "G")
    agent = TabularSettings(settings["update_every"], settings["action_coef"], settings["state_coef"])
    world, runs = WORLDS[name], settings["runs"]
    mean = _mean(path, world, steps, runs) if runs > 1 else None
    moments = next(iter(mean["moments"].values())) if mean else ()
    return {
        "id": name,
        "title": world.title,
        "width": len(rows[0]),
        "height": len(rows),
        "walls": cells_of(rows, "#"),
        "start": start,
        "goals": goals,
        "goalWord": world.goal,
        "chosen": goals[0] if goals else start,
        "episodeSteps": settings["episode_steps"],
        "updateEvery": min(settings["update_every"], steps),
        "steps": steps,
        "begin": (mean["clearest"] if mean else steps) / steps,
        "keyStep": max(1, steps // 200),
        "reachable": recording.reachable,
        "actions": list(ACTIONS),
        "run": f"run 0 of seed {settings['seed']}",
        "meanWord": "mean visits per run",
        "mean": mean,
        "curves": _coverage_curves(path, world, steps, moments, runs),
        "panels": [
            {
                "key": method,
                "method": method,
                "name": NAMES[method],
                "actionCoef": coefficients(method, agent)[0],
                "pairs": packed(trace.pairs),
                "advantage": packed(trace.advantage),
            }
            for method, trace in traces.items()
        ],
    }


def cells_of(rows: Sequence[str], symbol: str) -> list[int]:
    """Indices of the cells that a map draws with a symbol; its first row is the top, and y grows upwards."""
    width = len(rows[0])
    return [y * width + x for y, row in enumerate(reversed(rows)) for x, drawn in enumerate(row) if drawn == symbol]


def _mean(path: Path, world: World, steps: int, runs: int) -> Data | None:
    """Visits and covered cells of all runs, as sums over runs at the moments of `HEATMAPS`; None without them.

    What has changed since the moment before is a small integer, which packs well.
    """
    arrays = read_arrays(own_file(path, HEATMAPS))
    names = [name for name in NAMES if f"{world.visits}{name}" in arrays]
    if world.moments not in arrays or not names:
        return None
    moments = [int(moment) for moment in arrays[world.moments] if moment <= steps]

    def changes(name: str) -> Data:
        total = np.rint(arrays[name][: len(moments)] * runs).astype(np.int64).reshape(len(moments), -1)
        return packed(np.diff(total, axis=0, prepend=0))

    comparable = REFERENCE in names and len(names) > 1 and all(f"{world.covered}{name}" in arrays for name in names)
    return {
        "counts": {name: changes(f"{world.visits}{name}") for name in names},
        "covered": {name: changes(f"{world.covered}{name}") for name in names} if comparable else None,
        "reference": REFERENCE,
        "clearest": _clearest(moments, [arrays[f"{world.covered}{name}"] for name in names] if comparable else []),
        "moments": dict.fromkeys(names, moments),
        "over": dict.fromkeys(names, runs),
        "actions": 1,
    }


def _clearest(moments: Sequence[int], covered: Sequence[np.ndarray]) -> int:
    """The moment at which maps are first shown: the last or, if all methods agree by then, that of most differences."""
    if not covered:
        return moments[-1]
    apart = np.ptp([shares[: len(moments)].reshape(len(moments), -1).sum(axis=1) for shares in covered], axis=0)
    return moments[-1] if apart[-1] >= 0.1 * apart.max() else moments[int(apart.argmax())]


def _coverage_curves(path: Path, world: World, steps: int, moments: Sequence[int], runs: int) -> Data | None:
    """The curves of a table of the coverage, thinned out, but with all moments of the maps; a band from enough runs."""
    rows = read_table(own_file(path, world.curves), ("method",), ("step", "mean", "low", "high"))
    if not rows:
        return None
    known = sorted({int(row["step"]) for row in rows if int(row["step"]) <= steps})
    thinned = {known[i] for i in np.unique(np.linspace(0, len(known) - 1, CURVE_POINTS).round().astype(int))}
    chosen = thinned | set(moments).intersection(known)
    methods: dict[str, dict[str, list[float | None]]] = {}
    for row in rows:
        if int(row["step"]) in chosen:
            curve = methods.setdefault(row["method"], {"mean": [], "low": [], "high": []})
            for part, values in curve.items():
                is_known = row[part] and (part == "mean" or has_interval(runs))
                values.append(round(float(row[part]), 8) if is_known else None)
    return {"steps": sorted(chosen), "methods": methods}


def _reach(path: Path) -> list[Data]:
    """First-reach distributions: of each goal, of the corridor's treasure, or of a user's map."""
    found = []
    for name, title in REACHED.items():
        where = ("goal_x", "goal_y") if name == "goals" else ()
        groups: dict[str, dict[str, list[str]]] = {}
        for row in read_table(own_file(path, f"{name}.csv"), ("method",), (*where, "steps")):
            label = f"({int(row['goal_x'])}, {int(row['goal_y'])})" if where else ""
            groups.setdefault(label, {}).setdefault(row["method"], []).append(row["steps"])
        if groups:
            drawn = [{"label": label, "methods": _distributions(methods)} for label, methods in groups.items()]
            found.append({"id": name, "title": title, "groups": drawn})
    return found


def _distributions(methods: Mapping[str, Sequence[str]]) -> list[Data]:
    """Sorted steps with the share of runs that had reached the goal by then; an empty field is a run that did not."""
    made = []
    for name, texts in methods.items():
        reached = np.sort(np.array([int(text) for text in texts if text], np.int64))
        places = np.unique(np.linspace(0, len(reached) - 1, min(len(reached), QUANTILES)).round().astype(int))
        median = float(np.median([float(text) if text else np.inf for text in texts]))
        made.append(
            {
                "method": name,
                "name": NAMES.get(name, name),
                "steps": [int(reached[place]) for place in places],
                "shares": [round((int(place) + 1) / len(texts), 4) for place in places],
                "median": round(median) if np.isfinite(median) else None,  # as the tables round it
            }
        )
    return made
