"""The console of the program, which outlives its reader."""

import os
import sys

from rich.console import Console


class OutputConsole(Console):
    """A console that discards its output once the pipe is closed, as in ``action-balance ... | head``."""

    def on_broken_pipe(self) -> None:
        """Continue without output."""
        self.quiet = True
        discard_output()


def discard_output() -> None:
    """Discard all further output: its reader is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
