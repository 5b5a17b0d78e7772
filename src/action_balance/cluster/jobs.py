"""What a cluster trains: jobs that can be stopped and continued, each with files of its own in a folder."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from action_balance.engines.metrics_rows import Progress


class Job(Protocol):
    """A training that continues from its last checkpoint, in whichever process it is called again.

    Objects are sent to other machines, so their classes are defined at the top level of modules.
    """

    @property
    def name(self) -> str:
        """What lines about it begin with; no two jobs have the same."""

    @property
    def folder(self) -> Path:
        """The folder that it writes to, which all machines see."""

    @property
    def updates(self) -> int:
        """Updates of the whole training."""

    @property
    def seeds(self) -> int:
        """Agents that are trained together."""

    def train(self, report: Callable[[Progress], None], on_message: Callable[[str], None]) -> None:
        """Train what is missing."""

    def saved(self) -> int:
        """Updates after which it would continue."""

    def claim(self) -> AbstractContextManager[None]:
        """Keep other processes from training it; a `FolderBusy` if one does."""
