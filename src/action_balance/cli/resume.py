"""The command ``resume``."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.cli.form import Command

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Resume(Command):
    """Continue an interrupted training run."""

    run_folder: Path = field(metadata={"metavar": "RUN"})
    """Folder of the run."""

    def run(self, console: "Console") -> None:
        """Resume the run."""
        from action_balance.terminal.training import resume

        resume(self.run_folder, console)
