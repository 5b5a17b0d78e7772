"""Where a run keeps what is no longer part of it: nothing that was written is deleted only because it is in the way.

``aside/0001-damaged/00000050`` is a checkpoint whose checksum was wrong, ``aside/0002-after-update-50/metrics.jsonl``
has the rows that a resumed run makes again. Every folder is numbered and says why. They are deleted with the run only.

A file of rows is cut back to a checkpoint: intact rows up to it stay, byte for byte, all others are moved aside. The
cut is planned first, so that a message can announce it before anything is moved.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from action_balance.errors import UserError
from action_balance.files import (
    Data,
    cannot_write,
    check_inside,
    reason,
    sync_folder,
    write_atomically,
    write_durably,
)
from action_balance.reading import Missing
from action_balance.runs.rows import MAX_LINE, opened_rows, parse_row

#: The folder of a run that has all of it.
ASIDE = "aside"

#: Bytes that are copied at once.
PIECE = 1_000_000


def new_aside(run: Path, why: str) -> Path:
    """Make a folder for things that are moved aside."""
    aside = run / ASIDE
    check_inside(run, aside)
    try:
        aside.mkdir(exist_ok=True)
        numbers = [int(match[1]) for name in os.listdir(aside) if (match := re.match(r"([0-9]{4,9})-", name))]
        folder = aside / f"{max(numbers, default=0) + 1:04d}-{why}"
        folder.mkdir()
        sync_folder(run)
        sync_folder(aside)
    except OSError as error:
        raise UserError(f"cannot move files to {aside}: {reason(error)}; nothing was changed") from None
    return folder


def move_aside(path: Path, folder: Path) -> None:
    """Move a file or a folder, under its own name; a link is moved itself."""
    try:
        os.rename(path, folder / path.name)
        sync_folder(folder)
        sync_folder(path.parent)
    except OSError as error:
        raise UserError(f"cannot move {path} to {folder}: {reason(error)}; it was not moved") from None


@dataclass(frozen=True)
class Cut:
    """What stays of a file of rows, and what does not."""

    file: Path
    kept: Sequence[range]  # the bytes that stay: intact rows up to the checkpoint
    dropped: Sequence[range]  # all other bytes
    later: int  # rows after the checkpoint; half of a last line is one of them, as a killed process leaves it
    damaged: int  # lines that are no rows
    last: Data | None  # the last row that stays

    def apply(self, aside: Path) -> None:
        """Cut the file, and write what does not stay to a file of the same name."""
        if not self.dropped:
            return
        if not self.kept:
            move_aside(self.file, aside)
            return
        with opened_rows(self.file) as source:
            moved = aside / self.file.name
            try:
                write_durably(moved, partial(_copy, source, self.dropped))
            except OSError as error:
                raise cannot_write(moved, error, f"{self.file} is as it was") from None
            sync_folder(aside)
            write_atomically(self.file, partial(_copy, source, self.kept))


def plan_cut(file: Path, update: int) -> Cut:
    kept: list[range] = []
    dropped: list[range] = []
    later = damaged = place = 0
    last = None
    try:
        with opened_rows(file) as lines:
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
    return Cut(file, kept, dropped, later, damaged, last)


def _add(ranges: list[range], new: range) -> None:
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
