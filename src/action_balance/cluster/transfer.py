"""Folders without shared storage: which files have changed, their contents in pieces, and putting them into place."""

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from action_balance.files import check_inside
from action_balance.runs.owned import is_below, remove_empty

#: Bytes of a piece of a file.
PIECE = 16 * 2**20

#: Size and time of the last change of files by name.
Stamps = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Piece:
    """A part of a file."""

    name: str
    """Relative to the folder."""
    offset: int
    """Where it begins."""
    data: bytes


def stamps(folder: Path, names: Iterable[str]) -> Stamps:
    """What changes when a file does, for the files that exist."""
    found: Stamps = {}
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            about = (folder / name).stat()
            found[name] = about.st_size, about.st_mtime_ns
    return found


def pieces(folder: Path, names: Iterable[str], size: int = PIECE) -> Iterator[Piece]:
    """The contents of files; an empty file is one empty piece, and a file that has vanished is left out."""
    for name in names:
        with contextlib.suppress(FileNotFoundError), (folder / name).open("rb") as file:
            offset = 0
            while (data := file.read(size)) or not offset:
                yield Piece(name, offset, data)
                offset += len(data) or 1


def write_pieces(folder: Path, found: Iterable[Piece]) -> None:
    """Write pieces of files, in their order; a ``ValueError`` for names outside the folder."""
    for piece in found:
        if not is_below(piece.name):
            raise ValueError(f"{piece.name} is not below {folder}")
        path = folder / piece.name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if piece.offset else "wb") as file:
            file.seek(piece.offset)
            file.write(piece.data)


def merge(staging: Path, folder: Path, names: Sequence[str]) -> None:
    """Move files into place, in their order. A folder that is new appears at once, with everything in it."""
    for name in names:
        check_inside(folder, (folder / name).parent)
        if not os.path.lexists(staging / name):
            continue  # its folder was moved as a whole
        parts = PurePath(name).parts
        for depth in range(1, len(parts) + 1):
            part = Path(*parts[:depth])
            if depth == len(parts) or not os.path.lexists(folder / part):
                (folder / part).parent.mkdir(parents=True, exist_ok=True)
                os.replace(staging / part, folder / part)
                break


def remove_others(folder: Path, ours: Iterable[str], kept: Iterable[str]) -> None:
    """Delete files of a job that it no longer has, and folders that are empty then."""
    gone = [name for name in ours if name not in {*kept}]
    for name in gone:
        check_inside(folder, (folder / name).parent)
        (folder / name).unlink(missing_ok=True)
    remove_empty(dict.fromkeys((folder / name).parent for name in gone))


def remove(folder: Path) -> None:
    """Delete a folder with everything in it, if it exists."""
    shutil.rmtree(folder, ignore_errors=True)
