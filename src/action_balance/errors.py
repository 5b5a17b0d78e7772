"""Errors that a user can mend: one line, exit code 2, no traceback."""

import difflib
import math
from collections.abc import Iterable

#: The largest whole number that is counted to, in 32 bits.
MOST = 2**31 - 1


#: Names that an error lists.
SHOWN = 12


class UserError(Exception):
    """Something in the input is wrong; the message is one line and says what to do."""


def check_name(kind: str, name: str, known: Iterable[str]) -> str:
    """``name`` if it is one of ``known``; otherwise a `UserError` that suggests the nearest."""
    known = list(known)
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    some = known if len(known) <= SHOWN else [*known[:SHOWN], f"{len(known) - SHOWN} others"]
    hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(some)}"
    raise UserError(f"unknown {kind} '{name}': {hint}")


def check_numbers(settings: object, *names: str, low: float = 0, high: float = 3e38, above: bool = False) -> None:
    """A `UserError` with the name of its flag for a setting that is not finite, or not from ``low`` to ``high``.

    Args:
        settings: what has the numbers.
        names: of its fields.
        low: the least that is allowed.
        high: the most; without it, what a 32-bit number holds.
        above: whether ``low`` itself is not allowed.
    """
    for name in names:
        value = getattr(settings, name)
        if not -math.inf < value < math.inf:
            wanted = "a finite number"
        elif value < low or (above and value == low):
            wanted = f"above {low:g}" if above else f"{low:g} or more"
        elif value > high:
            wanted = f"at most {high:.12g}"
        else:
            continue
        raise UserError(f"{flag(name)} must be {wanted}, not {value}")


def flag(name: str) -> str:
    """The flag of a setting: ``--learning-rate`` of ``learning_rate``."""
    return f"--{name.replace('_', '-')}"
