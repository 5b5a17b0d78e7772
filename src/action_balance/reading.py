"""Reading files that somebody else may have made: regular files only, of a limited size, and JSON of a limited depth.

Nothing here waits, and nothing takes more memory than the limit of what is expected: a pipe, ``/dev/zero``, a folder or
a file of many gigabytes is refused with one line that says what was expected.
"""

import contextlib
import errno
import json
import math
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn

from action_balance.errors import UserError, as_size

#: Most bytes of a JSON file, of a table or of a figure.
MAX_BYTES = 16_000_000
#: Most lists and objects inside each other in JSON. Ours have fewer than ten.
MAX_DEPTH = 50
#: Most digits of a whole number in JSON, so that it is a number for `float`, too.
MAX_DIGITS = 300

#: What is not a regular file, by the test of its mode.
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)
#: Opening a pipe must not wait for its writer, and a terminal must not become ours; not on every system.
_FLAGS = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))


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
    try:
        with _regular(path, expected, most) as file:
            yield file
    except FileNotFoundError as error:
        raise Missing(f"cannot read {path}: {error.strerror}") from None
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise Unreadable(f"{path} is a socket, but {expected} is expected") from None
        raise _unreadable(path, error) from None


def _regular(path: Path, expected: str, most: int | None) -> BufferedReader:
    try:
        descriptor = os.open(path, _FLAGS)
    except ValueError as error:
        raise _unreadable(path, error) from None
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            kind = next((kind for test, kind in _KINDS if test(about.st_mode)), "no file")
            raise Unreadable(f"{path} is {kind}, but {expected} is expected")
        if most is not None and about.st_size > most:
            raise _too_large(path, expected, most, about.st_size)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Path, expected: str, most: int = MAX_BYTES) -> bytes:
    """The content of a regular file."""
    with opened(path, expected, most) as file:
        content = file.read(most + 1) or b""  # files that the system makes up have no size, or nothing yet
    if len(content) > most:
        raise _too_large(path, expected, most, len(content))
    return content


def read_text(path: Path, expected: str, most: int = MAX_BYTES) -> str:
    """The text of a regular file in UTF-8, with or without a byte order mark."""
    try:
        return read_bytes(path, expected, most).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Damaged(f"{path} is not UTF-8 text, but {expected} is expected") from None


def read_json(path: Path, expected: str, most: int = MAX_BYTES) -> dict[str, Any]:
    """The JSON object in a regular file."""
    content = read_bytes(path, expected, most)
    try:
        found = parse_json(content)
    except ValueError as error:
        raise Damaged(f"{path} is damaged ({error}), but {expected} is expected") from None
    if not isinstance(found, dict):
        raise Damaged(f"{path} is not a JSON object, but {expected} is expected")
    return found


def parse_json(content: bytes | str) -> Any:
    """Parse JSON as it is written by us: finite numbers, no name twice, a limited depth."""
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        found = json.loads(
            text,
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_no_number,
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not valid JSON: line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise _too_deep() from None
    check_depth(found)
    return found


def check_depth(data: Any, most: int = MAX_DEPTH) -> None:
    """Raise a ``ValueError`` for plain data with too many lists and objects inside each other."""
    level = [data]
    for _ in range(most + 1):
        level = [
            item
            for one in level
            if isinstance(one, (dict, list))
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return
    raise _too_deep()


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"it has {text:.20}, which is not a finite number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it has a duplicate name in an object")
    return found


def _too_deep() -> ValueError:
    return ValueError(f"it has more than {MAX_DEPTH} nested lists and objects")


def _too_large(path: Path, expected: str, most: int, size: int) -> Unreadable:
    return Unreadable(f"{path} is {as_size(size)} or larger, but {expected} is expected, of at most {as_size(most)}")


def _unreadable(path: Path, error: OSError | ValueError) -> Unreadable:
    """The error for a path that the system refuses; a ``ValueError`` is a name that no file can have."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else "no file can have this name"
    return Unreadable(f"cannot read {path}: {why}")
