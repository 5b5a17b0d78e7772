"""Reading ``metrics.jsonl``, ``timing.jsonl`` and ``visits.jsonl``, whole or only what is new, also while they grow.

Files of runs that are only archived may be compressed: ``metrics.jsonl.gz`` is read in place of the file. They are read
piece by piece, because long runs have many rows.
"""

import gzip
import json
import math
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
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
#: Most bytes of a line.
MAX_LINE = 16_000_000
#: Whole numbers that identify a row are below this, and so they are exact as floating-point numbers, too.
MAX_COUNT = 2**53


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
        found = re.fullmatch(r"([0-9]{1,19})-([0-9]{1,18})", text)
        return cls(int(found[1]), int(found[2])) if found else cls()


BEGINNING = Place()


def compressed(file: Path) -> Path:
    return file.with_name(f"{file.name}.gz")


def kept(file: Path) -> Path:
    """The file, or its compressed version if only that exists."""
    return file if exists(file) or not exists(compressed(file)) else compressed(file)


def opened_rows(file: Path) -> AbstractContextManager[BufferedReader]:
    return opened(file, f"a file of rows, such as the {METRICS} of a run", None)


def read_metrics(path: Path, name: str = METRICS) -> list[Data]:
    """The rows of a run, even while it is being written; a `UserError` if one of them is damaged."""
    return list(each_row(path, name))


def each_row(path: Path, name: str = METRICS) -> Iterator[Data]:
    """The rows that `read_metrics` reads, one after the other: of a long run, they take much memory together."""
    number = 0
    for lines, _ in _pieces(path / name, BEGINNING):
        for line in lines.splitlines(keepends=True):
            number += 1
            row = parse_row(line)
            if row is None:
                raise UserError(f"line {number} of {kept(path / name)} is damaged: delete it to read the rest")
            yield row


def first_row(file: Path) -> Data:
    """The first intact row of a file, near its beginning; empty where there is none."""
    for lines, _ in _pieces(file, BEGINNING):
        if lines:
            return next(iter(_intact(lines)), {})
    return {}


def read_new(file: Path, place: Place, together: int = 1) -> tuple[list[Data], Place]:
    """The rows after a place, without damaged ones, and the place after them."""
    rows: list[Data] = []
    end = BEGINNING
    for lines, after in _pieces(file, place, together):
        rows += _intact(lines)
        end = after
    return rows, end


def read_numbers(
    file: Path, place: Place, names: Sequence[str], together: int = 1
) -> tuple[Float[np.ndarray, "rows names"], Place]:
    """Columns of the rows that `read_new` reads, nan where a row has no such number: faster, and in less memory."""
    pieces = [np.empty((0, len(names)))]
    end = BEGINNING
    for lines, after in _pieces(file, place, together):
        pieces.append(_numbers(_rows(lines), names))
        end = after
    return np.concatenate(pieces), end


def _pieces(file: Path, place: Place, together: int = 1) -> Iterator[tuple[bytes, Place]]:
    """Whole groups of ``together`` lines after a place, in pieces, each with the place after it; first an empty piece.

    There is no piece where there is no file.
    """
    file = kept(file)
    try:
        with opened_rows(file) as stream:
            about = os.fstat(stream.fileno())
            is_same = place.file == about.st_ino and (file.suffix == ".gz" or place.offset <= about.st_size)
            offset = place.offset if is_same else 0
            yield b"", Place(about.st_ino, offset)
            pending, lines = bytearray(), 0
            for piece in _content(file, stream, offset):
                pending += piece
                lines += piece.count(b"\n")
                if len(pending) - pending.rfind(b"\n") > MAX_LINE:
                    raise UserError(f"{file} has a line of more than {as_size(MAX_LINE)}: restore a copy of it")
                if lines >= together:
                    end = _end(pending, lines % together)
                    offset += end
                    yield bytes(pending[:end]), Place(about.st_ino, offset)
                    del pending[:end]
                    lines %= together
    except Missing:
        return


def _content(file: Path, stream: BufferedReader, offset: int) -> Iterator[bytes]:
    content = gzip.GzipFile(fileobj=stream) if file.suffix == ".gz" else stream
    try:
        content.seek(offset)
        while piece := content.read(PIECE):
            yield piece
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise UserError(f"{file} is damaged: restore a copy of it") from None


def _end(content: bytearray, spare: int) -> int:
    end = content.rfind(b"\n") + 1
    for _ in range(spare):
        end = content.rfind(b"\n", 0, end - 1) + 1
    return end


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


def _decode(value: Any) -> Any:
    """A value with nan and infinity as numbers."""
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if type(value) is int and abs(value) >= MAX_COUNT:
        return float(str(value))  # infinite rather than an error
    return math.nan if value is None else float(value) if value in ("inf", "-inf") else value


def _intact(lines: bytes) -> list[Data]:
    return [row for row in map(parse_row, lines.splitlines(keepends=True)) if row is not None]


def _rows(lines: bytes) -> list[Data]:
    try:  # a list for each line, so that two halves of rows do not become one row; twice as fast as line by line
        rows = [row for (row,) in json.loads(b"[[" + lines[:-1].replace(b"\n", b"],[") + b"]]")]
    except (ValueError, RecursionError):
        rows = []
    return rows if len(rows) == lines.count(b"\n") and all(map(_is_row, rows)) else _intact(lines)


def _numbers(rows: Sequence[Data], names: Sequence[str]) -> np.ndarray:
    def number(value: Any) -> float:
        plain = None if isinstance(value, list) else _decode(value)
        return float(plain) if isinstance(plain, (int, float)) else math.nan

    table = np.full((len(rows), len(names)), math.nan)
    known = [place for place, name in enumerate(names) if any(name in row for row in rows)]
    chosen = [names[place] for place in known]
    try:
        table[:, known] = np.array([[row[name] for name in chosen] for row in rows], float)
    except (KeyError, TypeError, ValueError, OverflowError):  # rows with other names, or no numbers
        table[:, known] = [[number(row.get(name)) for name in chosen] for row in rows]
    return table
