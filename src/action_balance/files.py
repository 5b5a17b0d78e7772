"""Files that are written whole or not at all, and one-line reasons where that fails."""

import contextlib
import hashlib
import json
import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from action_balance.errors import UserError, WriteError
from action_balance.reading import MOST_ARRAY_BYTES, Unreadable, exists, opened, read_json

#: Plain data, as JSON holds it.
Data = dict[str, Any]
#: What a file is to hold: bytes, or a function that writes to it.
Content = bytes | Callable[[BinaryIO], object]


def reason(error: BaseException) -> str:
    """Why something failed, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).strip().splitlines()
    return textwrap.shorten(lines[0], 160) if lines else type(error).__name__


def install(extra: str) -> str:
    """The command that installs an extra, run in the project's folder: the project is in no package index."""
    return f'pip install ".[{extra}]"'


def missing(package: str, need: str = "training", extra: str = "train") -> UserError:
    """The error for an optional package that is not installed."""
    advice = f"{install(extra)} in the folder of action-balance"
    return UserError(f"{package} is not installed, and {need} needs it: {advice}")


def write_durably(path: Path, content: Content) -> None:
    """Write a file, which is on the disk when this returns; an ``OSError`` leaves a part of it."""
    with open(path, "wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            content(file)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, content: Content) -> None:
    """Write a whole file or nothing, even if the disk is full or the power fails."""
    partial = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(partial, content)
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise WriteError(f"cannot write {path}: {reason(error)}", error) from None


def found_inside(root: Path, path: Path) -> Path | None:
    """The real file behind a path; None if there is none, or if links lead out of ``root`` to it."""
    try:
        real = path.resolve(strict=True)
        return real if real.is_file() and real.is_relative_to(root.resolve(strict=True)) else None
    except (OSError, RuntimeError, ValueError):  # for circular links, and for names that no file can have
        return None


def own_file(folder: Path, name: str) -> Path:
    """The path of a file in a folder, whether it exists or not; a `UserError` if a link leads out of the folder.

    Somebody else may have made the folder, and a page that is passed on must not contain other files of this machine.
    """
    path = folder / name
    if exists(path) and not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{path} is a link that leads out of its folder: put the file itself there")
    return path


def load_json(file: Path) -> Data | None:
    """A JSON object; None where the file is missing, damaged or something else (see `read_json` for errors)."""
    try:
        return read_json(file, "a JSON file")
    except Unreadable:
        return None


def to_json(data: Data) -> bytes:
    """A JSON file that people can read; a ``ValueError`` for numbers that are not finite."""
    return (json.dumps(data, indent=2, allow_nan=False) + "\n").encode()


def fingerprint(data: Data) -> str:
    """The SHA-256 of plain data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def digest(path: Path) -> str:
    """The SHA-256 of a regular file; an `Unreadable` where it cannot be read."""
    with opened(path, "a regular file", MOST_ARRAY_BYTES) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(path: Path) -> None:
    """Have the system put the names in a folder on the disk, where it can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
