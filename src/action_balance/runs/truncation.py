"""Cutting a file of rows back to a checkpoint: intact rows up to it stay, byte for byte, all others are moved aside.

The truncation is planned first, so that a message can announce it before anything is moved. The file is read in one
pass, line by line.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from action_balance.files import Data, cannot_write, sync_folder, write_atomically, write_durably
from action_balance.reading import Missing, opened
from action_balance.runs.aside import move_aside
from action_balance.runs.rows import MAX_LINE, parse_row

#: Bytes that are copied at once.
PIECE = 1_000_000
#: What the files are, for messages.
EXPECTED = "the rows of a run"


@dataclass(frozen=True)
class Truncation:
    """What stays of a file of rows, and what does not."""

    file: Path
    """The file."""
    kept: Sequence[range] = ()
    """The bytes that stay: intact rows up to the checkpoint."""
    dropped: Sequence[range] = ()
    """All other bytes."""
    later: int = 0
    """Number of rows after the checkpoint; half of a last line is one of them, as a killed process leaves it."""
    damaged: int = 0
    """Number of lines that are no rows."""
    last: Data | None = None
    """The last row that stays."""

    def apply(self, aside: Path) -> None:
        """Cut the file, and write what does not stay to a file of the same name."""
        if not self.dropped:
            return
        if not self.kept:
            move_aside(self.file, aside)
            return
        with opened(self.file, EXPECTED, None) as source:
            moved = aside / self.file.name
            try:
                write_durably(moved, partial(_copy, source, self.dropped))
            except OSError as error:
                raise cannot_write(moved, error, f"{self.file} is as it was") from None
            sync_folder(aside)
            write_atomically(self.file, partial(_copy, source, self.kept))


def plan(file: Path, update: int) -> Truncation:
    """Find out what stays of a file of rows when training continues from a checkpoint."""
    kept: list[range] = []
    dropped: list[range] = []
    later = damaged = place = 0
    last = None
    try:
        with opened(file, EXPECTED, None) as lines:
            while line := lines.readline(MAX_LINE):
                here = range(place, place := place + len(line))
                row = parse_row(line)
                if row is not None and row["update"] <= update:
                    last = row
                    _add(kept, here)
                    continue
                _add(dropped, here)
                half = not line.endswith(b"\n") and len(line) < MAX_LINE
                later += row is not None or half
                damaged += row is None and not half
    except Missing:
        pass
    return Truncation(file, kept, dropped, later, damaged, last)


def _add(ranges: list[range], new: range) -> None:
    """Add bytes to a list of ranges, as few as possible."""
    if ranges and ranges[-1].stop == new.start:
        ranges[-1] = range(ranges[-1].start, new.stop)
    else:
        ranges.append(new)


def _copy(source: BinaryIO, ranges: Iterable[range], target: BinaryIO) -> None:
    for one in ranges:
        source.seek(one.start)
        left = len(one)
        while left and (piece := source.read(min(left, PIECE))):
            target.write(piece)
            left -= len(piece)
