"""The interface of trackers, and the description of a run that they receive."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from action_balance.errors import UserError
from action_balance.files import Data

#: The trackers by name.
Name = Literal["wandb", "mlflow", "tensorboard"]

#: How a run ends.
Status = Literal["finished", "interrupted", "failed"]

#: The project of runs without a project of their own.
PROJECT = "action-balance"

#: Names that a project may have. A slash would lead to somebody else's, and a manifest may be a stranger's.
PROJECTS = re.compile(r"[\w. ()@+,-]{1,128}")


@dataclass(frozen=True)
class TrackConfig:
    """Which trackers follow a run. It is no setting of the run: the numbers do not depend on it."""

    names: tuple[Name, ...] = ()
    """The trackers."""
    project: str | None = None
    """Project in which they show the run (default: the library's own environment variable, or action-balance)."""

    def __post_init__(self) -> None:
        if self.project is not None and not PROJECTS.fullmatch(self.project):
            raise UserError(
                f"--track-project '{self.project[:40]}' is not a valid project name: use 1 to 128 letters, digits, "
                f"spaces and . _ - ( ) @ + ,"
            )


@dataclass(frozen=True)
class RunInfo:
    """The description of a run that a tracker receives at its start."""

    name: str
    """Name of the run: that of its folder."""
    project: str | None
    """Project of the run, if one was chosen."""
    config: Data
    """All settings as nested plain data."""
    method: str
    """Name of the method."""
    environment: str
    """Name of the environment."""


class Tracker(Protocol):
    """Sends the numbers of one run somewhere. Whatever it raises ends the tracking, not the training."""

    def start(self, run: RunInfo, resumed: str | None) -> str:
        """Begin a tracked run, or continue one."""

    def log(self, update: int, steps: int, metrics: Mapping[str, float]) -> None:
        """Send the numbers of one update."""

    def finish(self, status: Status, summary: Mapping[str, float]) -> None:
        """End the tracked run, which may be continued later."""
