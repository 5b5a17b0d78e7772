"""``--print-config``: all settings as a file that ``--config`` reads back, with the same result."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from action_balance.cli.form import Flag, Form
from action_balance.files import Data

#: The kinds of files that are printed.
Kind = Literal["toml", "json"]
KINDS: tuple[str, ...] = get_args(Kind)


def with_kind(words: list[str], flag: str) -> list[str]:
    """Complete the flag where no kind of file follows it, so that it does not take the next word for one."""
    made = []
    for place, word in enumerate(words):
        bare = word == flag and (place + 1 == len(words) or words[place + 1] not in KINDS)
        made.append(f"{flag}={KINDS[0]}" if bare else word)
    return made


def settings_text(form: Form, command: Any, kind: Kind) -> str:
    """All settings of a command in their groups."""
    flags = [one for one in form.flags if _is_printed(one) and one.path not in form.unused]
    groups: dict[str, Data] = {}
    for one in sorted(flags, key=lambda one: one.group is not None):
        value = _plain(one, setting(command, one.path))
        if value is None and one.default is not None and not _is_of_bonus(one):
            value = "none" if one.default not in ((), "") else None  # the default of a preset was turned off
        if value is not None:
            title = one.group.title if one.group else "run"
            groups.setdefault(title, {})["env" if one.positional else one.name[2:]] = value
    return _WRITERS[kind](groups)


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
    if "parse" in one.metadata and isinstance(value, str):
        return json.loads(value) if value else None
    if isinstance(value, tuple):
        return [_plain(one, item) for item in value] or None
    return value


def _toml(groups: Mapping[str, Data]) -> str:
    parts = [
        f"# {title}\n" + "".join(f"{name} = {_toml_value(value)}\n" for name, value in group.items())
        for title, group in groups.items()
    ]
    return "\n".join(parts)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        items = ", ".join(
            f"{json.dumps(name)} = {_toml_value(item)}" for name, item in value.items() if item is not None
        )
        return f"{{ {items} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value)  # of text, numbers and booleans, JSON is TOML


def _json(groups: Mapping[str, Data]) -> str:
    return json.dumps({name: value for group in groups.values() for name, value in group.items()}, indent=2) + "\n"


_WRITERS: dict[Kind, Callable[[Mapping[str, Data]], str]] = {"toml": _toml, "json": _json}
