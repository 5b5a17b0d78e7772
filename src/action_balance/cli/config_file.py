"""``--config my.toml``: the settings in a file of a person as the flags that they stand for.

Every key is the name of a flag, ``learning-rate``; the tables of Python's settings classes are accepted as well,
``[agent.ppo] learning_rate``. Flags that are typed win. Names in the file that lead to code need ``--trust``.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_origin

from action_balance.cli.form import Flag, Form
from action_balance.cli.parser import split
from action_balance.config import fields as values
from action_balance.config.settings_file import Entry, entries, refuse
from action_balance.config.trust import check_trusted
from action_balance.errors import UserError, nearest
from action_balance.files import Data

#: What a file does not decide: other files, whom to trust, and what is deleted.
TYPED_ONLY = ("config", "trust", "overwrite", "print_config")

#: Where a key may be, by what leads to the paths of the flags.
ROOTS = ("settings.", "settings.agent.", "")

#: Path of the environment, whose name is the key ``env``.
ENV = "settings.env.name"

#: Settings that decide which other flags there are, or that may lead to code.
FIRST = (
    *(ENV, "settings.agent.preset", "settings.env.wrapper", "settings.env.env_kwargs", "settings.agent.method"),
    *("settings.agent.intrinsic", "settings.agent.action_bonus", "settings.agent.bonus.action_coef"),
    "settings.agent.memory",
)


@dataclass
class FileWords:
    """The words that a file stands for, and where each of them comes from."""

    path: Path
    words: list[str] = field(default_factory=list)
    places: dict[str, Entry] = field(default_factory=dict)
    """Entries by what an error message would mention: the flag, or the value in quotes."""

    def located(self, error: UserError) -> UserError:
        """The error with the file and the key, if it is about a setting of the file."""
        for word in re.findall(r"--[a-z][\w-]*|'[^']*'", str(error)):
            if word in self.places:
                return refuse(self.path, self.places[word], f"is refused: {error}")
        return error


def file_words(
    path: Path,
    typed: Sequence[str],
    has_env: bool,
    form: Callable[[Sequence[str]], Form],
    flags: Iterable[Flag],
    approved: Callable[[Data], Collection[str]] | None,
) -> FileWords:
    """The words of a file."""
    made, todo = FileWords(path), list(entries(path))
    known = {one.path: one for one in flags}
    first = _resolve(made, todo, [known[where] for where in FIRST if where in known], typed, has_env)
    if approved is not None:
        config = _as_config({where: known[where].value(words) for where, words in first.items()})
        try:
            check_trusted(config, approved(config), typing=True)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None
    now: tuple[Flag, ...] = ()
    while True:  # a setting such as --counter brings further flags with it
        try:
            now = form([*made.words, *typed]).flags
        except UserError as error:
            raise made.located(error) from None
        if not _resolve(made, todo, now, typed, has_env):
            break
    for entry in todo:
        if not isinstance(entry.value, dict):
            raise _unknown(path, entry, now, known.values())
    return made


def _resolve(
    made: FileWords, todo: list[Entry], flags: Sequence[Flag], typed: Sequence[str], has_env: bool
) -> dict[str, list[str]]:
    """Move the entries that are among some flags from what is to do to the words; the words of each, by path."""
    names = _names(flags)
    given, _ = split(flags, typed)
    found: dict[str, list[str]] = {}
    for entry in list(todo):
        one = _find(entry, names)
        if one is None or entry not in todo:  # a part of a table that was a value itself
            continue
        todo[:] = [other for other in todo if other.key[: len(entry.key)] != entry.key]
        if one.path in TYPED_ONLY:
            raise refuse(made.path, entry, "cannot be set in a file: give it on the command line")
        words = _words(made.path, entry, one)
        if words is None or one.path in given or (one.path == ENV and has_env):
            continue
        found[one.path] = words
        made.places |= {one.name: entry, **{f"'{word}'": entry for word in words}}
        if one.positional:
            made.words += words
        elif one.kind is bool:
            made.words.append(one.name if words == ["true"] else f"--no-{one.name[2:]}")
        else:
            made.words += [f"{one.name}={word}" for word in words]
    return found


def _names(flags: Iterable[Flag]) -> dict[str, Flag]:
    """Flags by what a key may be, with underscores: their path and their name."""
    found: dict[str, Flag] = {}
    for one in flags:
        found[one.path.replace("-", "_")] = one
        found[f" {one.name[2:].replace('-', '_')}" if not one.positional else " env"] = one
    return found


def _find(entry: Entry, names: Mapping[str, Flag]) -> Flag | None:
    key = entry.name.replace("-", "_")
    if len(entry.key) == 1 and f" {key}" in names and not (key == "env" and isinstance(entry.value, dict)):
        return names[f" {key}"]
    return next((names[f"{root}{key}"] for root in ROOTS if f"{root}{key}" in names), None)


def _words(path: Path, entry: Entry, one: Flag) -> list[str] | None:
    """A value as it would be typed, checked; None where it stands for the default."""
    value = entry.value
    if value is None:
        if one.kind is bool or "parse" in one.metadata or not _allows_none(one):
            return None
        value = "none"
    if one.kind is bool:
        if not isinstance(value, bool):
            raise refuse(path, entry, f"takes true or false, not {_shown(value)}")
        return ["true" if value else "false"]
    if "parse" in one.metadata and isinstance(value, dict):
        words = [json.dumps(value)]
    elif one.many or values.element(one.kind) is not None:
        words = [_text(path, entry, one, item) for item in (value if isinstance(value, list) else [value])]
    else:
        words = [_text(path, entry, one, value)]
    try:
        one.value(words)
    except UserError as error:
        raise refuse(path, entry, str(error).removeprefix(f"{one.name} ")) from None
    return words


def _allows_none(one: Flag) -> bool:
    try:
        return one.value(["none"]) is None
    except UserError:
        return False


def _text(path: Path, entry: Entry, one: Flag, value: Any) -> str:
    kind = values.element(one.kind) or one.kind
    if isinstance(value, list) and get_origin(kind) is tuple:
        return ",".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise refuse(path, entry, f"takes {values.describe(kind)}, not {_shown(value)}")
    return str(value)


def _shown(value: Any) -> str:
    return f"{json.dumps(value, default=str):.40}"


def _as_config(given: Mapping[str, Any]) -> Data:
    """Settings by path as nested plain data."""
    config: Data = {"env": {}, "agent": {}}
    for where, value in given.items():
        _, group, *rest = [*where.split("."), ""]
        if where.startswith("settings.") and len(rest) == 2:
            config[group][rest[0]] = value
    return config


def _unknown(path: Path, entry: Entry, now: Iterable[Flag], all_flags: Iterable[Flag]) -> UserError:
    if len(entry.key) == 1:
        name, own = entry.name.replace("_", "-"), [one.name[2:] for one in now if not one.positional]
        if any(one.name == f"--{name}" for one in all_flags):
            return refuse(path, entry, "does not apply to this environment and method: leave it out")
    else:
        name, own = entry.name, [one.path.removeprefix("settings.") for one in now]
    near = nearest(name, own, 0.6)
    hint = f"did you mean {near}?" if near else "run action-balance train --help-all to list all settings"
    return refuse(path, entry, f"is not a setting: {hint}")
