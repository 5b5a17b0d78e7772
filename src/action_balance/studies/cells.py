"""Studies of many cells: the agents of a cell are trained together and leave one small file, written whole.

No two processes train the same cell at the same time, and a study is reported from the files that exist. A cell that is
interrupted continues from its last checkpoint.
"""

import contextlib
import json
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError, WriteError
from action_balance.files import Data, check_inside, leads_out, reason, write_atomically
from action_balance.reading import entries, exists, parse_json
from action_balance.runs.array_file import DamagedArrays, read_arrays, write_arrays
from action_balance.runs.aside import ASIDE
from action_balance.runs.locks import FileLock
from action_balance.runs.owned import remove_empty

#: The folder of a study that holds its records.
CELLS = "cells"

#: How the names of the folders end that hold checkpoints of cells.
CHECKPOINT = ".checkpoint"

#: Called after every update.
Report = Callable[[Progress], None]


class Cell(Protocol):
    """Agents that are trained together."""

    @property
    def name(self) -> str:
        """Name of its record: what is compared in, two hyphens, and how its agents explore."""

    @property
    def config(self) -> TrainConfig:
        """The settings of its agents."""


class Record(Protocol):
    """What is kept of the agents of a cell."""

    @property
    def config(self) -> TrainConfig:
        """The settings that they were trained with."""

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""


#: Reads a record.
Load = Callable[[Path], Record]
#: Trains a cell of its study; calls a function after every update.
Train = Callable[[Any, Report], Record]


def record_path(out: Path, name: str) -> Path:
    """Where the record of a cell is."""
    return out / CELLS / f"{name}.npz"


def record_paths(out: Path) -> list[Path]:
    """Where the records of a study are."""
    return [path for path in entries(out / CELLS) if path.suffix == ".npz"]


def checkpoint_folder(out: Path, name: str) -> Path:
    """Where the checkpoints of a cell are while it has no record; see `cell_training`."""
    return out / CELLS / f".{name}{CHECKPOINT}"


def delete_checkpoints(out: Path, name: str) -> None:
    """Delete the checkpoints of a cell, if there are any; other files stay."""
    folder = checkpoint_folder(out, name)
    if not leads_out(out, folder):
        for path in entries(folder):
            if re.fullmatch(rf"[0-9a-f]{{16}}|{ASIDE}", path.name):
                shutil.rmtree(path, ignore_errors=True)
        remove_empty([folder])


def save_record(path: Path, about: Data, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the file of a record, whole or not at all."""
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    write_atomically(path, partial(write_arrays, arrays={"about": text, **arrays}, compress=True))


@contextlib.contextmanager
def reading_record(path: Path) -> Iterator[tuple[Data, dict[str, np.ndarray]]]:
    """Read the file of a record; what does not fit into a record becomes a `UserError` that says what to do."""
    try:
        arrays = read_arrays(path)
        about = parse_json(arrays["about"].tobytes())
        yield about, arrays
    except (DamagedArrays, KeyError, TypeError, ValueError):
        raise UserError(f"{path} is damaged: delete it and run the same command to retrain its agents") from None


def device_config(about: Data) -> TrainConfig:
    """The settings in a record; a ``ValueError`` if its agents cannot be those of a cell."""
    config = TrainConfig.for_display(about["config"])
    if config.env.engine != "device":
        raise ValueError(config.env.name)
    return config


def is_trained(out: Path, cell: Cell, load: Load) -> bool:
    """Whether the agents of a cell have a record."""
    path = record_path(out, cell.name)
    if not exists(path):
        return False
    if load(path).config != cell.config:
        raise UserError(
            f"{path} was created with different settings: choose another --out, or replace it with --overwrite"
        )
    return True


def delete_records(out: Path, places: Collection[str]) -> None:
    """Delete all records, checkpoints, and what killed processes left of records; other files stay."""

    def ours(pattern: str) -> Iterator[Path]:
        for path in sorted((out / CELLS).glob(pattern)):
            if path.name.removeprefix(".").partition("--")[0] in places:
                yield path

    check_inside(out, out / CELLS)
    for pattern in ("*.npz", ".*.part"):
        for path in ours(pattern):
            path.unlink(missing_ok=True)
    for path in ours(f".*{CHECKPOINT}"):
        name = path.name.removeprefix(".").removesuffix(CHECKPOINT)
        with claimed(out, name) as lock:
            if lock:
                delete_checkpoints(out, name)
    for path in ours(".*.lock"):
        with contextlib.suppress(OSError):
            lock = FileLock(path)
            lock.acquire()
            lock.release()  # which deletes it, unless another process has it
    with contextlib.suppress(OSError):
        (out / CELLS).rmdir()


@contextlib.contextmanager
def claimed(out: Path, name: str) -> Iterator[FileLock | None]:
    """Keep other processes from training a cell; that ends with this process."""
    folder = out / CELLS
    lock = FileLock(folder / f".{name}.lock")
    check_inside(out, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = lock.acquire()
    except OSError as error:
        raise WriteError(f"cannot write to {folder}: {reason(error)}; choose another --out", error) from None
    try:
        yield lock if free else None
    finally:
        lock.release()


def claims(out: Path) -> int:
    """How many cells are being trained now, by all processes; a killed process may still count."""
    return len(list((out / CELLS).glob(".*.lock")))


def train_cell(out: Path, cell: Cell, load: Load, train: Train, report: Report = lambda _: None) -> bool:
    """Train a cell, or the rest of it, and save its record, unless it has one or another process is training it."""
    with claimed(out, cell.name) as lock:
        if not lock or is_trained(out, cell, load):
            return False
        record = train(cell, report)
        record.save(record_path(out, cell.name))
        delete_checkpoints(out, cell.name)
    return True


def made_by(records: Collection[Any]) -> list[Data]:
    """The different versions and machines that made the records."""
    found: list[Data] = []
    for record in records:
        if record.made_by not in found:
            found.append(record.made_by)
    return found
