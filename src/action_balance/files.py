"""Files that are whole or not there, and the one line for when they cannot be written."""

import contextlib
import errno
import hashlib
import json
import os
import re
import textwrap
from pathlib import Path
from typing import Any

from action_balance.errors import UserError

#: Plain data, as JSON has it.
Data = dict[str, Any]


def reason(error: BaseException) -> str:
    """Why something failed, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    code = re.search(r"os_error_code='(\d+)'", str(error))  # TensorStore's long story of a full disk ends so
    if code:
        return os.strerror(int(code.group(1)))
    lines = str(error).strip().splitlines()
    return textwrap.shorten(lines[0], 160) if lines else type(error).__name__


def install(extra: str) -> str:
    """The command that installs an extra, in the folder of action-balance: no registry of packages has this one."""
    return f'pip install ".[{extra}]"'


def missing(package: str, need: str = "training", extra: str = "train") -> UserError:
    """What to say when a package that not everybody needs is not installed."""
    advice = f"{install(extra)} in the folder of action-balance"
    return UserError(f"{package} is not installed, and {need} needs it: {advice}")


def write_atomically(path: Path, content: bytes) -> None:
    """The whole file or nothing, also when the disk is full or the power goes."""
    partial = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise UserError(f"cannot write {path}: {reason(error)}") from None


def found_inside(root: Path, path: Path) -> Path | None:
    """The real file that a path leads to; None where there is none, or links lead to it out of a folder."""
    try:
        real = path.resolve(strict=True)
        return real if real.is_file() and real.is_relative_to(root.resolve(strict=True)) else None
    except (OSError, RuntimeError):  # the latter for links in a circle
        return None


def own_file(folder: Path, name: str) -> Path:
    """A file of a folder to read data from, there or not; a `UserError` where a link leads out of the folder to it.

    Others may have made the folder, and a page that is passed on must not hold what is elsewhere on this machine.
    """
    path = folder / name
    if path.exists() and not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{path} is a link that leads out of its folder: put the file itself there")
    return path


def to_json(data: Data) -> bytes:
    """A JSON file for people to read. Numbers that are not finite are a ``ValueError``."""
    return (json.dumps(data, indent=2, allow_nan=False) + "\n").encode()


def digest(path: Path, durable: bool = False) -> str:
    """The SHA-256 of a file; ``durable`` also has the system put it on the disk."""
    with open(path, "rb") as file:
        if durable:
            os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_sure_of_room(folder: Path, size: int) -> None:
    """Raise the ``OSError`` of a full disk before anything is written, by asking for all of the room at once."""
    if not hasattr(os, "posix_fallocate"):
        return
    placeholder = folder / ".room"
    with open(placeholder, "wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):  # others: not every file system can do it
                raise
    placeholder.unlink()
