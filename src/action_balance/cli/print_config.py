"""``--print-config``: all settings as a file that ``--config`` reads back, with the same result."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from action_balance.cli.form import Flag, Form
from action_balance.files import Data

#: The kinds of files that are printed.
Kind = Literal["toml", "json"]


def settings_text(form: Form, command: Any, kind: Kind) -> str:
    """All settings of a command in their groups."""
    flags = [one for one in form.flags if _is_printed(one) and one.path not in form.unused]
    groups: dict[str, Data] = {}
    for one in sorted(flags, key=lambda one: one.title != ""):
        value = _plain(one, setting(command, one.path))
        if value is None and one.default is not None and not _is_of_bonus(one):
            value = "none" if one.default not in ((), "") else None  # the default of a preset was turned off
        if value is not None:
            groups.setdefault(one.title or "run", {})["env" if one.positional else one.name[2:]] = value
    if kind == "json":
        return json.dumps({name: value for group in groups.values() for name, value in group.items()}, indent=2) + "\n"
    return "\n".join(
        f"# {title}\n" + "".join(f"{name} = {_toml(value)}\n" for name, value in group.items())
        for title, group in groups.items()
    )


def setting(command: Any, path: str) -> Any:
    """The value at the end of a path of fields and keys; None where there is none."""
    value = command
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if value is None:
            return None
    return value


def _is_printed(one: Flag) -> bool:
    """Whether it is a setting of the run, or of who follows it, and not of the command."""
    return one.path.startswith("settings.") or one.path in ("track", "track_project")


def _is_of_bonus(one: Flag) -> bool:
    """Whether it is of a single bonus, whose settings hold only what differs from its defaults."""
    return ".bonus_settings." in one.path


def _plain(one: Flag, value: Any) -> Any:
    if one.parsed and isinstance(value, str):
        return json.loads(value) if value else None
    if isinstance(value, tuple):
        return [_plain(one, item) for item in value] or None
    return value


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        items = ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items() if item is not None)
        return f"{{ {items} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)  # of text, numbers and booleans, JSON is TOML
