"""The command ``resume``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.cli.form import Command
from action_balance.tracking.base import Name, TrackConfig

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

    track: tuple[Name, ...] = field(default=(), metadata={"action": "append"})
    """Also send metrics to this tracker from here on; may be given several times. Trackers that followed the run before
    follow it again without this."""
    track_project: str | None = None
    """Project in which trackers show the run (default: the project that they had, or action-balance)."""

    def load(self) -> Callable[["Console"], None]:
        """Import the training."""
        from action_balance.terminal.training import resume

        track = TrackConfig(self.track, self.track_project)
        return partial(resume, self.run_folder, self.trust, env=self.env, steps=self.steps, track=track)
