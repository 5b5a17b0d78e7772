"""The command ``resume``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from action_balance.cli.form import Command
from action_balance.tracking.base import Name, TrackConfig

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Resume(Command):
    """Continue an interrupted training run, or extend a finished one."""

    run_folder: Path = field(metadata={"metavar": "RUN"})
    """Folder of the run."""
    steps: int | None = None
    """New total number of environment steps per seed, in place of the planned one."""
    devices: int | Literal["all"] | None = None
    """Number of devices to continue on; the results are the same up to rounding (default: as many as before, or as many
    as there are)."""
    env: str | None = field(default=None, metadata={"metavar": "MODULE:FUNCTION"})
    """Function that creates the environment, for a run trained with a function defined in a script."""
    trust: bool = False
    """Import the modules named in the run, which runs their code. Use this only for your own runs, or those of people
    you trust."""

    track: tuple[Name, ...] = field(default=(), metadata={"action": "append"})
    """Also send metrics to this tracker from now on; can be repeated. Trackers that the run already uses continue
    without this option."""
    track_project: str | None = None
    """Project to log the run to (default: the project used so far, or action-balance)."""

    def load(self) -> Callable[["Console"], None]:
        """Import the training."""
        from action_balance.terminal.training import resume

        track = TrackConfig(self.track, self.track_project)
        return partial(
            resume,
            self.run_folder,
            self.trust,
            env=self.env,
            steps=self.steps,
            track=track,
            devices=self.devices,
        )
