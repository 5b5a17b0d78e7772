"""The commands ``reproduce atari`` and ``reproduce entropy``. No logic."""

from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from action_balance.studies.atari.settings import AtariSettings
from action_balance.studies.entropy.settings import EntropySettings


@dataclass(frozen=True)
class AtariStudy:
    """The paper's six Atari games, with a report of whatever is there: for a GPU, long, and stopped at any time."""

    out: Path = Path("results/atari")
    """Folder for training runs, tables, figures and report.html; what was interrupted there is continued."""
    report_only: bool = False
    """Train nothing: write the report from the runs in that folder, which need no checkpoints."""
    evaluate: int = 0
    """Games that each finished run of Montezuma's Revenge and Pitfall! plays, to count rooms; 0 for none."""
    overwrite: bool = False
    """Delete the result and all runs in that folder, and begin anew."""
    settings: AtariSettings = field(default_factory=AtariSettings)

    def run(self, console: Console) -> None:
        """Run the study."""
        from action_balance.studies.atari.reproduce import reproduce_atari

        reproduce_atari(self.settings, self.out, self.evaluate, self.report_only, self.overwrite, console)


@dataclass(frozen=True)
class Entropy:
    """How flat the action bonus is in Montezuma's Revenge (raw, L2, channel and L2): for a GPU, and long."""

    out: Path = Path("results/entropy")
    """Folder for training runs, tables, figures and report.html; what was interrupted there is continued."""
    report_only: bool = False
    """Train nothing: write the report from the runs in that folder, which need no checkpoints."""
    overwrite: bool = False
    """Delete the result and all runs in that folder, and begin anew."""
    settings: EntropySettings = field(default_factory=EntropySettings)

    def run(self, console: Console) -> None:
        """Run the study."""
        from action_balance.studies.entropy.reproduce import reproduce_entropy

        reproduce_entropy(self.settings, self.out, self.report_only, self.overwrite, console)
