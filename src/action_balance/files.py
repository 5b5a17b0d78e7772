"""Files that are written whole or not at all, and one-line reasons where that fails."""

import contextlib
import errno
import glob
import hashlib
import json
import os
import secrets
import stat
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from action_balance.errors import UserError, WriteError
from action_balance.reading import Unreadable, exists, opened, read_json

#: Plain data, as JSON holds it.
Data = dict[str, Any]
#: What a file is to hold: bytes, or a function that writes to it.
Content = bytes | Callable[[BinaryIO], object]


def reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).strip().splitlines()
    return textwrap.shorten(lines[0], 160) if lines else type(error).__name__


def install(extra: str) -> str:
    """The command that installs an extra, run in the project's folder: the project is in no package index."""
    return f'pip install -c constraints.txt ".[{extra}]"'


def missing(package: str, need: str, extra: str) -> UserError:
    advice = f"{install(extra)} in the folder of action-balance"
    return UserError(f"{package} is not installed, but {need} needs it: {advice}")


class NotWritable(WriteError):
    """A place where this user may not write: the file system or the folder is read-only."""


def cannot_write(path: Path, error: OSError, hint: str = "") -> WriteError:
    kind = NotWritable if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) else WriteError
    return kind(f"cannot write {path}: {reason(error)}{f'; {hint}' if hint else ''}", error)


def open_own(path: Path, flags: int) -> int:
    """Open a regular file for writing; an ``OSError`` for anything else under its name.

    Somebody else may have made the folder: a link would lead to another file, and a pipe would wait forever.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file, or it is a link: move it away")
    return os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o666)


def open_to_append(path: Path) -> BinaryIO:
    """Open a plain file to add to its end; an ``OSError`` if it is a link or something else."""
    return os.fdopen(open_own(path, os.O_WRONLY | os.O_APPEND), "ab")


def write_durably(path: Path, content: Content) -> None:
    """Write a new file, which is on the disk when this returns; an ``OSError`` leaves a part of it."""
    with open(path, "xb") as file:  # never through a link
        if isinstance(content, bytes):
            file.write(content)
        else:
            content(file)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, content: Content) -> None:
    """Write a whole file or nothing, even if the disk is full or the power fails.

    The file is written under a temporary name that no other process uses. A link under the final name is replaced, not
    followed; devices and pipes are refused.
    """
    partial = path.with_name(f"{_partial_prefix(path)}{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(path) and not path.is_symlink() and not path.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file")
        write_durably(partial, content)
        os.replace(partial, path)
    except BaseException as error:
        if not isinstance(error, FileExistsError):
            with contextlib.suppress(OSError):
                partial.unlink()
        if isinstance(error, OSError):
            raise cannot_write(path, error) from None
        raise


def _partial_prefix(path: Path) -> str:
    return f".{path.name[:40]}."  # the longest names leave no room for more


def remove_partial(path: Path) -> None:
    """Delete what killed processes have left of `write_atomically`; for the only process that writes the file."""
    pattern = f"{glob.escape(_partial_prefix(path))}{8 * '[0-9a-f]'}.part"
    for leftover in path.parent.glob(pattern):
        with contextlib.suppress(OSError):
            leftover.unlink()


def leads_out(folder: Path, path: Path) -> bool:
    """Whether links lead out of a folder on the way to a path in it, whether the path exists or not."""
    try:
        return not path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # for circular links, and for names that no file can have
        return True


def check_inside(folder: Path, path: Path) -> None:
    """Raise a `UserError` if what is written to a path in a folder would be written outside of the folder."""
    if leads_out(folder, path):
        raise UserError(f"{path} is a link that points outside {folder}: replace it with a folder")


def found_inside(root: Path, path: Path) -> Path | None:
    """The real file behind a path; None if there is none, or if links lead out of ``root`` to it."""
    with contextlib.suppress(OSError):  # such as no permission
        if not leads_out(root, path) and path.is_file():
            return path.resolve()
    return None


def own_file(folder: Path, name: str) -> Path:
    """The path of a file in a folder, whether it exists or not; a `UserError` if a link leads out of the folder.

    Somebody else may have made the folder, and a page that is passed on must not contain other files of this machine.
    """
    path = folder / name
    if exists(path) and leads_out(folder, path):
        raise UserError(f"{path} is a link that points outside its folder: replace it with the file itself")
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
    """The SHA-256 of a regular file of any size; an `Unreadable` where it cannot be read."""
    with opened(path, "a regular file", None) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(path: Path) -> None:
    """Have the system put the names in a folder on the disk, where it can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
