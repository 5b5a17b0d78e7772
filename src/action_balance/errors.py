"""Errors that a user can mend: one line, exit code 2, no traceback."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something in the input is wrong; the message is one line and says what to do."""


def check_name(kind: str, name: str, known: Iterable[str]) -> str:
    """``name`` if it is one of ``known``; otherwise a `UserError` that suggests the nearest."""
    known = list(known)
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}"
    raise UserError(f"unknown {kind} '{name}': {hint}")
