"""The command ``compare``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.cli.form import Command

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Compare(Command):
    """Compare the learning curves of training runs. Confidence intervals are over seeds."""

    runs: tuple[Path, ...] = field(metadata={"metavar": "RUN"})
    """Folders of the runs; runs that differ only in their seeds form one curve. The folder of a sweep stands for its
    best settings, trained with fresh seeds."""
    metric: str | None = None
    """Metric to compare, one of those in metrics.jsonl; higher counts as better (default: episode_return, or that of a
    sweep)."""
    baseline: str | None = None
    """Curve that the others are compared with, e.g. rnd; not needed for two curves."""
    out: Path = Path("results/compare")
    """Folder for the figure and the tables; an existing comparison there is replaced."""

    def load(self) -> Callable[["Console"], None]:
        """Import the comparison."""
        from action_balance.studies.compare.run import compare_runs

        return partial(compare_runs, self.runs, self.metric, self.baseline, self.out)
