"""The commands of `action_balance.studies.table`, such as ``reproduce grid``."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from action_balance.cli.form import Command
from action_balance.config.cluster import ClusterConfig, RunChoice
from action_balance.studies.table import STUDIES, Entry, Kind

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Reproduce(Command):
    """Reproduce a study."""

    study: ClassVar[str]

    out: Path = Path()
    """Folder of the result, with tables, figures and report.html; an interrupted study there is resumed."""
    overwrite: bool = False
    """Delete the result in that folder, with all of its training runs, and start again."""
    settings: Any = None

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        return partial(self._module().reproduce, self.settings, self.out, self.overwrite)

    def _module(self) -> Any:
        return importlib.import_module(f"action_balance.studies.{self.study}.reproduce")


@dataclass(frozen=True)
class Trained(Reproduce):
    """Reproduce a study of training runs."""

    runs: RunChoice = field(default_factory=RunChoice)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    @property
    def is_light(self) -> bool:
        """Whether runs are listed only."""
        return self.runs.list_runs

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        others = {name: getattr(self, name, False) for name in ("report_only", "train_only", "overwrite")}
        self.runs.check(self.cluster, **others)
        from action_balance.studies.runner import Wanted, reproduce

        if self.runs.list_runs:
            return self._list
        wanted = Wanted(**others, only=self.runs.only, cluster=self.cluster)
        return partial(reproduce, self._module().STUDY, self.settings, self.out, wanted)

    def _list(self, console: "Console") -> None:
        """Print a command for each run."""
        from action_balance.studies.runner import unfinished
        from action_balance.studies.settings_text import run_commands

        names = unfinished(self.out, self.settings.plan())
        for line in run_commands(f"reproduce {self.study}", self.settings, self.out, names):
            print(line, file=console.file)  # as it is, even if a shell has to quote it


@dataclass(frozen=True)
class Reported(Trained):
    """Reproduce a study that is reported from the runs that exist."""

    report_only: bool = False
    """Do not train; write the report from the runs in that folder, which need no checkpoints."""


@dataclass(frozen=True)
class Shared(Reported):
    """Reproduce a study that several processes can train."""

    train_only: bool = False
    """Do not write the report; train what is missing and is not being trained by another such process."""


BASES: dict[Kind, type[Reproduce]] = {"computed": Reproduce, "trained": Trained, "reported": Reported, "shared": Shared}


def _command(name: str, study: Entry) -> type[Command]:
    own = [
        ("out", Path, field(default=Path("results") / name)),
        ("settings", study.settings, field(default_factory=study.settings)),
    ]
    about = {"__doc__": study.about, "study": name}
    return make_dataclass(name.capitalize(), own, bases=(BASES[study.kind],), namespace=about, frozen=True)


#: The commands by name.
REPRODUCE = {f"reproduce {name}": _command(name, study) for name, study in STUDIES.items()}
