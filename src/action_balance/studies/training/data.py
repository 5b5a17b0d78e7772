"""Training runs as the page shows them: curves over seeds, and the progress of each run.

Axes: U updates, S seeds, B buckets of updates.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path

import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.envs.scene import Scene
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.packing import packed
from action_balance.plots.drawing import method_name
from action_balance.printable import printable
from action_balance.reading import is_file
from action_balance.runs import Place, RunFolder, read_new, read_numbers
from action_balance.runs.metrics import KEYS
from action_balance.runs.rows import METRICS, TIMING, first_row
from action_balance.studies.charts import CHARTS
from action_balance.studies.labels import name_runs

#: The most points of a curve, approximately: each point is the mean over a bucket of updates.
POINTS = 500
#: The most values of all curves of a page, at 4 bytes each before they are packed; then curves have fewer points.
MAX_VALUES = 1_000_000
MIN_POINTS = 20

#: Most metrics of one's own that are shown.
MAX_METRICS = 500

#: Number of last updates over which the speed is measured.
RECENT = 20

#: A run that has been silent for longer than this and than so many updates may have been killed.
SILENT_SECONDS, SILENT_UPDATES = 60.0, 20


@dataclass(frozen=True)
class Watched:
    """A run that is shown; it has no config as long as it has not begun."""

    path: Path
    folder: RunFolder | None
    config: TrainConfig | None

    @classmethod
    def open(cls, path: Path, live: bool = False, trust: bool = False) -> "Watched":
        """Open a run that exists or, to follow it live, one that may begin later."""
        if live and not RunFolder.holds_run(path):
            if is_file(path):
                raise UserError(f"{path} is a file: give the folder of a run")
            return cls(path, None, None)
        folder = RunFolder.open(path)
        try:
            read = partial(TrainConfig.from_dict, trust=True) if trust else TrainConfig.for_display
            return cls(path, folder, read(folder.config))
        except UserError as error:
            raise UserError(f"{path}: {error}") from None

    @property
    def name(self) -> str:
        return printable(self.path.resolve().name)

    def scene(self) -> Scene | None:
        """The map of the environment, where it has one and the run has begun."""
        return self.config.scene() if self.config is not None else None


def bucket_of(config: TrainConfig, points: int = POINTS) -> int:
    """Updates of a bucket, which one of so many points of a curve averages."""
    return -(-config.agent.updates // points)


def _own_numbers(runs: Sequence[Watched]) -> list[str]:
    """Names of the numbers that runs have written in their first rows."""
    rows = [first_row(run.path / METRICS) for run in runs]
    return [name for row in rows for name, value in row.items() if isinstance(value, (int, float))][:MAX_METRICS]


def metric_names(runs: Sequence[Watched]) -> tuple[str, ...]:
    """What is read from the metrics of runs: `KEYS`, the metrics of `CHARTS`, and every other number by its name."""
    return tuple(dict.fromkeys((*KEYS, *CHARTS, *_own_numbers(runs))))


def points_for(groups: Sequence["Group"]) -> int:
    """Points of a curve such that all values of all curves fit into a page."""
    numbers = sum(group.seeds * len(set(_own_numbers(group.runs)) - set(KEYS)) for group in groups)
    return max(MIN_POINTS, min(POINTS, MAX_VALUES // max(1, numbers)))


def columns(table: np.ndarray, names: Sequence[str], bucket: int) -> Data:
    updates = len(table)
    if not updates:
        return {"steps": [], "metrics": [], "values": packed(np.empty(0))}
    begins = range(0, updates, bucket)
    by_seed = np.stack([_mean(table[begin : begin + bucket]) for begin in begins])  # (B, S, names)
    known = np.isfinite(by_seed)
    shown = [
        number
        for number, name in enumerate(names)
        # no values, or states that cannot be counted
        if name not in KEYS and known[..., number].any() and (name != "states" or table[..., number].any())
    ]
    ends = [min(begin + bucket, updates) for begin in begins]
    return {
        "steps": [int(table[end - 1, -1, KEYS.index("steps")]) for end in ends],
        "metrics": [names[number] for number in shown],
        "values": packed(np.moveaxis(by_seed[..., shown], -1, 0)),
    }


def _float(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else math.nan


def _mean(table: np.ndarray) -> np.ndarray:
    """Mean of the finite values over the first axis; nan where there is none."""
    known = np.isfinite(table)
    count = known.sum(axis=0)
    total = np.where(known, table, 0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), math.nan)


def _plain(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


@dataclass(frozen=True)
class Group:
    """Runs that share a curve and a row of the scores."""

    environment: str
    label: str
    method: str
    members: tuple[int, ...]  # their places among all runs that have begun
    runs: tuple[Watched, ...]

    @property
    def configs(self) -> list[TrainConfig]:
        """The settings of the runs, which differ in their seeds only."""
        return [run.config for run in self.runs if run.config is not None]

    @property
    def seeds(self) -> int:
        return len(self.numbers)

    @property
    def numbers(self) -> list[int]:
        """The seed of each of them; one that several runs share occurs several times."""
        return [config.seed + i for config in self.configs for i in range(config.seeds)]


def grouped(runs: Sequence[Watched], pooled: bool) -> list[Group]:
    configs = [run.config for run in runs if run.config is not None]
    by_name: dict[tuple[str, str, str], list[int]] = {}
    for number, (environment, label) in enumerate(named(configs)):
        by_name.setdefault((environment, label, "" if pooled else str(number)), []).append(number)
    found = []
    for (environment, label, _), members in by_name.items():
        method = configs[members[0]].agent.label
        text = method_name(method) + label[len(method) :].replace("_", " ")
        alone = sum(one[:2] == (environment, label) for one in by_name) == 1
        # A run without any update would leave none that all runs have.
        begun = [number for number in members if len(members) > 1 and first_row(runs[number].path / METRICS)]
        shown = begun or members
        found.append(
            Group(
                environment,
                text if alone else f"{text} ({runs[shown[0]].name})",
                method,
                tuple(shown),
                tuple(runs[number] for number in shown),
            )
        )
    return found


def curve(group: Group, key: str, names: Sequence[str], table: np.ndarray, place: Place, bucket: int) -> Data:
    return {
        "key": key,
        "environment": group.environment,
        "label": group.label,
        "method": group.method,
        "seeds": table.shape[1],
        "numbers": group.numbers,
        "runs": list(group.members),
        "bucket": bucket,
        "place": str(place),
        **columns(table, names, bucket),
    }


def named(configs: Sequence[TrainConfig]) -> list[tuple[str, str]]:
    """Labels of the environment and the curve of each run, with the title of the environment."""
    return [(names.titled(config.env), names.curve) for config, names in zip(configs, name_runs(configs), strict=True)]


def read_table(runs: Sequence[Watched], names: Sequence[str]) -> tuple[np.ndarray, Place]:
    """Metrics of all seeds of runs, (U, S, names), for the updates that all of them have, and the place after them."""
    tables = []
    place = Place()
    for run in runs:
        assert run.config is not None
        alone = len(runs) == 1 and status_of(run) == "running"
        together = run.config.seeds * (bucket_of(run.config) if alone else 1)
        rows, place = read_numbers(run.path / METRICS, Place(), names, together)
        tables.append(whole(rows, run.config.seeds))
    updates = [table[:, 0, KEYS.index("update")] for table in tables]
    common = reduce(np.intersect1d, updates)
    shared = [table[np.isin(one, common)] for table, one in zip(tables, updates, strict=True)]
    return np.concatenate(shared, axis=1), place if len(runs) == 1 else Place()


def whole(rows: np.ndarray, seeds: int) -> np.ndarray:
    """The updates that all seeds have, (R, names) -> (U, S, names); a damaged row does not shift others."""
    update, seed = (rows[:, KEYS.index(name)] for name in ("update", "seed"))
    rows = rows[np.lexsort((seed, update))]
    _, counts = np.unique(update, return_counts=True)
    begins = np.cumsum(counts) - counts
    return rows[begins[counts == seeds, None] + np.arange(seeds)]


def status_of(run: Watched) -> str:
    """Status of a run in its manifest, or ``waiting`` before it has begun."""
    return "waiting" if run.folder is None else str(run.folder.manifest.get("status", "running"))


def news(run: Watched, place: str) -> Data:
    """What is new in a run since a place in its metrics: columns, and its progress."""
    if run.config is None:
        return {"progress": progress(run)}
    before = Place.parse(place)
    now = progress(run)  # first: rows written after it come next time
    bucket = bucket_of(run.config) if now["status"] == "running" else 1
    names = metric_names([run])
    rows, after = read_numbers(run.path / METRICS, before, names, run.config.seeds * bucket)
    restarted = after.restarted(before)
    fresh = columns(whole(rows, run.config.seeds), names, bucket_of(run.config))
    return {"progress": now, "place": str(after), "restarted": restarted, **fresh}


def progress(run: Watched) -> Data:
    """Progress, speed and remaining time of a run."""
    status = status_of(run)
    if run.config is None:
        return {"name": run.name, "status": status}
    rows = _newest(run.path / TIMING, RECENT + 1)
    update = int(rows[-1]["update"]) if rows else 0
    speeds = [1 / speed for row in rows[1:] if (speed := _float(row.get("steps_per_second"))) > 0]
    agent, seeds = run.config.agent, run.config.seeds
    rate = len(speeds) / sum(speeds) if speeds else math.nan
    left = (agent.updates - update) * agent.steps_per_update * seeds / rate if speeds else math.nan
    silent = _silent(run.path / TIMING, seeds * agent.steps_per_update / rate if speeds else 0.0)
    return {
        "name": run.name,
        "began": f"{run.folder.manifest.get('start')}, {run.folder.manifest.get('resumes')}" if run.folder else None,
        "method": agent.label,
        "status": "silent" if status == "running" and silent else status,
        "silent": round(silent) if status == "running" else 0,
        "update": update,
        "updates": agent.updates,
        "steps": agent.steps_at(update) if update else 0,
        "seeds": seeds,
        "rate": _plain(rate),
        "left": _plain(left) if status == "running" else None,
    }


def _newest(file: Path, count: int) -> list[Data]:
    """The last rows of a file, approximately, without reading all of it."""
    try:
        size = file.stat().st_size
        inode = file.stat().st_ino
    except OSError:
        return []
    rows, _ = read_new(file, Place(inode, max(0, size - 400 * count)))
    return rows[-count:]


def _silent(file: Path, update_seconds: float) -> float:
    """Seconds since the last write if that is unusually long; 0 otherwise."""
    try:
        age = time.time() - file.stat().st_mtime
    except OSError:
        return 0.0
    return age if age > max(SILENT_SECONDS, SILENT_UPDATES * update_seconds) else 0.0
