"""The command ``resume``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.cli.form import Command

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Resume(Command):
    """Continue an interrupted training run, or extend one that is finished."""

    run_folder: Path = field(metadata={"metavar": "RUN"})
    """Folder of the run."""
    steps: int | None = None
    """Environment steps of each seed that the run is to have in the end, in place of those that were planned."""
    env: str | None = field(default=None, metadata={"metavar": "MODULE:FUNCTION"})
    """Function that makes the environment, for a run that was trained with a function of a script."""
    trust: bool = False
    """Import modules that the run names, which runs their code: for your own runs, and those of people you trust."""

    def load(self) -> Callable[["Console"], None]:
        """Import the training."""
        from action_balance.terminal.training import resume

        return partial(resume, self.run_folder, self.trust, env=self.env, steps=self.steps)
