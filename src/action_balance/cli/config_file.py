"""``--config my.toml``: the settings in a file that a person has written, from which a command starts.

Every key is the name of a flag, ``learning-rate``; the tables of Python's settings classes are accepted as well,
``[agent.algorithm] learning_rate``. Flags that are typed win. Names in the file that lead to code need ``--trust``.
"""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any

from action_balance.cli.form import Flag, Form
from action_balance.config.fields import describe, element, options
from action_balance.config.trust import check_trusted
from action_balance.errors import UserError, nearest
from action_balance.files import Data
from action_balance.reading import Damaged, is_folder, parse_json, read_text

#: The kinds of files by suffix, and the most bytes of one.
KINDS = {".toml": "TOML", ".json": "JSON"}
MAX_BYTES = 200_000

#: What a file does not decide: other files, whom to trust, and what is deleted.
TYPED_ONLY = ("config", "trust", "overwrite", "print_config")

#: Where a key may be, by what leads to the paths of the flags.
ROOTS = ("settings.", "settings.agent.", "")

#: Settings that may lead to code, whose values are approved before anything is imported.
LEADING = (
    *("settings.env.name", "settings.env.wrapper", "settings.env.env_kwargs"),
    *("settings.agent.intrinsic", "settings.agent.action_bonus", "settings.agent.algorithm.name"),
)

#: The names of the tables that a setting is in, and its own.
Key = tuple[str, ...]


def is_settings_file(path: Path) -> bool:
    """Whether a path is a person's settings, and not a run or its config.json, which has a format."""
    if is_folder(path) or path.suffix.lower() not in KINDS:
        return False
    return path.suffix.lower() != ".json" or (path.name != "config.json" and "format" not in read_settings(path))


def read_settings(path: Path) -> Data:
    """The content of a file with settings."""
    kind = KINDS[path.suffix.lower()]
    text = read_text(path, f"a settings file in {kind}", MAX_BYTES)
    try:
        found = tomllib.loads(text) if kind == "TOML" else parse_json(text)
    except RecursionError:
        raise Damaged(f"{path} has too many nested tables, but settings in {kind} are expected") from None
    except ValueError as error:
        raise Damaged(f"{path} cannot be read as {kind}: {' '.join(str(error).split()):.160}") from None
    if not isinstance(found, dict):
        raise Damaged(f"{path} has no named settings, but settings in {kind} are expected")
    return found


def form_with_file(
    path: Path,
    typed: Collection[str],
    chosen: Mapping[str, Any],
    known: Mapping[str, Flag],
    make: Callable[[Mapping[str, Any]], Form],
    approved: Callable[[Data], Collection[str]] | None,
) -> Form:
    """The form of a command that starts from the settings in a file.

    Some paths of flags were ``typed``. ``make`` makes the form from the values, by path, that decide which flags there
    are; the typed ones are those that were ``chosen``. ``approved`` says what the user has typed of what a config leads
    to; None if the file is trusted.
    """
    file = SettingsFile(path, typed)
    file.take([known[one] for one in LEADING if one in known])
    if approved is not None:
        config = _as_config(file.values)
        try:
            check_trusted(config, approved(config), typing=True)
        except UserError as error:
            raise UserError(f"{path}: {error}") from None
    try:
        form = make({**file.values, **chosen})
        while file.take(form.flags):  # a setting such as --counter brings further flags with it
            form = make({**file.values, **chosen})
        file.check_all_taken(form.flags, known)
        for path_of_flag in file.values:
            form.need(path_of_flag)
    except UserError as error:
        raise file.located(error) from None
    return replace(form, start={**form.start, **file.values}, located=file.located)


class SettingsFile:
    """The settings in a file. They are taken from it as the values of flags, but for those that were typed."""

    def __init__(self, path: Path, typed: Collection[str]) -> None:
        self.path, self.values, self._typed = path, dict[str, Any](), typed
        self._left = dict(_walk(read_settings(path), ()))
        self._keys: dict[str, Key] = {}  # by path
        self._places: dict[str, Key] = {}  # keys by what an error message would mention: flags, and values in quotes
        spelled: dict[str, Key] = {}
        for key in self._left:
            other = spelled.setdefault(".".join(key).replace("_", "-"), key)
            if other != key:
                names = " and ".join(map(".".join, (other, key)))
                raise UserError(f"{path} has {names}, which are the same setting: keep one of them")

    def take(self, flags: Iterable[Flag]) -> bool:
        """Take the settings that are among some flags; whether there were any."""
        names: dict[str, Flag] = {}  # by what a key may be: the path, or the name after a space
        for one in flags:
            names[one.path.replace("-", "_")] = one
            names[" env" if one.positional else f" {one.name[2:].replace('-', '_')}"] = one
        taken = [(key, flag) for key in self._left if (flag := _find(key, self._left[key], names))]
        for key, one in taken:
            if key not in self._left:  # a part of a table that was a value itself
                continue
            value = self._left[key]
            self._left = {other: left for other, left in self._left.items() if other[: len(key)] != key}
            if one.path in TYPED_ONLY:
                raise self._refuse(key, "cannot be set in a file: give it on the command line")
            self._keys[one.path] = key
            if one.path in self._typed or (value is None and NoneType not in options(one.kind)):
                continue  # in JSON, null stands for the default
            words = [] if value is None else self._words(key, one, value)
            try:
                self.values[one.path] = None if value is None else one.value(words)
            except UserError as error:
                why = str(error)
                is_own = why.startswith(one.name)
                raise self._refuse(key, why.removeprefix(f"{one.name} ") if is_own else f"is refused: {why}") from None
            self._places |= {one.name: key, **{f"'{word}'": key for word in words}}
        return bool(taken)

    def check_all_taken(self, now: Iterable[Flag], known: Mapping[str, Flag]) -> None:
        """Raise a `UserError` for a setting that is none of the flags, of which some others are known."""
        taken = {one.path for one in now}
        for flag_path, key in self._keys.items():
            if flag_path not in taken:
                raise self._refuse(key, "does not apply to this environment and method: leave it out")
        for key in (key for key, value in self._left.items() if not isinstance(value, dict)):
            name, own = ".".join(key), [one.path.removeprefix("settings.") for one in now]
            if len(key) == 1:
                name, own = name.replace("_", "-"), [one.name[2:] for one in now if not one.positional]
                if any(one.name == f"--{name}" for one in known.values()):
                    raise self._refuse(key, "does not apply to this environment and method: leave it out")
            near = nearest(name, own, 0.6)
            hint = f"did you mean {near}?" if near else "run action-balance train --help-all to list all settings"
            raise self._refuse(key, f"is not a setting: {hint}")

    def located(self, error: UserError) -> UserError:
        """The error with the file and the key, if it is about a setting of the file."""
        for word in re.findall(r"--[a-z][\w-]*|'[^']*'", str(error)):
            if word in self._places and not str(error).startswith(str(self.path)):
                return self._refuse(self._places[word], f"is refused: {error}")
        return error

    def _refuse(self, key: Key, why: str) -> UserError:
        line = _line(read_text(self.path, "a settings file", MAX_BYTES).splitlines(), key)
        return UserError(f"{self.path}{f', line {line}' if line else ''}: {'.'.join(key):.80} {why}")

    def _words(self, key: Key, one: Flag, value: Any) -> list[str]:
        """A value as it would be typed."""
        if one.parsed and isinstance(value, dict):
            return [json.dumps(value)]
        kind = element(one.kind) or one.kind
        items = value if isinstance(value, list) and (one.parsed or kind is not one.kind) else [value]
        for item in items:
            if isinstance(item, bool) != (kind is bool) or not isinstance(item, int | float | str):
                shown = json.dumps(value, default=str)
                raise self._refuse(key, f"takes {describe(kind)}, not {shown:.40}")
        return [str(item) for item in items]


def _walk(table: Data, above: Key) -> Iterator[tuple[Key, Any]]:
    for name, value in table.items():
        yield (*above, name), value
        if isinstance(value, dict):
            yield from _walk(value, (*above, name))


def _find(key: Key, value: Any, names: Mapping[str, Flag]) -> Flag | None:
    name = ".".join(key).replace("-", "_")
    if len(key) == 1 and f" {name}" in names and not (name == "env" and isinstance(value, dict)):
        return names[f" {name}"]
    return next((names[f"{root}{name}"] for root in ROOTS if f"{root}{name}" in names), None)


def _as_config(values: Mapping[str, Any]) -> Data:
    """Settings by path as nested plain data."""
    config: Data = {"env": {}, "agent": {}}
    for path, value in values.items():
        _, *groups, name = path.split(".")
        inner = config
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[name] = value
    return config


def _line(lines: list[str], key: Key) -> int | None:
    """The line of a key, found by the names that lead to it, each below the one before."""
    start, found = 0, None
    for name in key:
        word = rf"(?:[\"']?{re.escape(name)}[\"']?)"
        as_key = rf"^[\s{{,]*(?:[\w.-]+\.)?{word}(?:\.[\w.-]+)?\s*[=:]"
        as_table = rf"^\s*\[+(?:[\w.-]+\.)?{word}(?:\.|\])"
        for number in range(start, len(lines)):
            if re.search(as_key, lines[number]) or re.search(as_table, lines[number]):
                start, found = number, number + 1
                break
    return found
