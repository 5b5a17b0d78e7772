"""What a study reads of a training run: arrays from its metrics, or the record that is kept in their place.

Where many agents are trained together, `RunRecord.keep` replaces the metrics and checkpoints of a finished run by one
small file. Axes: R seeds, U updates.
"""

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
from jaxtyping import Float, Shaped

from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.reading import Missing, entries, is_folder
from action_balance.runs import Place, RunFolder, read_numbers
from action_balance.runs.array_file import DamagedArrays, read_arrays, write_arrays
from action_balance.runs.evaluation import EVALUATION
from action_balance.runs.folder import CONFIG, CONTENTS, MANIFEST, RECORD
from action_balance.runs.rows import METRICS, TIMING

#: The folder of a study that holds its runs.
RUNS = "runs"

#: What is left of a run whose record replaces the rest.
KEPT = {CONFIG, MANIFEST, RECORD, EVALUATION}

#: Arrays by name.
Arrays = dict[str, np.ndarray]

Kind = TypeVar("Kind", bound="RunRecord")


def metric_columns(path: Path, config: TrainConfig, names: Sequence[str]) -> dict[str, Float[np.ndarray, "R U"]]:
    """Metrics of a run by name, as far as it is trained; nan where an update has no such number."""
    rows, _ = read_numbers(path / METRICS, Place(), ("update", *names))
    updates = len(rows) // config.seeds
    if not np.array_equal(rows[:, 0], np.repeat(np.arange(1, updates + 1), config.seeds)):
        raise UserError(f"{path} has lost part of its metrics: delete that folder to train the run again")
    return {name: rows[:, place].reshape(updates, config.seeds).T for place, name in enumerate(names, start=1)}


def update_seconds(path: Path, config: TrainConfig) -> Float[np.ndarray, " U"]:
    """Duration of each update of a run; the first of each process includes compilation."""
    rates, _ = read_numbers(path / TIMING, Place(), ["steps_per_second"])
    seconds: np.ndarray = config.seeds * config.agent.steps_per_update / rates[:, 0]
    return seconds


def typical_seconds(path: Path, config: TrainConfig) -> np.ndarray:
    """Duration of all updates but the first, if each took as long as the median of them."""
    seconds = update_seconds(path, config)[1:]
    return np.array(np.median(seconds) * len(seconds) if len(seconds) else 0.0)


@dataclass(frozen=True)
class RunRecord(ABC):
    """What a study reads of a run. A subclass has its arrays as fields; equal names of axes mean equal lengths."""

    path: Path
    config: TrainConfig
    status: str  # finished, interrupted, failed or running; a killed run stays running
    made_by: Data  # versions, hardware and commit of its last start
    more: Arrays  # what a study measures while the run is trained
    steps: Shaped[np.ndarray, " P"]  # environment steps of each seed at the points of its curves

    @classmethod
    def axes(cls) -> dict[str, list[str]]:
        """The arrays and numbers by name, with the names of their axes."""
        own = [one for one in fields(cls) if hasattr(one.type, "dim_str") or one.type in (int, float)]
        return {one.name: getattr(one.type, "dim_str", "").split() for one in own}

    @classmethod
    @abstractmethod
    def extract(cls, path: Path, config: TrainConfig) -> Arrays:
        """Make the arrays from the files of the run."""

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a run, finished or not. No module that its folder names is imported."""
        folder, axes = RunFolder.open(path), cls.axes()
        config, arrays = TrainConfig.for_display(folder.config), read_record(path)
        if not axes.keys() <= arrays.keys():
            arrays |= cls.extract(path, config)
        lengths = {"R": config.seeds}
        for name, letters in axes.items():
            array = arrays[name]
            fine = array.dtype.kind in "biuf" and len(letters) == array.ndim
            if not fine or any(lengths.setdefault(*pair) != pair[1] for pair in zip(letters, array.shape, strict=True)):
                raise damaged_record(path)
        own = {name: arrays.pop(name) if letters else arrays.pop(name).item() for name, letters in axes.items()}
        starts = folder.manifest.get("starts")
        made_by = starts[-1] if isinstance(starts, list) and starts and isinstance(starts[-1], dict) else {}
        return cls(path, config, str(folder.manifest.get("status", "running")), made_by, arrays, **own)

    @classmethod
    def keep(cls, path: Path, config: TrainConfig) -> None:
        """Keep the record of a finished run in place of its metrics and checkpoints."""
        with RunFolder.open(path) as folder:
            folder.acquire()
            arrays = read_record(path)
            if not cls.axes().keys() <= arrays.keys():
                write_record(folder, arrays | cls.extract(path, config))
            for name in {*CONTENTS} - KEPT:
                if is_folder(path / name):
                    shutil.rmtree(path / name, ignore_errors=True)
                else:
                    (path / name).unlink(missing_ok=True)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def finished(self) -> bool:
        """Whether it made all its updates."""
        return self.status == "finished"

    @property
    def limit(self) -> int:
        """Environment steps of each agent in the whole training, those of the warm-up included."""
        return int(self.config.agent.steps_at(self.config.agent.updates))


def read_record(path: Path) -> Arrays:
    """The arrays in the record of a run; empty without one."""
    try:
        return read_arrays(path / RECORD)
    except Missing:
        return {}
    except DamagedArrays:
        raise damaged_record(path) from None


def write_record(folder: RunFolder, arrays: Arrays) -> None:
    folder.write(RECORD, partial(write_arrays, arrays=arrays, compress=True))


def damaged_record(path: Path) -> UserError:
    return UserError(f"{path / RECORD} is damaged: delete {path}, and run the same command to train its agents again")


def read_records(
    out: Path, kind: type[Kind], belongs: Callable[[str, TrainConfig], bool], unfinished: bool
) -> tuple[list[Kind], list[str]]:
    """The runs in the folder of a study that have something to report, and what was left out."""
    records, notes = [], []
    for path in entries(out / RUNS):
        if not is_folder(path) or path.name.startswith("."):
            continue
        if not RunFolder.holds_run(path):
            notes.append(f"{path.name} is not a run and was left out")
            continue
        folder = RunFolder.open(path)
        if not belongs(path.name, TrainConfig.for_display(folder.config)):
            notes.append(f"{path.name} is a run that does not belong to this study and was left out")
        elif unfinished or folder.manifest.get("status") == "finished":
            records.append(kind.read(path))
    return [record for record in records if len(record.steps)], notes


def grouped(records: Iterable[tuple[str, str, Kind]]) -> dict[str, dict[str, Kind]]:
    """Records by where their agents were trained, and by how; a `UserError` if they cannot be compared there."""
    places: dict[str, dict[str, Kind]] = {}
    for place, how, record in records:
        places.setdefault(place, {})[how] = record
    for place, found in places.items():
        if len({(one.config.seed, one.config.seeds, one.limit) for one in found.values()}) > 1:
            raise UserError(
                f"the agents in {place} differ in their seeds or steps: use a separate --out for each, or retrain them "
                f"all with --overwrite"
            )
    return places


def made_by(records: Sequence[RunRecord]) -> list[Data]:
    """The different versions and machines that trained runs."""
    found = {}
    for record in records:
        made = {name: record.made_by.get(name, {}) for name in ("versions", "hardware")}
        found[json.dumps(made)] = made
    return list(found.values())
