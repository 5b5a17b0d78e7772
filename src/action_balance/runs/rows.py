"""Reading ``metrics.jsonl``, ``timing.jsonl`` and ``visits.jsonl``, whole or only what is new, also while they grow.

Files of runs that are only archived may be compressed: ``metrics.jsonl.gz`` is read in place of the file.
"""

import gzip
import json
import math
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from action_balance.errors import UserError
from action_balance.files import Data, reason

METRICS = "metrics.jsonl"
TIMING = "timing.jsonl"
VISITS = "visits.jsonl"

#: Bytes that are parsed at once, rounded up to a whole line.
PIECE = 200_000


@dataclass(frozen=True)
class Place:
    """How far a file was read. A resumed run has another file, which is read from its beginning."""

    file: int = 0  # its inode number
    offset: int = 0  # bytes, uncompressed

    def __str__(self) -> str:
        return f"{self.file}-{self.offset}"

    def restarted(self, before: "Place") -> bool:
        """Whether a file was read from its beginning although it had been read up to a place before."""
        return before.offset > 0 and (self.file != before.file or self.offset < before.offset)

    @classmethod
    def parse(cls, text: str) -> "Place":
        """The place that `str` has written; the beginning for any other text."""
        file, _, offset = text.partition("-")
        fine = all(part.isascii() and part.isdigit() and len(part) < 20 for part in (file, offset))
        return cls(int(file), int(offset)) if fine else cls()


BEGINNING = Place()


def compressed(file: Path) -> Path:
    """The name of a file when it is compressed."""
    return file.with_name(f"{file.name}.gz")


def kept(file: Path) -> Path:
    """The file, or its compressed version if only that exists."""
    return file if file.exists() or not compressed(file).exists() else compressed(file)


def read_metrics(path: Path, name: str = METRICS) -> list[Data]:
    """The rows of a run, even while it is being written; a `UserError` if one of them is damaged.

    Args:
        path: the folder of the run.
        name: ``metrics.jsonl``, ``timing.jsonl`` or ``visits.jsonl``.

    Returns:
        Values by name. nan and infinity are numbers again.
    """
    rows = []
    for number, line in enumerate(read_lines(path / name)[0].splitlines(keepends=True), start=1):
        row = parse_row(line)
        if row is None:
            raise UserError(f"line {number} of {kept(path / name)} is damaged: delete it to read the rest")
        rows.append(row)
    return rows


def first_row(file: Path) -> Data:
    """The first intact row of a file; empty where there is none."""
    file = kept(file)
    try:
        with gzip.open(file) if file.suffix == ".gz" else open(file, "rb") as lines:
            return next((row for line in lines if (row := parse_row(line)) is not None), {})
    except FileNotFoundError:
        return {}
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise UserError(f"{file} is damaged: restore a copy of it") from None
    except OSError as error:
        raise UserError(f"cannot read {file}: {reason(error)}") from None


def read_new(file: Path, place: Place, together: int = 1) -> tuple[list[Data], Place]:
    """The rows after a place, without damaged ones, and the place after them; see `read_lines`."""
    lines, after = read_lines(file, place, together)
    return [row for row in map(parse_row, lines.splitlines(keepends=True)) if row is not None], after


def read_numbers(
    file: Path, place: Place, names: Sequence[str], together: int = 1
) -> tuple[Float[np.ndarray, "rows names"], Place]:
    """Columns of the rows that `read_new` reads, nan where a row has no such number: faster, and in less memory.

    Args:
        file: the file of rows.
        place: where to begin.
        names: the columns.
        together: see `read_lines`.

    Returns:
        The numbers, and the place after them.
    """
    lines, after = read_lines(file, place, together)
    pieces, begin = [np.empty((0, len(names)))], 0
    while begin < len(lines):
        # JSON is parsed twice as fast in pieces of many lines as line by line.
        end = lines.find(b"\n", begin + PIECE) + 1 or len(lines)
        pieces.append(_numbers(_rows(lines[begin:end]), names))
        begin = end
    return np.concatenate(pieces), after


def read_lines(file: Path, place: Place = BEGINNING, together: int = 1) -> tuple[bytes, Place]:
    """Read the whole lines after a place.

    Args:
        file: the file, which may exist in its compressed version only.
        place: where to begin; a place in another file, or beyond the end, means the beginning.
        together: lines are read in whole groups of this size.

    Returns:
        The lines, and the place after them; nothing where there is no file.
    """
    file = kept(file)
    try:
        with open(file, "rb") as opened:
            about = os.fstat(opened.fileno())
            packed = file.suffix == ".gz"
            same = place.file == about.st_ino and (packed or place.offset <= about.st_size)
            begin = place.offset if same else 0
            opened.seek(0 if packed else begin)
            content = opened.read()
        content = gzip.decompress(content)[begin:] if packed else content
    except FileNotFoundError:
        return b"", BEGINNING
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise UserError(f"{file} is damaged: restore a copy of it") from None
    except OSError as error:
        raise UserError(f"cannot read {file}: {reason(error)}") from None
    end = content.rfind(b"\n") + 1
    for _ in range(content.count(b"\n") % together):
        end = content.rfind(b"\n", 0, end - 1) + 1
    return content[:end], Place(about.st_ino, begin + end)


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


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    return math.nan if value is None else float(value) if value in ("inf", "-inf") else value


def _rows(lines: bytes) -> list[Data]:
    try:  # a list for each line, so that two halves of rows do not become one row
        rows = [row for (row,) in json.loads(b"[[" + lines[:-1].replace(b"\n", b"],[") + b"]]")]
    except ValueError:
        rows = []
    if len(rows) == lines.count(b"\n") and all(map(_is_row, rows)):
        return rows
    return [row for row in map(parse_row, lines.splitlines(keepends=True)) if row is not None]


def _numbers(rows: Sequence[Data], names: Sequence[str]) -> np.ndarray:
    def number(value: Any) -> float:
        plain = _decode(value)
        return float(plain) if isinstance(plain, (int, float)) else math.nan

    table = np.full((len(rows), len(names)), math.nan)
    known = [place for place, name in enumerate(names) if any(name in row for row in rows)]
    chosen = [names[place] for place in known]
    try:
        table[:, known] = [[row[name] for name in chosen] for row in rows]
    except (KeyError, TypeError, ValueError, OverflowError):  # rows with other names, or no numbers
        table[:, known] = [[number(row.get(name)) for name in chosen] for row in rows]
    return table
