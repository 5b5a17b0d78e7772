"""Keyword arguments of environments, which are kept as the text of a JSON object."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from action_balance.errors import UserError


def parse_kwargs(words: Sequence[str]) -> str:
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not word.lstrip().startswith("{") and equals and key.isidentifier():
            try:
                found[key] = json.loads(value)
            except (ValueError, RecursionError):
                found[key] = {"True": True, "False": False, "None": None}.get(value, value)
            continue
        try:
            given = json.loads(word)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            raise UserError(f"--env-kwargs {word:.40} is neither KEY=VALUE nor a JSON object, e.g. size=6")
        found |= given
    return json.dumps(found, sort_keys=True) if found else ""


def as_kwargs(given: Any) -> str:
    if isinstance(given, Mapping):
        given = json.dumps(dict(given), sort_keys=True) if given else ""
    try:
        is_object = isinstance(json.loads(given or "{}"), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        raise UserError(f"--env-kwargs {given:.40} is not a JSON object")
    return str(given)
