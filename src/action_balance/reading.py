"""Reading files that somebody else may have made: what is not the file that was expected is refused with one line."""

import contextlib
import json
import math
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from action_balance.errors import UserError, as_size

#: Most bytes of a JSON file, of a table or of a figure.
MAX_BYTES = 16_000_000


class Unreadable(UserError):
    """A file that cannot be read, or is not what was expected."""


class Missing(Unreadable):
    """There is no such file."""


class Damaged(Unreadable):
    """A file that was read, and does not hold what was expected."""


def status(path: Path) -> os.stat_result | None:
    """What the system knows about a path, links followed."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def exists(path: Path) -> bool:
    """Whether there is a file or a folder; an `Unreadable` where that cannot be known."""
    return status(path) is not None


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; an `Unreadable` where that cannot be known."""
    found = status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def is_file(path: Path) -> bool:
    """Whether a path is a regular file; an `Unreadable` where that cannot be known."""
    found = status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def entries(folder: Path) -> list[Path]:
    """What is in a folder, sorted; nothing where there is no folder, an `Unreadable` where it cannot be read."""
    try:
        return sorted(folder / name for name in os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError) as error:
        raise _unreadable(folder, error) from None


@contextlib.contextmanager
def opened(path: Path, expected: str, most: int | None = MAX_BYTES) -> Iterator[BufferedReader]:
    """Open a regular file to read it; whatever the system refuses, also while it is read, is an `Unreadable`."""
    found = status(path)
    if found is not None and not stat.S_ISREG(found.st_mode):  # opening a pipe would wait for its writer
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe or a device"
        raise Unreadable(f"{path} is {kind}, but {expected} is expected")
    if found is not None and most is not None and found.st_size > most:
        size = as_size(found.st_size)
        raise Unreadable(f"{path} has {size}, but {expected} is expected, of at most {as_size(most)}")
    try:
        with open(path, "rb") as file:
            yield file
    except FileNotFoundError as error:
        raise Missing(f"cannot read {path}: {error.strerror}") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def read_bytes(path: Path, expected: str, most: int = MAX_BYTES) -> bytes:
    with opened(path, expected, most) as file:
        return file.read()


def read_text(path: Path, expected: str, most: int = MAX_BYTES) -> str:
    """The text of a regular file in UTF-8, with or without a byte order mark."""
    try:
        return read_bytes(path, expected, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Damaged(f"{path} is not UTF-8 text, but {expected} is expected") from None


def read_json(path: Path, expected: str, most: int = MAX_BYTES) -> dict[str, Any]:
    content = read_bytes(path, expected, most)
    try:
        found = parse_json(content)
    except ValueError as error:
        raise Damaged(f"{path} is damaged ({error}), but {expected} is expected") from None
    if not isinstance(found, dict):
        raise Damaged(f"{path} is not a JSON object, but {expected} is expected")
    return found


def parse_json(content: bytes | str) -> Any:
    """Parse JSON whose numbers are finite; a ``ValueError`` of one line says what is wrong with it."""
    try:
        return json.loads(content, parse_float=_finite, parse_constant=_finite)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not valid JSON: line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("it has too many nested lists and objects") from None


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"it has {digits:.20}, which is not a finite number")
    return number


def _unreadable(path: Path, error: OSError | ValueError) -> Unreadable:
    """The error for a path that the system refuses; a ``ValueError`` is a name that no file can have."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else "no file can have this name"
    return Unreadable(f"cannot read {path}: {why}")
