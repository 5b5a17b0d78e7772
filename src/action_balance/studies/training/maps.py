"""Where agents acted, as the page shows it: maps of each environment over time, and what is new in them.

Axes: S states, A actions, K kept moments.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from action_balance.envs.scene import Scene
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.packing import MAX_NUMBERS, packed, unpacked
from action_balance.plots.drawing import method_name
from action_balance.runs import Place, read_metrics, read_new
from action_balance.runs.rows import VISITS
from action_balance.studies.training import data as view_data
from action_balance.studies.training.data import Watched


def news(path: Path, place: str, visits: str, trust: bool = False) -> Data:
    """What is new in a run since a place in its metrics and a place in its visits."""
    run = Watched.open(path, live=True, trust=trust)
    found = view_data.news(run, place)
    if run.config is not None:
        found["visits"] = _fresh(run, Place.parse(visits))
    return found


def _fresh(run: Watched, before: Place) -> Data | None:
    """Visits until each new moment; None without any, or without a map."""
    kept, after = read_new(run.path / VISITS, before)
    scene = run.scene() if kept else None
    if scene is None:
        return None
    return {
        "place": str(after),
        "restarted": after.restarted(before),
        "moments": [int(row["steps"]) for row in kept],
        "counts": packed(_tables(run, scene, kept)),
    }


def players(runs: Sequence[Watched]) -> list[Data]:
    """A player for each environment whose visits were recorded, with a panel for each run that has begun."""
    by_world: dict[str, list[tuple[int, Watched, Scene]]] = {}
    begun = [(number, run) for number, run in enumerate(runs) if run.config is not None]
    names = view_data.named([run.config for _, run in begun if run.config is not None])
    for (number, run), (environment, _) in zip(begun, names, strict=True):
        scene = run.scene() if read_metrics(run.path, VISITS) else None
        if scene is not None:
            by_world.setdefault(environment, []).append((number, run, scene))
    return [_player(f"world{number}", *item) for number, item in enumerate(by_world.items())]


def _player(name: str, environment: str, shown: Sequence[tuple[int, Watched, Scene]]) -> Data:
    scene = shown[0][2]
    world = scene.world
    counts, moments, over = {}, {}, {}
    panels: list[Data] = []
    methods = [run.config.agent.label for _, run, _ in shown if run.config is not None]
    for (number, run, one), method in zip(shown, methods, strict=True):
        assert run.config is not None
        key = f"p{len(panels)}"
        _, place = read_new(run.path / VISITS, Place())  # first: the page ignores what it already has
        kept = read_metrics(run.path, VISITS)
        tables = _tables(run, one, kept)
        counts[key] = packed(np.diff(tables, axis=0, prepend=0))
        moments[key] = [int(row["steps"]) for row in kept]
        over[key] = run.config.seeds
        title = run.name if methods.count(method) > 1 else method_name(method)
        panels.append({"key": key, "method": method, "name": title, "number": number, "place": str(place)})
    steps = max(last for *_, last in moments.values())
    start = int(world.start)
    return {
        "id": name,
        "title": environment,
        "width": world.width,
        "height": world.height,
        "walls": np.flatnonzero(world.walls).tolist(),
        "start": start,
        "goals": np.flatnonzero(world.goals).tolist(),
        "goalWord": "a goal",
        "chosen": start,
        "episodeSteps": 0,
        "steps": steps,
        "begin": 1,
        "keyStep": max(1, steps // 60),
        "reachable": world.reachable_cells(),
        "actions": list(scene.actions),
        "meanWord": "visits, mean over seeds",
        "panels": panels,
        "mean": {"counts": counts, "moments": moments, "over": over, "actions": len(scene.actions), "only": True},
    }


def _tables(run: Watched, scene: Scene, kept: Sequence[Data]) -> np.ndarray:
    """Visits by drawn cell and action until each moment, (K, cells, A); they never decrease."""
    try:
        if len(kept) * scene.order.size > MAX_NUMBERS:
            raise ValueError("too many moments")
        tables = np.stack([_as_drawn(scene, unpacked(row, scene.order.size)) for row in kept])
    except (KeyError, TypeError, ValueError):
        tables = np.full((1, 1, 1), -1)
    if (np.diff(tables, axis=0, prepend=0) < 0).any():
        raise UserError(f"{run.path / VISITS} is damaged: delete it to view the rest of the run")
    return tables


def _as_drawn(scene: Scene, counts: np.ndarray) -> np.ndarray:
    """Counts of state-action pairs, (S * A,), by drawn cell and action, (cells, A)."""
    by_state = counts.reshape(scene.order.shape).astype(np.int64)
    in_order = np.take_along_axis(by_state, scene.order, axis=1)
    drawn = np.zeros((scene.world.cells, in_order.shape[1]), np.int64)
    drawn[scene.cell] = in_order
    return drawn
