"""Settings that a person has written to a file: TOML or JSON, and only what differs from the defaults."""

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.reading import Damaged, is_folder, parse_json, read_text

#: The kinds of files by suffix.
KINDS = {".toml": "TOML", ".json": "JSON"}

#: Most bytes of a file.
MAX_BYTES = 200_000


@dataclass(frozen=True)
class Entry:
    """One setting in a file."""

    key: tuple[str, ...]
    """Names of the tables that it is in, and its own."""
    value: Any
    """Plain data; a table that is a value itself, such as ``env-kwargs``, is an entry as well as each of its items."""
    lines: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """The lines of the file."""

    @property
    def line(self) -> int | None:
        """Where it stands, if that is found; the whole file is searched."""
        return _line(self.lines, self.key)

    @property
    def name(self) -> str:
        """The key as it is written with dots."""
        return ".".join(self.key)


def is_settings_file(path: Path) -> bool:
    """Whether a path is a person's settings, and not a run or its config.json, which has a format."""
    if is_folder(path) or path.suffix.lower() not in KINDS:
        return False
    return path.suffix.lower() != ".json" or (path.name != "config.json" and "format" not in read_settings(path))


def read_settings(path: Path) -> Data:
    """The content of a file with settings."""
    kind = KINDS[path.suffix.lower()]
    expected = f"settings in {kind} are"
    text = read_text(path, f"a settings file in {kind}", MAX_BYTES)
    try:
        found = _PARSERS[kind](text)
    except RecursionError:
        raise Damaged(f"{path} has too many nested tables, but {expected} expected") from None
    except ValueError as error:
        raise Damaged(f"{path} cannot be read as {kind}: {' '.join(str(error).split()):.160}") from None
    if not isinstance(found, dict):
        raise Damaged(f"{path} has no named settings, but {expected} expected")
    return found


def entries(path: Path) -> list[Entry]:
    """The settings in a file."""
    found = read_settings(path)
    lines = tuple(read_text(path, "a settings file", MAX_BYTES).splitlines())
    known: dict[tuple[str, ...], Entry] = {}
    for key, value in _walk(found, ()):
        spelled = tuple(str(name).replace("_", "-") for name in key)
        entry = Entry(key, value, lines)
        if spelled in known:
            raise UserError(
                f"{path} has {known[spelled].name} and {entry.name}, which are the same setting: keep one of them"
            )
        known[spelled] = entry
    return list(known.values())


def _walk(table: Data, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in table.items():
        yield (*above, name), value
        if isinstance(value, dict):
            yield from _walk(value, (*above, name))


def _line(lines: Sequence[str], key: tuple[str, ...]) -> int | None:
    """The line of a key, found by the names that lead to it, each below the one before."""
    start, found = 0, None
    for name in key:
        word = rf"(?:[\"']?{re.escape(name)}[\"']?)"
        as_key, as_table = (
            rf"^[\s{{,]*(?:[\w.-]+\.)?{word}(?:\.[\w.-]+)?\s*[=:]",
            rf"^\s*\[+(?:[\w.-]+\.)?{word}(?:\.|\])",
        )
        for number in range(start, len(lines)):
            if re.search(as_key, lines[number]) or re.search(as_table, lines[number]):
                start, found = number, number + 1
                break
    return found


_PARSERS: dict[str, Callable[[str], Any]] = {"TOML": tomllib.loads, "JSON": parse_json}


def refuse(path: Path, entry: Entry, why: str) -> UserError:
    """The error for one setting in a file."""
    line = entry.line
    where = f", line {line}" if line else ""
    return UserError(f"{path}{where}: {entry.name:.80} {why}")
