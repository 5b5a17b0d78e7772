"""The files of a folder at one moment, and what is lost between two moments."""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

#: Larger files are known by their size and first bytes.
LARGEST = 2**24


@dataclass(frozen=True)
class Entry:
    """One file, link, folder or other thing."""

    kind: str
    """``file``, ``link``, ``folder`` or ``other``."""
    content: str
    """The SHA-256 of a file, the target of a link."""


#: Entries by path, relative to the folder.
Snapshot = dict[str, Entry]


def snapshot(folder: Path) -> Snapshot:
    """All that is in a folder, without following links.

    Args:
        folder: the folder.

    Returns:
        Entries by path relative to the folder.
    """
    found: Snapshot = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(parent, name)
            found[os.path.relpath(path, folder)] = _entry(path)
    return found


def _entry(path: str) -> Entry:
    about = os.lstat(path)
    if stat.S_ISLNK(about.st_mode):
        return Entry("link", os.readlink(path))
    if stat.S_ISDIR(about.st_mode):
        return Entry("folder", "")
    if not stat.S_ISREG(about.st_mode):
        return Entry("other", str(stat.S_IFMT(about.st_mode)))
    with open(path, "rb") as file:
        content = file.read(LARGEST)
    return Entry("file", f"{hashlib.sha256(content).hexdigest()} {about.st_size}")


def lost(before: Snapshot, after: Snapshot, may_replace: Callable[[str], bool] = lambda _: False) -> list[str]:
    """Entries that are neither where they were nor anywhere else with the same content.

    Args:
        before: the folder before a command.
        after: the folder after it.
        may_replace: whether the command is documented to replace or delete the file of a path.

    Returns:
        A line for each.
    """
    contents = {(entry.kind, entry.content) for entry in after.values()}
    found = []
    for path, entry in sorted(before.items()):
        if entry.kind == "folder" or (entry.kind, entry.content) in contents or may_replace(path):
            continue
        found.append(f"{path} was {'changed' if path in after else 'deleted'}, and its content is nowhere else")
    return found


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    """Paths at which anything is different, new or gone."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def updates_of(lines: Iterable[bytes]) -> list[int]:
    """The updates of the intact rows among some lines, in order."""
    found = []
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and isinstance(row.get("update"), int):
            found.append(row["update"])
    return found


def intact_lines(folder: Path, known: Iterable[bytes]) -> set[bytes]:
    """Which of some lines are in any file of a folder.

    Args:
        folder: the folder.
        known: the lines, without their ends.

    Returns:
        Those that are there.
    """
    wanted, found = set(known), set[bytes]()
    for parent, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(parent, name)
            if stat.S_ISREG(os.lstat(path).st_mode) and os.lstat(path).st_size < LARGEST:
                with open(path, "rb") as file:
                    found |= wanted & set(file.read().splitlines())
    return found
