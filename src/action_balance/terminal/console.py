"""The console of the program, which outlives its reader and shows text as it is."""

import io
import os
import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from action_balance.printable import printable, printable_lines


class OutputConsole(Console):
    """A console that shows text as it is, and discards it once the pipe is closed, as in ``action-balance ... | head``.

    Square brackets in a name are no markup, and control characters are shown as escape sequences, in tables, too.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)
        if isinstance(self.file, io.TextIOWrapper):  # of a terminal that has fewer characters than Unicode
            self.file.reconfigure(errors="backslashreplace")

    def render_str(self, text: str, **options: Any) -> Text:
        """A string with its styles; lines stay lines."""
        return super().render_str(printable_lines(text), **options)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        discard_output()


def say(console: Console, *lines: str) -> None:
    """Print lines as they are: not wrapped, not highlighted, and each one line whatever is in it."""
    for line in lines:
        console.print(printable(line), highlight=False, markup=False, emoji=False, soft_wrap=True)


def discard_output() -> None:
    """Discard all further output: its reader is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
