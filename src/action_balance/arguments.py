"""Arguments of Python functions whose types nothing else checks: a `UserError` in place of a TypeError from within."""

import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from action_balance.errors import UserError


def as_path(name: str, value: Any) -> Path:
    if not isinstance(value, str | os.PathLike):
        raise UserError(f"{name} must be a path, not {value!r:.60}")
    return Path(value)


def as_whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise UserError(f"{name} must be a whole number, not {value!r:.60}") from None


def as_texts(name: str, value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    for one in texts:
        if not isinstance(one, str):
            raise UserError(f"{name} must be a string, or several strings, not {one!r:.60}")
    return texts
