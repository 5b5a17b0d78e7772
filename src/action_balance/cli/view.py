"""The command ``view``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.cli.form import Command

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class View(Command):
    """Show a result or training runs on a web page."""

    paths: tuple[Path, ...] = field(metadata={"metavar": "RUN_OR_RESULT"})
    """Folder of a result (reproduce, explore, compare, sweep), or folders of training runs, shown together."""
    save: Path | None = None
    """Write the page to this self-contained file instead of serving it."""
    live: bool = False
    """Follow runs that are still training or have not started yet."""
    port: int = 0
    """Port of the local server; 0 for any free port."""
    open: bool = False
    """Open the page in a browser."""
    trust: bool = False
    """Import the environment family named in a run, which runs its code. Only its map needs this."""

    def load(self) -> Callable[["Console"], None]:
        """Import the page."""
        from action_balance.studies.training.view import view

        return partial(view, self.paths, self.save, self.live, self.port, self.open, self.trust)
