"""How the command line talks: a mistake in one line, help that fits the screen, and what if nobody reads it."""

import os
import re
import shutil
import sys
import textwrap
from typing import Any, TextIO

from rich.console import Console

PROGRAM = "action-balance"


def _without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def one_line(box: str) -> str:
    """What the parser says in a box of several parts, as one line."""
    rows = [row.strip("│| ") for row in _without_colours(box).splitlines()[1:-1]]
    parts = " ".join(row if set(row) - set("─-") else "\n" for row in rows).split("\n")
    said = [part.strip().rstrip(".") for part in parts if "helptext" not in part.lower()]
    misplaced = re.search(r"misplaced options: +(\S+) +\(applied to ([^)]+)\)", " ".join(said))
    if misplaced:
        option, command = misplaced.groups()  # one that another command has
        return f"{command.removeprefix(f'{PROGRAM} ')} does not take {option}; see {command} --help"
    said = [re.sub(r"(Perhaps you meant: \S+).*", r"\1", part) for part in said if part]
    line = "; ".join(said).replace("invalid literal for int() with base 10:", "not a whole number:")
    line = line.replace("could not convert string to float:", "not a number:")
    return f"{line}; see {PROGRAM} --help"


class Page:
    """The screen, with lines broken where it ends: the parser breaks only those in boxes."""

    def __init__(self, screen: TextIO) -> None:
        self._screen = screen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._screen, name)

    def write(self, text: str) -> int:
        """Write whole lines."""
        try:
            self._screen.write("\n".join(_broken(line) for line in text.split("\n")))
        except BrokenPipeError:
            write_nowhere()
        return len(text)


def _broken(line: str) -> str:
    """A line as several, none longer than the screen is wide; what stands in brackets stays together."""
    width = shutil.get_terminal_size().columns
    plain = _without_colours(line)
    if len(plain) <= width:
        return line
    whole = re.sub(r"\[-[^]]*]", lambda found: found[0].replace(" ", "\xa0"), plain)
    indent = " " * len("usage: ") if plain.startswith("usage: ") else ""
    return textwrap.fill(whole, width, subsequent_indent=indent, break_on_hyphens=False).replace("\xa0", " ")


class Screen(Console):
    """Work goes on when nobody reads its output any more, as in ``action-balance ... | head``."""

    def on_broken_pipe(self) -> None:
        """Say nothing from now on."""
        self.quiet = True
        write_nowhere()


def write_nowhere() -> None:
    """From now on: whoever read the output is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
