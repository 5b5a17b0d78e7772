"""The data and the places of the players and curves on a page: what ``report/assets`` shows."""

import csv
import html
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from action_balance.envs.grid.world import ACTIONS
from action_balance.errors import UserError
from action_balance.files import Data, found_inside, own_file
from action_balance.packing import packed
from action_balance.plots.drawing import NAMES
from action_balance.plots.heatmaps import HEAT_STOPS
from action_balance.studies.grid.trace_file import HEATMAPS, Recording, read, read_arrays
from action_balance.tabular.settings import TabularSettings, coefficients

#: A curve has at most so many points, and a distribution so many steps.
CURVE_POINTS, QUANTILES = 240, 200

#: Of each world of a recording: the title of its tab, and what its goals are called.
WORLDS = {
    "open": ("Open grid", "a goal of the second study"),
    "corridor": ("Corridor", "the treasure"),
    "map": ("Your map", "a goal"),
}

KEYS = (
    "Space plays and pauses, the arrow keys step (with Shift further), Home and End go to the ends; on a map the arrow "
    "keys choose a cell."
)
DRAG = " Drag in the curves to move through time."


def result_data(path: Path, summary: Data) -> Data:
    """Everything that the page of a result shows by script.

    Args:
        path: of a result of ``reproduce grid`` or ``explore``.
        summary: its ``summary.json``.
    """
    recordings = read(path)
    players = [_player(path, summary, name, recordings[name]) for name in WORLDS if name in recordings]
    return {"heat": HEAT_STOPS, "players": players, "reach": _reach(path)}


def _player(path: Path, summary: Data, name: str, recording: Recording) -> Data:
    settings, traces = summary["settings"], recording.traces
    rows = recording.map.splitlines()
    height, width = len(rows), len(rows[0])
    steps = len(next(iter(traces.values())).pairs)
    start = cells_of(rows, "S")[0]
    agent = TabularSettings(settings["update_every"], settings["action_coef"], settings["state_coef"])
    title, goal = WORLDS[name]
    data: Data = {
        "id": name,
        "title": title,
        "width": width,
        "height": height,
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
        "meanWord": "mean visits of a run",
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
    data["caption"] = f"The run that is played, {data['run']}. The legend tells the values at the cursor."
    if name != "corridor":
        data["mean"] = _mean(path, steps, settings["runs"])
        data["curves"] = coverage_curves(path, steps)
    if data.get("curves"):
        data["caption"] = (
            f"Thick: mean of all runs with its 95 % interval. Thin: the run that is played, {data['run']}. "
            "The legend tells the means at the cursor."
        )
    return data


def cells_of(rows: Sequence[str], symbol: str) -> list[int]:
    """Indices of the cells that a map draws with a symbol; its first row is the top, y grows upwards."""
    width = len(rows[0])
    return [y * width + x for y, row in enumerate(reversed(rows)) for x, drawn in enumerate(row) if drawn == symbol]


def _mean(path: Path, steps: int, runs: int) -> Data | None:
    """Mean visits of all runs at the moments of ``heatmaps.npz``, as sums over runs."""
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


def coverage_curves(path: Path, steps: int) -> Data | None:
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
    return {
        "steps": sorted(chosen),
        "methods": methods,
    }


def _reach(path: Path) -> list[Data]:
    """First-reach distributions, of the goals and of the corridor or a user's map."""
    found = []
    goals: dict[str, dict[str, list[str]]] = {}
    for row in read_table(own_file(path, "goals.csv"), ("method",), ("goal_x", "goal_y", "steps")):
        label = f"({int(row['goal_x'])}, {int(row['goal_y'])})"
        goals.setdefault(label, {}).setdefault(row["method"], []).append(row["steps"])
    if goals:
        groups = [{"label": label, "methods": _distributions(methods)} for label, methods in goals.items()]
        found.append({"id": "goals", "title": "Share of runs that have reached the goal", "groups": groups})
    for name, title in (
        ("corridor", "Share of runs that have found the treasure"),
        ("reach", "Share of runs that have reached a goal"),
    ):
        methods: dict[str, list[str]] = {}
        for row in read_table(own_file(path, f"{name}.csv"), ("method",), ("steps",)):
            methods.setdefault(row["method"], []).append(row["steps"])
        if methods:
            groups = [{"label": "", "methods": _distributions(methods)}]
            found.append({"id": name, "title": title, "groups": groups})
    return found


def _distributions(methods: Mapping[str, Sequence[str]]) -> list[Data]:
    """Sorted steps with the share of runs that had reached the goal by then; an empty field is a run given up."""
    made = []
    for name, texts in methods.items():
        reached = np.sort(np.array([int(text) for text in texts if text], np.int64))
        places = np.unique(np.linspace(0, len(reached) - 1, min(len(reached), QUANTILES)).round().astype(int))
        middle = np.sort(np.array([float(text) if text else np.inf for text in texts]))
        median = float((middle[(len(middle) - 1) // 2] + middle[len(middle) // 2]) / 2)
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


def figures_of(path: Path) -> dict[str, str]:
    """The figures of a result by name; none that a link leads out of its folder to."""
    try:
        drawn = {one.stem: found_inside(path, one) for one in sorted((path / "figures").glob("*.svg"))}
        return {name: file.read_text(encoding="utf-8") for name, file in drawn.items() if file is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the figures of {path}: {error}; make the result anew with --overwrite") from None


def read_table(path: Path, words: Sequence[str], numbers: Sequence[str] = ()) -> list[dict[str, str]]:
    """The rows of a CSV file, with these columns and maybe others; none where there is no such file.

    Args:
        path: of the file.
        words: columns of text.
        numbers: columns whose fields are empty or finite numbers.
    """
    if not path.exists():
        return []
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        fine = all(row[name] is not None for row in rows for name in words)
        fine = fine and all(math.isfinite(float(row[name] or 0)) for row in rows for name in numbers)
    except (OSError, KeyError, TypeError, ValueError, csv.Error):  # also what is not text
        fine = False
    if not fine:
        raise UserError(f"{path} is damaged: make the result anew with --overwrite")
    return rows


def watch_section(players: Sequence[Data], lead: str) -> str:
    """The places of the players: one is shown at a time."""
    if not players:
        return ""
    tabs = ""
    if len(players) > 1:
        options = "".join(
            f'<label><input type="radio" name="world" value="{number}"{" checked" if number == 0 else ""}>'
            f"<span>{html.escape(player['title'])}</span></label>"
            for number, player in enumerate(players)
        )
        tabs = f'<fieldset class="switch" id="worlds"><legend class="hidden">World</legend>{options}</fieldset>'
    places = "".join(
        f'<div class="player" id="player-{html.escape(player["id"])}"{" hidden" if number else ""}></div>'
        for number, player in enumerate(players)
    )
    return f"""<section id="watch" class="wide">
<div class="top"><h2>Watch</h2>{tabs}</div>
<p>{lead}</p>
{places}
<p class="hint">{KEYS}{DRAG if "pairs" in players[0]["panels"][0] else ""}</p>
</section>
"""


def reach_place(reach: Sequence[Data], name: str) -> str:
    """The place of a first-reach distribution; nothing if there is none."""
    return "".join(f'<div class="reach" id="reach-{i}"></div>\n' for i, one in enumerate(reach) if one["id"] == name)
