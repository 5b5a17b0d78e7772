"""A training run that is begun, continued or finished already, whichever process trains it and whenever."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.callbacks import Callback, Listeners
from action_balance.engines.continuation import continuation
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.runs import RunFolder
from action_balance.runs.owned import remove_empty
from action_balance.studies.checks import as_begun
from action_balance.tracking import TrackConfig

#: Called with a finished run, its settings and the screen; returns whether it has changed what a report shows. It can
#: be pickled.
After = Callable[[Path, TrainConfig, Console], bool]
#: Makes what measures a run while it is trained. It can be pickled.
Measure = Callable[[Path, TrainConfig], Sequence[Callback]]


def no_more(_path: Path, _config: TrainConfig, _console: Console) -> bool:
    return False


def no_measure(_path: Path, _config: TrainConfig) -> Sequence[Callback]:
    return ()


def same_command(overwrite: bool) -> str:
    return "the same command without --overwrite" if overwrite else "the same command"


def is_finished(path: Path, config: TrainConfig) -> bool:
    """Whether a run exists and is finished; a `UserError` if the folder holds a run with another config.

    No module that the folder names is imported.
    """
    if not RunFolder.holds_run(path):
        return False
    folder = RunFolder.open(path)
    stored = TrainConfig.for_display(folder.config)
    planned = as_begun(config, stored.agent.host)
    # Families of the user are not loaded for display, so that only their plain data can be compared.
    if stored != planned and folder.config != json.loads(json.dumps(planned.to_dict())):
        raise UserError(
            f"{path} contains a run with different settings: choose another --out, or replace it with --overwrite"
        )
    return bool(folder.manifest.get("status") == "finished")


def train(path: Path, config: TrainConfig, listeners: Listeners, trust: bool = False) -> bool:
    """Train what is missing of a run; whether it is finished, and no callback has ended it."""
    if is_finished(path, config):
        return True
    if not RunFolder.holds_run(path):
        return loop.begin(path, config.with_defaults(), listeners)
    folder = RunFolder.open(path)
    rest = continuation(folder, TrainConfig.from_dict(folder.config, trust))
    return loop.resume(rest, replace(listeners, track=TrackConfig()))  # the run itself knows who follows it


@dataclass(frozen=True)
class RunJob:
    """A run that a cluster trains."""

    name: str  # what lines about it begin with
    folder: Path
    config: TrainConfig
    command: tuple[str, ...]  # which the run records
    trust: bool = False  # whether the user has named all modules in the settings
    track: TrackConfig = field(default_factory=TrackConfig)
    after: After = no_more
    measure: Measure = no_measure

    @property
    def updates(self) -> int:
        return self.config.agent.updates

    @property
    def seeds(self) -> int:
        return self.config.seeds

    def train(self, report: Callable[[Progress], None], on_message: Callable[[str], None]) -> None:
        measured = self.measure(self.folder, self.config)
        train(self.folder, self.config, Listeners(self.command, report, on_message, self.track, measured), self.trust)
        self.after(self.folder, self.config, Console(quiet=True))

    def __reduce__(self) -> tuple[Callable[..., "RunJob"], tuple[object, ...]]:
        """As plain data: modules of the user are found only once the folder of the command is known."""
        rest = self.command, self.trust, self.track, self.after, self.measure
        return _received, (os.getcwd(), self.name, self.folder, self.config.to_dict(), *rest)

    def saved(self) -> int:
        return max(RunFolder(self.folder, {}, {}).checkpoints().updates(), default=0)

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Keep other processes from training it; a `FolderBusy` if one does."""
        run = RunFolder(self.folder, {}, {})
        made = run.make()
        run.acquire()
        try:
            yield
        finally:
            run.release()
            remove_empty(made)


def _received(cwd: str, name: str, folder: Path, config: Data, *rest: Any) -> RunJob:
    """The job that another process has sent, which may run on another machine."""
    command, trust, *others = rest
    if trust:
        with contextlib.suppress(OSError):
            os.chdir(cwd)
    return RunJob(name, folder, TrainConfig.from_dict(config, trust), command, trust, *others)
