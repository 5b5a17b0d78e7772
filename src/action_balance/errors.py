"""Errors that a user can fix: one line, exit code 2, no traceback."""

import difflib
import errno
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

#: Largest whole number that is counted to, in 32 bits.
MAX = 2**31 - 1

#: What to do before a disk can be written to again, by the number of the system's error.
FIXES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "allow larger files",
    errno.EROFS: "make the file system writable",
    errno.EIO: "check the disk",
    errno.EACCES: "make it writable",
    errno.EPERM: "make it writable",
}

#: Most digits of a number in an error message.
DIGITS = 24

#: Most names that an error message lists.
SHOWN = 12


class UserError(Exception):
    """An error in the input that the user can fix; the message is a single line that states what to do."""


class WriteError(UserError):
    """A file cannot be written because of the disk. Who catches it knows how to go on when that is fixed."""

    def __init__(self, message: str, cause: OSError) -> None:
        super().__init__(message)
        self.fix, self._number = FIXES.get(cause.errno or 0, ""), cause.errno

    def __reduce__(self) -> tuple[type["WriteError"], tuple[str, OSError]]:
        return type(self), (str(self), OSError(self._number, ""))

    def then(self, how: str) -> UserError:
        """The error with what to do; what only the user knows how to fix is left to the user."""
        return UserError(f"{self}; {self.fix}, then {how}" if self.fix else f"{self}; {how}")


def as_size(size: int) -> str:
    """Bytes in words, for messages: ``160 GB``."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB")):
        if size >= 1000**power:
            number = size / 1000**power
            return f"{number:,.0f} {unit}" if number >= 10 else f"{number:.1f} {unit}"
    return f"{size:,} bytes"


def as_duration(seconds: float) -> str:
    """Seconds in words: ``2 h 5 min``, ``3 min 20 s``, ``12 s``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def nearest(name: str, known: Iterable[str], similarity: float = 0.5) -> str | None:
    """The known name that is most similar to a misspelt one; None if no name is similar enough."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=similarity)
    return near[0] if near else None


def check_name(kind: str, name: str, known: Iterable[str]) -> str:
    """The name, if it is known; otherwise a `UserError` that suggests the nearest."""
    known = list(known)
    if name in known:
        return name
    near = nearest(name, known) if isinstance(name, str) else None  # from Python, it can be anything
    some = known if len(known) <= SHOWN else [*known[:SHOWN], f"{len(known) - SHOWN} others"]
    hint = f"did you mean {near}?" if near else f"choose from {', '.join(some)}"
    raise UserError(f"unknown {kind} '{name}': {hint}")


def check_range(name: str, value: Any, low: float = 0, high: float = 3e38, above: bool = False) -> None:
    """Raise a `UserError` for a number that is not finite or not in a range; ``above`` excludes ``low`` itself."""
    if not -math.inf < value < math.inf:
        wanted = "a finite number"
    elif value < low or (above and value == low):
        wanted = f"above {low:g}" if above else f"{low:g} or more"
    elif value > high:
        wanted = f"at most {high:.12g}"
    else:
        return
    text = str(value) if len(str(value)) <= DIGITS else f"{Decimal(value):.3g}"
    raise UserError(f"{name} must be {wanted}, not {text}")


def check_unused(settings: Any, names: Iterable[str], why: str, start: Any = None) -> None:
    """Raise a `UserError` that names the flag of a setting that has no effect and differs from its default.

    ``start`` has the settings of a preset, which nobody has chosen one by one.
    """
    for name in names:
        default = getattr(type(settings), name)
        if getattr(settings, name) not in (default, getattr(start, name, default)):
            raise UserError(f"{why}: leave out {flag(name)}")


def flag(name: str) -> str:
    """The flag of a setting: ``--learning-rate`` for ``learning_rate``."""
    return f"--{name.replace('_', '-')}"
