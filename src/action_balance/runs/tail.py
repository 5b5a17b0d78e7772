"""Reads only what is new in a file of rows that is still being written."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from action_balance.errors import UserError
from action_balance.files import Data, reason
from action_balance.runs.metrics import kept, parse_numbers, parse_row, unpacked


@dataclass(frozen=True)
class Place:
    """How far a file was read. A resumed run has another file, which is read from its beginning."""

    file: int = 0  # its inode number
    offset: int = 0  # bytes

    def __str__(self) -> str:
        return f"{self.file}-{self.offset}"

    def is_anew(self, before: "Place") -> bool:
        """Whether a file was read from its beginning although it had been read up to a place before."""
        return before.offset > 0 and (self.file != before.file or self.offset < before.offset)

    @classmethod
    def parse(cls, text: str) -> "Place":
        """The place that `str` has written; the beginning for any other text."""
        file, _, offset = text.partition("-")
        fine = all(part.isascii() and part.isdigit() and len(part) < 20 for part in (file, offset))
        return cls(int(file), int(offset)) if fine else cls()


def read_new(file: Path, place: Place, together: int = 1) -> tuple[list[Data], Place]:
    """Read the rows after a place.

    Args:
        file: the file of rows.
        place: where to begin; a place in another file, or beyond the end, means the beginning.
        together: rows are read in whole groups of this size. A damaged row counts, and is skipped.

    Returns:
        The rows, and the place after them.
    """
    lines, after = _new_lines(file, place, together)
    rows = [row for row in map(parse_row, lines.splitlines(keepends=True)) if row is not None]
    return rows, after


def read_numbers(file: Path, place: Place, names: Sequence[str], together: int = 1) -> tuple[np.ndarray, Place]:
    """The numbers of some columns in the rows that `read_new` reads, (rows, names): faster, and in less memory."""
    lines, after = _new_lines(file, place, together)
    return parse_numbers(lines, names), after


def _new_lines(file: Path, place: Place, together: int) -> tuple[bytes, Place]:
    file = kept(file)
    compressed = file.suffix == ".gz"  # a place counts uncompressed bytes, so the file is read whole
    try:
        with open(file, "rb") as opened:
            about = os.fstat(opened.fileno())
            begin = place.offset if place.file == about.st_ino and (compressed or place.offset <= about.st_size) else 0
            opened.seek(0 if compressed else begin)
            content = opened.read()
    except FileNotFoundError:
        return b"", Place()
    except OSError as error:
        raise UserError(f"cannot read {file}: {reason(error)}") from None
    if compressed:
        content = unpacked(file, content)[begin:]
    end = content.rfind(b"\n") + 1
    for _ in range(content.count(b"\n") % together):
        end = content.rfind(b"\n", 0, end - 1) + 1
    return content[:end], Place(about.st_ino, begin + end)
