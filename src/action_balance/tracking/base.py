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
EndStatus = Literal["finished", "interrupted", "failed"]

#: The project of runs without a project of their own.
PROJECT = "action-balance"

#: Names that a project may have. A slash would lead to somebody else's, and a manifest may be a stranger's.
PROJECTS = re.compile(r"[\w. ()@+,-]{1,128}")


@dataclass(frozen=True)
class TrackConfig:
    """Which trackers follow a run. It is no setting of the run: the numbers do not depend on it."""

    names: tuple[Name, ...] = ()
    project: str | None = None  # in which they show the run; by default, that of the library's environment variable

    def __post_init__(self) -> None:
        if self.project is not None and not PROJECTS.fullmatch(self.project):
            raise UserError(
                f"--track-project '{self.project[:40]}' is not a valid project name: use 1 to 128 letters, digits, "
                f"spaces and . _ - ( ) @ + ,"
            )


@dataclass(frozen=True)
class RunInfo:
    """The description of a run that a tracker receives at its start."""

    name: str  # that of its folder
    project: str | None  # if one was chosen
    config: Data  # all settings
    method: str
    environment: str


class Tracker(Protocol):
    """Sends the numbers of one run somewhere. Whatever it raises ends the tracking, not the training."""

    def start(self, run: RunInfo, resumed: str | None) -> str:
        """Begin a tracked run, or continue one."""

    def log(self, update: int, steps: int, metrics: Mapping[str, float]) -> None:
        """Send the numbers of one update."""

    def finish(self, status: EndStatus, summary: Mapping[str, float]) -> None:
        """End the tracked run, which may be continued later."""
