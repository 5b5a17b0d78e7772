"""The metrics of a run: one JSON line per update and seed, and the same numbers for TensorBoard.

A line of ``metrics.jsonl`` has ``update``, ``seed`` and ``steps`` (environment steps so far), then numbers and lists of
numbers by name. nan is ``null``, infinity is ``"inf"`` or ``"-inf"``. Numbers that depend on the clock are in
``timing.jsonl`` instead (one line per update: ``update``, ``steps``, numbers by name), so that the same run always has
the same ``metrics.jsonl``, byte for byte, however often it was interrupted. ``visits.jsonl`` has a line for some
updates: how often each pair of state and action had been taken by then.

The metrics of a run that is only archived may be compressed: ``metrics.jsonl.gz`` is read in place of the file.
"""

import gzip
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from action_balance.errors import UserError
from action_balance.files import Data, reason, write_atomically
from action_balance.packing import packed
from action_balance.runs.events import EventLog

METRICS = "metrics.jsonl"
TIMING = "timing.jsonl"
VISITS = "visits.jsonl"
TENSORBOARD = "tensorboard"

#: Bytes that are parsed at once, rounded up to a whole line.
PIECE = 200_000

#: The entries of a row that identify it.
KEYS = ("update", "seed", "steps")


def _plain(value: Any) -> Any:
    """A number or an array as Python's own numbers."""
    return value if isinstance(value, (int, float)) else np.asarray(value).tolist()


def _encode(value: Any) -> Any:
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    return math.nan if value is None else float(value) if value in ("inf", "-inf") else value


def _line(row: Data) -> bytes:
    return (json.dumps({name: _encode(value) for name, value in row.items()}, allow_nan=False) + "\n").encode()


def parse_row(line: bytes) -> Data | None:
    """The row of a line; None if the line is half-written or damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return {name: _decode(value) for name, value in row.items()} if _is_row(row) else None


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("update"), int) and isinstance(row.get("steps"), int)


def parse_numbers(lines: bytes, names: Sequence[str]) -> np.ndarray:
    """The numbers of some columns, (rows, names), nan where a row has none; damaged lines are skipped.

    JSON is parsed twice as fast in pieces of many lines as line by line, because rows of a piece share their names.

    Args:
        lines: whole lines.
        names: of the columns.

    Returns:
        One row for each intact line.
    """
    pieces = []
    begin = 0
    while begin < len(lines):
        end = lines.find(b"\n", begin + PIECE) + 1 or len(lines)
        pieces.append(_numbers(_rows(lines[begin:end]), names))
        begin = end
    return np.concatenate(pieces) if pieces else np.empty((0, len(names)))


def _rows(lines: bytes) -> list[Data]:
    try:  # a list for each line, so that two halves of rows do not become one row
        rows = [row for (row,) in json.loads(b"[[" + lines[:-1].replace(b"\n", b"],[") + b"]]")]
    except ValueError:
        rows = []
    if len(rows) == lines.count(b"\n") and all(map(_is_row, rows)):
        return rows
    return [row for row in map(parse_row, lines.splitlines(keepends=True)) if row is not None]


def _numbers(rows: Sequence[Data], names: Sequence[str]) -> np.ndarray:
    table = np.full((len(rows), len(names)), math.nan)
    known = [number for number, name in enumerate(names) if rows and name in rows[0]]
    chosen = [names[number] for number in known]
    try:
        table[:, known] = [[row[name] for name in chosen] for row in rows]
    except (
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
    ):  # rows with other names, or no numbers
        table[:, known] = [[_number(row.get(name)) for name in chosen] for row in rows]
    return table


def _number(value: Any) -> float:
    plain = _decode(value)
    return float(plain) if isinstance(plain, (int, float)) else math.nan


def compressed(file: Path) -> Path:
    """The name of a file when it is compressed."""
    return file.with_name(f"{file.name}.gz")


def kept(file: Path) -> Path:
    """The file, or its compressed version if only that exists."""
    return file if file.exists() or not compressed(file).exists() else compressed(file)


def unpacked(file: Path, content: bytes) -> bytes:
    """The lines in a file that `kept` has found."""
    if file.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        raise UserError(f"{file} is damaged: restore a copy of it") from None


def _lines(file: Path) -> list[bytes]:
    try:
        return unpacked(file, file.read_bytes()).splitlines(keepends=True)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"cannot read {file}: {reason(error)}") from None


def read_metrics(path: Path, name: str = METRICS) -> list[Data]:
    """The rows of a run, even while it is being written.

    Args:
        path: the folder of the run.
        name: ``metrics.jsonl``, ``timing.jsonl`` or ``visits.jsonl``.
    """
    file = kept(path / name)
    lines = _lines(file)
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    rows = []
    for number, line in enumerate(lines, start=1):
        row = parse_row(line)
        if row is None:
            raise UserError(f"line {number} of {file} is damaged: delete it to read the rest")
        rows.append(row)
    return rows


class MetricsLog:
    """Writes the metrics of a run. Files are open during an update only, so nothing has to be closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._events = EventLog(path / TENSORBOARD)

    def append(self, rows: Sequence[Mapping[str, Any]], timing: Mapping[str, Any] | None = None) -> None:
        """Write the rows of one update; killing the process afterwards does not lose them.

        Append before the checkpoint of the update is saved, so that no checkpoint is ahead of its metrics.

        Args:
            rows: one per seed: ``update``, ``seed``, ``steps``, then numbers or lists of numbers by name.
            timing: numbers that depend on the clock, e.g. ``steps_per_second``, for all seeds together.
        """
        if not rows:
            return
        plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
        self._append(METRICS, b"".join(_line({**{key: row[key] for key in KEYS}, **row}) for row in plain))
        clock = {name: _plain(value) for name, value in (timing or {}).items()}
        if clock:
            self._append(TIMING, _line({"update": plain[0]["update"], "steps": plain[0]["steps"], **clock}))
        try:
            for row in plain:
                values = {name: value for name, value in row.items() if name not in KEYS}
                self._events.write(f"seed-{row['seed']}", row["steps"], values)
            if clock:
                self._events.write("timing", plain[0]["steps"], clock)
        except OSError as error:
            raise UserError(f"cannot write {self.path / TENSORBOARD}: {reason(error)}") from None

    def append_visits(self, update: int, steps: int, counts: np.ndarray) -> None:
        """Write how often each pair was taken so far, (states, actions), by all seeds together."""
        self._append(VISITS, _line({"update": update, "steps": steps, **packed(counts)}))

    def _append(self, name: str, content: bytes) -> None:
        try:
            with open(self.path / name, "ab") as file:
                file.write(content)
        except OSError as error:
            raise UserError(f"cannot write {self.path / name}: {reason(error)}") from None

    def truncate_after(self, update: int) -> tuple[str, ...]:
        """Drop what was written after an update, half-written lines included, to continue from its checkpoint.

        Args:
            update: the last one to keep.

        Returns:
            A warning if rows up to that update are missing.
        """
        last_row, _, _ = (self._truncate(name, update) for name in (METRICS, TIMING, VISITS))
        self._events.forget_from(last_row["steps"] + 1 if last_row else 0)
        last = last_row["update"] if last_row else 0
        if last < update:
            return (f"{self.path / METRICS} ends at update {last}: rows up to update {update} are lost",)
        return ()

    def _truncate(self, name: str, update: int) -> Data | None:
        """Keep the rows up to an update, and return the last of them."""
        lines = _lines(self.path / name)
        kept: list[bytes] = []
        last = None
        for line in lines:
            row = parse_row(line)
            if row is None or row["update"] > update:
                break
            last = row
            kept.append(line)
        if len(kept) < len(lines):
            write_atomically(self.path / name, b"".join(kept))
        return last
