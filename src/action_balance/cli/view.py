"""The command ``view``. No logic."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console


@dataclass(frozen=True)
class View:
    """Watch exploration on a page: a result, or training runs."""

    paths: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN_OR_RESULT...")]
    """Folder of a result (reproduce, explore, compare), or of one or more training runs, shown together."""
    save: Path | None = None
    """Write the page as this one file, which needs no other, instead of serving it."""
    live: bool = False
    """Follow runs that are still training, also one that has not begun yet."""
    port: int = 0
    """Port to serve at, on this machine only; 0 for any that is free."""
    open: bool = False
    """Open the page in a browser."""

    def run(self, console: Console) -> None:
        """Show the page."""
        from action_balance.studies.training.view import view

        view(self.paths, self.save, self.live, self.port, self.open, console)
