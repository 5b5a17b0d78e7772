"""What the page of a tabular result shows by script: the players, the coverage curves and first-reach distributions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from action_balance.envs.grid.world import ACTIONS
from action_balance.files import Data, own_file
from action_balance.packing import packed
from action_balance.plots.drawing import NAMES
from action_balance.plots.heatmaps import HEAT_STOPS
from action_balance.studies.grid.trace_file import HEATMAPS, Recording, read, read_arrays
from action_balance.tabular.settings import TabularSettings, coefficients
from action_balance.web.files import read_table

#: The most points of a curve, and the most steps of a distribution.
CURVE_POINTS, QUANTILES = 240, 200

#: For each world of a recording: the title of its tab, and what its goals are called.
WORLDS = {
    "open": ("Open grid", "a goal of the second study"),
    "corridor": ("Corridor", "the treasure"),
    "map": ("Your map", "a goal"),
}

#: The tables of first-reach steps, and the titles of their charts.
REACHED = {
    "goals": "Share of runs that have reached the goal",
    "corridor": "Share of runs that have found the treasure",
    "reach": "Share of runs that have reached a goal",
}


def result_data(path: Path, summary: Data) -> Data:
    """Everything that the page of a result shows by script.

    Args:
        path: the folder of a result of ``reproduce grid`` or ``explore``.
        summary: its ``summary.json``.

    Returns:
        Plain data for the scripts.
    """
    recordings = read(path)
    players = [_player(path, summary, name, recordings[name]) for name in WORLDS if name in recordings]
    return {"heat": HEAT_STOPS, "players": players, "reach": _reach(path)}


def _player(path: Path, summary: Data, name: str, recording: Recording) -> Data:
    settings, traces = summary["settings"], recording.traces
    rows = recording.map.splitlines()
    steps = len(next(iter(traces.values())).pairs)
    start = cells_of(rows, "S")[0]
    agent = TabularSettings(settings["update_every"], settings["action_coef"], settings["state_coef"])
    title, goal = WORLDS[name]
    all_runs = name != "corridor"
    return {
        "id": name,
        "title": title,
        "width": len(rows[0]),
        "height": len(rows),
        "walls": cells_of(rows, "#"),
        "start": start,
        "goals": cells_of(rows, "G"),
        "goalWord": goal,
        "chosen": start,
        "episodeSteps": settings["episode_steps"],
        "updateEvery": min(settings["update_every"], steps),
        "steps": steps,
        "begin": 0.1,
        "keyStep": max(1, steps // 200),
        "reachable": recording.reachable,
        "actions": list(ACTIONS),
        "run": f"run 0 of seed {settings['seed']}",
        "meanWord": "mean visits per run",
        "mean": _mean(path, steps, settings["runs"]) if all_runs else None,
        "curves": _coverage_curves(path, steps) if all_runs else None,
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


def _mean(path: Path, steps: int, runs: int) -> Data | None:
    """Mean visits over all runs at the moments of ``heatmaps.npz``, as sums over runs; None if there is one run."""
    arrays = read_arrays(own_file(path, HEATMAPS))
    names = [name for name in NAMES if name in arrays]
    if "moments" not in arrays or runs < 2 or not names:
        return None
    moments = arrays["moments"][arrays["moments"] <= steps]
    counts, taken = {}, [int(moment) for moment in moments]
    for name in names:
        total = np.rint(arrays[name][: len(moments)] * runs).astype(np.int64).reshape(len(moments), -1)
        counts[name] = packed(np.diff(total, axis=0, prepend=0))
    return {
        "counts": counts,
        "moments": dict.fromkeys(names, taken),
        "over": dict.fromkeys(names, runs),
        "actions": 1,
    }


def _coverage_curves(path: Path, steps: int) -> Data | None:
    """The curves of ``coverage.csv``, thinned out."""
    rows = read_table(own_file(path, "coverage.csv"), ("method",), ("step", "mean", "low", "high"))
    if not rows:
        return None
    known = sorted({int(row["step"]) for row in rows if int(row["step"]) <= steps})
    chosen = {known[i] for i in np.unique(np.linspace(0, len(known) - 1, CURVE_POINTS).round().astype(int))}
    methods: dict[str, dict[str, list[float | None]]] = {}
    for row in rows:
        if int(row["step"]) in chosen:
            curve = methods.setdefault(row["method"], {"mean": [], "low": [], "high": []})
            for part, values in curve.items():
                values.append(round(float(row[part]), 8) if row[part] else None)
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
                "median": median if np.isfinite(median) else None,
            }
        )
    return made
