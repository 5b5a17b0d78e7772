"""Reading ``metrics.jsonl``, ``timing.jsonl`` and ``visits.jsonl``, whole or only what is new, also while they grow.

Files of runs that are only archived may be compressed: ``metrics.jsonl.gz`` is read in place of the file. Somebody else
may have made them, so they are read piece by piece, and no more of them than a long run has.
"""

import gzip
import json
import math
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from action_balance.errors import UserError, as_size
from action_balance.files import Data
from action_balance.reading import Missing, exists, opened

METRICS = "metrics.jsonl"
TIMING = "timing.jsonl"
VISITS = "visits.jsonl"

#: Bytes that are parsed at once, approximately.
PIECE = 200_000

#: Most bytes of a file, uncompressed.
MAX_BYTES = 4_000_000_000
#: Most bytes, and most values, of rows that are all in memory: less than 3 GB, as measured with the most wasteful ones.
MAX_LISTED, MAX_VALUES = 300_000_000, 15_000_000
#: Most bytes of a line.
MAX_LINE = 16_000_000
#: Most rows of a file, and most numbers of a table: ten times those of the longest runs.
MAX_ROWS, MAX_NUMBERS = 5_000_000, 100_000_000
#: Most damaged lines that are skipped.
MAX_DAMAGED = 1000
#: Whole numbers that identify a row are below this, and so they are exact as floating-point numbers, too.
MAX_COUNT = 2**53
#: Most lists inside each other in a row.
MAX_DEPTH = 4


#: A file that is read, compressed or not.
Content = gzip.GzipFile | BufferedReader


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
    return file if exists(file) or not exists(compressed(file)) else compressed(file)


def read_metrics(path: Path, name: str = METRICS) -> list[Data]:
    """The rows of a run, even while it is being written; a `UserError` if one of them is damaged."""
    return list(each_row(path, name, listed=True))


def each_row(path: Path, name: str = METRICS, listed: bool = False) -> Iterator[Data]:
    """The rows that `read_metrics` reads, one after the other: of a long run, they take much memory together."""
    number = 0
    for lines, _ in _pieces(path / name, BEGINNING, listed=listed):
        for line in lines.splitlines(keepends=True):
            number += 1
            row = parse_row(line)
            if row is None:
                raise UserError(f"line {number} of {kept(path / name)} is damaged: delete it to read the rest")
            yield row
        _check(path / name, number)


def first_row(file: Path) -> Data:
    """The first intact row of a file, near its beginning; empty where there is none."""
    for lines, _ in _pieces(file, BEGINNING):
        if lines:
            some = lines.splitlines(keepends=True)[:MAX_DAMAGED]
            return next((row for row in map(parse_row, some) if row is not None), {})
    return {}


def read_new(file: Path, place: Place, together: int = 1) -> tuple[list[Data], Place]:
    """The rows after a place, without damaged ones, and the place after them."""
    rows: list[Data] = []
    after, damaged = BEGINNING, 0
    for lines, then in _pieces(file, place, together, listed=True):
        fresh, bad = _intact(lines)
        rows += fresh
        after, damaged = then, damaged + bad
        _check(file, len(rows), damaged)
    return rows, after


def read_numbers(
    file: Path, place: Place, names: Sequence[str], together: int = 1
) -> tuple[Float[np.ndarray, "rows names"], Place]:
    """Columns of the rows that `read_new` reads, nan where a row has no such number: faster, and in less memory."""
    pieces = [np.empty((0, len(names)))]
    after, damaged, count = BEGINNING, 0, 0
    for lines, then in _pieces(file, place, together):
        rows, bad = _rows(lines)
        pieces.append(_numbers(rows, names))
        after, damaged, count = then, damaged + bad, count + len(rows)
        _check(file, count, damaged, len(names))
    return np.concatenate(pieces), after


def _pieces(file: Path, place: Place, together: int = 1, listed: bool = False) -> Iterator[tuple[bytes, Place]]:
    """Whole groups of ``together`` lines after a place, in pieces, each with the place after it; first an empty piece.

    There is no piece where there is no file.
    """
    file = kept(file)
    packed = file.suffix == ".gz"
    try:
        with opened(file, f"a file of metrics, such as the {METRICS} of a run", MAX_BYTES) as stream:
            about = os.fstat(stream.fileno())
            same = place.file == about.st_ino and (packed or place.offset <= about.st_size)
            offset = min(place.offset, MAX_BYTES) if same else 0
            yield b"", Place(about.st_ino, offset)
            content = gzip.GzipFile(fileobj=stream) if packed else stream
            read, pending, lines, values = _seek(file, content, offset), bytearray(), 0, 0
            most = min(MAX_BYTES, read + MAX_LISTED) if listed else MAX_BYTES
            while piece := _read(file, content):
                read += len(piece)
                pending += piece
                lines += piece.count(b"\n")
                values += sum(map(piece.count, (b",", b"[", b"{"))) if listed else 0
                if read > most:
                    raise _too_large(file, as_size(most))
                if values > MAX_VALUES:
                    raise _too_large(file, f"{MAX_VALUES:,} values")
                if len(pending) - pending.rfind(b"\n") > MAX_LINE:
                    raise _too_large(file, f"{as_size(MAX_LINE)} in a line")
                if lines >= together:
                    end = _end(pending, lines % together)
                    offset += end
                    yield bytes(pending[:end]), Place(about.st_ino, offset)
                    del pending[:end]
                    lines %= together
    except Missing:
        return


def _read(file: Path, content: Content) -> bytes:
    try:
        return content.read(PIECE)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise UserError(f"{file} is damaged: restore a copy of it") from None


def _seek(file: Path, content: Content, offset: int) -> int:
    try:
        return content.seek(offset)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise UserError(f"{file} is damaged: restore a copy of it") from None


def _end(content: bytearray, spare: int) -> int:
    """The end of the last line but ``spare`` lines."""
    end = content.rfind(b"\n") + 1
    for _ in range(spare):
        end = content.rfind(b"\n", 0, end - 1) + 1
    return end


def _check(file: Path, rows: int, damaged: int = 0, columns: int = 1) -> None:
    """Raise a `UserError` for more than a run has."""
    if damaged > MAX_DAMAGED:
        raise UserError(f"{kept(file)} is damaged in more than {MAX_DAMAGED:,} lines: restore a copy of it")
    if rows > MAX_ROWS or rows * columns > MAX_NUMBERS:
        raise _too_large(kept(file), f"{rows:,} rows")


def _too_large(file: Path, much: str) -> UserError:
    return UserError(f"{file} has more than {much}, which is too much to read: leave it out, or restore a copy of it")


def parse_row(line: bytes) -> Data | None:
    """The row of a line; None if the line is half-written or damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        row = json.loads(line)
        return {name: _decode(value) for name, value in row.items()} if _is_row(row) else None
    except (ValueError, RecursionError):
        return None


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and all(map(_is_count, (row.get("update"), row.get("steps"), row.get("seed", 0))))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < MAX_COUNT


def _decode(value: Any, depth: int = 0) -> Any:
    """A value with nan and infinity as numbers; a ``ValueError`` for lists inside too many others."""
    if isinstance(value, list):
        if depth == MAX_DEPTH:
            raise ValueError("too many nested lists")
        return [_decode(item, depth + 1) for item in value]
    if type(value) is int and abs(value) >= MAX_COUNT:
        return float(value) if abs(value) < 2**1000 else math.inf if value > 0 else -math.inf
    return math.nan if value is None else float(value) if value in ("inf", "-inf") else value


def _intact(lines: bytes) -> tuple[list[Data], int]:
    """The rows of lines, and how many lines are damaged."""
    found = [parse_row(line) for line in lines.splitlines(keepends=True)]
    rows = [row for row in found if row is not None]
    return rows, len(found) - len(rows)


def _rows(lines: bytes) -> tuple[list[Data], int]:
    """The rows of lines, not decoded where all are intact, and how many lines are damaged."""
    try:  # a list for each line, so that two halves of rows do not become one row; twice as fast as line by line
        rows = [row for (row,) in json.loads(b"[[" + lines[:-1].replace(b"\n", b"],[") + b"]]")]
    except (ValueError, RecursionError):
        rows = []
    if len(rows) == lines.count(b"\n") and all(map(_is_row, rows)):
        return rows, 0
    return _intact(lines)


def _numbers(rows: Sequence[Data], names: Sequence[str]) -> np.ndarray:
    def number(value: Any) -> float:
        try:
            plain = _decode(value)
        except ValueError:
            return math.nan
        return float(plain) if isinstance(plain, (int, float)) else math.nan

    table = np.full((len(rows), len(names)), math.nan)
    known = [place for place, name in enumerate(names) if any(name in row for row in rows)]
    chosen = [names[place] for place in known]
    try:
        table[:, known] = np.array([[row[name] for name in chosen] for row in rows], float)
    except (KeyError, TypeError, ValueError, OverflowError):  # rows with other names, or no numbers
        table[:, known] = [[number(row.get(name)) for name in chosen] for row in rows]
    return table
