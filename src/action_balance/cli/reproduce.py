"""The commands ``reproduce grid``, ``neural``, ``bonuses``, ``exploration``, ``atari`` and ``entropy``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.cli.form import Command
from action_balance.config.cluster import ClusterConfig, RunChoice
from action_balance.studies.atari.settings import AtariSettings
from action_balance.studies.bonuses.settings import BonusesSettings
from action_balance.studies.entropy.settings import EntropySettings
from action_balance.studies.exploration.settings import ExplorationSettings
from action_balance.studies.grid.settings import GridSettings
from action_balance.studies.neural.settings import NeuralSettings

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Grid(Command):
    """The paper's grid worlds: coverage, goals and the corridor. It takes less than 30 seconds on two cores."""

    out: Path = Path("results/grid")
    """Folder for tables, figures and report.html; an interrupted study there is resumed."""
    overwrite: bool = False
    """Replace the result that is already in that folder."""
    settings: GridSettings = field(default_factory=GridSettings)

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        from action_balance.studies.grid.reproduce import reproduce_grid

        return partial(reproduce_grid, self.settings, self.out, self.overwrite)


@dataclass(frozen=True)
class Neural(Command):
    """The neural agent in three small worlds. It takes about ten minutes on two cores."""

    out: Path = Path("results/neural")
    """Folder for training runs, tables, figures and report.html; an interrupted study there is resumed."""
    overwrite: bool = False
    """Replace the result that is already in that folder."""
    settings: NeuralSettings = field(default_factory=NeuralSettings)
    runs: RunChoice = field(default_factory=RunChoice)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    @property
    def is_light(self) -> bool:
        """Whether runs are listed only."""
        return self.runs.list_runs

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        self.runs.check(self.cluster, overwrite=self.overwrite)
        if self.runs.list_runs:
            from action_balance.studies.neural.reproduce import unfinished

            return partial(_list, self, lambda: unfinished(self.settings, self.out))
        from action_balance.studies.neural.reproduce import reproduce_neural

        return partial(reproduce_neural, self.settings, self.out, self.overwrite, self.runs.only, self.cluster)


@dataclass(frozen=True)
class Bonuses(Command):
    """Which bonuses count visits, and how much counting helps. It takes 10 to 15 minutes on two cores. With --scale
    full, it needs a GPU, and several processes with --train-only can share the work.
    """

    out: Path = Path("results/bonuses")
    """Folder for records of the agents, tables, figures and report.html; an interrupted study there is resumed."""
    report_only: bool = False
    """Do not train; write the report from the records in that folder."""
    train_only: bool = False
    """Do not write the report; train what is missing and is not being trained by another such process."""
    overwrite: bool = False
    """Delete the result and all records in that folder, and start again."""
    settings: BonusesSettings = field(default_factory=BonusesSettings)
    runs: RunChoice = field(default_factory=RunChoice)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    @property
    def is_light(self) -> bool:
        """Whether runs are listed only."""
        return self.runs.list_runs

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        others = {"report_only": self.report_only, "train_only": self.train_only, "overwrite": self.overwrite}
        self.runs.check(self.cluster, **others)
        from action_balance.studies.bonuses.records import Record
        from action_balance.studies.cell_study import Wanted, unfinished

        if self.runs.list_runs:
            return partial(_list, self, lambda: unfinished(self.out, self.settings.plan(), Record.load))
        from action_balance.studies.bonuses.reproduce import reproduce_bonuses

        wanted = Wanted(**others, only=self.runs.only, cluster=self.cluster)
        return partial(reproduce_bonuses, self.settings, self.out, wanted)


@dataclass(frozen=True)
class Exploration(Command):
    """All bonuses on hard-exploration tasks, with a leaderboard. It takes 5 to 10 minutes on two cores. With
    --scale full, it needs a GPU, and several processes with --train-only can share the work.
    """

    out: Path = Path("results/exploration")
    """Folder for records of the agents, tables, figures and report.html; an interrupted study there is resumed."""
    report_only: bool = False
    """Do not train; write the report from the records in that folder."""
    train_only: bool = False
    """Do not write the report; train what is missing and is not being trained by another such process."""
    overwrite: bool = False
    """Delete the result and all records in that folder, and start again."""
    settings: ExplorationSettings = field(default_factory=ExplorationSettings)
    runs: RunChoice = field(default_factory=RunChoice)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    @property
    def is_light(self) -> bool:
        """Whether runs are listed only."""
        return self.runs.list_runs

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        others = {"report_only": self.report_only, "train_only": self.train_only, "overwrite": self.overwrite}
        self.runs.check(self.cluster, **others)
        from action_balance.studies.cell_study import Wanted, unfinished
        from action_balance.studies.exploration.records import Record

        if self.runs.list_runs:
            return partial(_list, self, lambda: unfinished(self.out, self.settings.plan(), Record.load))
        from action_balance.studies.exploration.reproduce import reproduce_exploration

        wanted = Wanted(**others, only=self.runs.only, cluster=self.cluster)
        return partial(reproduce_exploration, self.settings, self.out, wanted)


@dataclass(frozen=True)
class Atari(Command):
    """The paper's six Atari games. The study needs a GPU, takes days, and can be interrupted at any time."""

    out: Path = Path("results/atari")
    """Folder for training runs, tables, figures and report.html; an interrupted study there is resumed."""
    report_only: bool = False
    """Do not train; write the report from the runs in that folder, which need no checkpoints."""
    evaluate: int = 0
    """Games to play with each finished run of Montezuma's Revenge and Pitfall!, to count rooms; at most 128, 0 for
    none."""
    overwrite: bool = False
    """Delete the result and all runs in that folder, and start again."""
    settings: AtariSettings = field(default_factory=AtariSettings)
    runs: RunChoice = field(default_factory=RunChoice)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    @property
    def is_light(self) -> bool:
        """Whether runs are listed only."""
        return self.runs.list_runs

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        self.runs.check(self.cluster, report_only=self.report_only, overwrite=self.overwrite)
        from action_balance.studies.campaign import Wanted, unfinished

        if self.runs.list_runs:
            more = ["--evaluate", str(self.evaluate)] if self.evaluate else []
            return partial(_list, self, lambda: unfinished(self.out, self.settings.plan()), more=more)
        from action_balance.studies.atari.reproduce import reproduce_atari

        wanted = Wanted(self.report_only, self.overwrite, self.runs.only, self.cluster)
        return partial(reproduce_atari, self.settings, self.out, self.evaluate, wanted)


@dataclass(frozen=True)
class Entropy(Command):
    """Entropy of the action bonus in Montezuma's Revenge. The study needs a GPU and takes days."""

    out: Path = Path("results/entropy")
    """Folder for training runs, tables, figures and report.html; an interrupted study there is resumed."""
    report_only: bool = False
    """Do not train; write the report from the runs in that folder, which need no checkpoints."""
    overwrite: bool = False
    """Delete the result and all runs in that folder, and start again."""
    settings: EntropySettings = field(default_factory=EntropySettings)
    runs: RunChoice = field(default_factory=RunChoice)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    @property
    def is_light(self) -> bool:
        """Whether runs are listed only."""
        return self.runs.list_runs

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        self.runs.check(self.cluster, report_only=self.report_only, overwrite=self.overwrite)
        from action_balance.studies.campaign import Wanted, unfinished

        if self.runs.list_runs:
            return partial(_list, self, lambda: unfinished(self.out, self.settings.plan()))
        from action_balance.studies.entropy.reproduce import reproduce_entropy

        wanted = Wanted(self.report_only, self.overwrite, self.runs.only, self.cluster)
        return partial(reproduce_entropy, self.settings, self.out, wanted)


def _list(
    command: Neural | Bonuses | Exploration | Atari | Entropy,
    unfinished: Callable[[], Sequence[str]],
    console: "Console",
    more: Sequence[str] = (),
) -> None:
    """Print a command for each run."""
    from action_balance.studies.listing import list_runs

    list_runs(f"reproduce {type(command).__name__.lower()}", command.settings, command.out, unfinished(), more, console)
