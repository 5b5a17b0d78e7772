"""The commands ``reproduce grid``, ``neural``, ``bonuses``, ``exploration``, ``atari`` and ``entropy``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.cli.form import Command
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

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        from action_balance.studies.neural.reproduce import reproduce_neural

        return partial(reproduce_neural, self.settings, self.out, self.overwrite)


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

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        from action_balance.studies.bonuses.reproduce import reproduce_bonuses

        return partial(reproduce_bonuses, self.settings, self.out, self.report_only, self.train_only, self.overwrite)


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

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        from action_balance.studies.exploration.reproduce import reproduce_exploration

        wanted = self.report_only, self.train_only, self.overwrite
        return partial(reproduce_exploration, self.settings, self.out, *wanted)


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

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        from action_balance.studies.atari.reproduce import reproduce_atari

        return partial(reproduce_atari, self.settings, self.out, self.evaluate, self.report_only, self.overwrite)


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

    def load(self) -> Callable[["Console"], None]:
        """Import the study."""
        from action_balance.studies.entropy.reproduce import reproduce_entropy

        return partial(reproduce_entropy, self.settings, self.out, self.report_only, self.overwrite)
