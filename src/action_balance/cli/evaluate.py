"""The command ``evaluate``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.cli.form import Command

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Evaluate(Command):
    """Play episodes with the agents of a run. They play full episodes and do not learn."""

    run_folder: Path = field(metadata={"metavar": "RUN"})
    """Folder of the run; results are written to its subfolder evaluation."""
    episodes: int = 20
    """Episodes of each agent in each action mode."""
    checkpoint: str = "latest"
    """latest, best (highest return in training), or the number of an update."""
    seed: int = 0
    """Random seed of the evaluation episodes."""
    env: str | None = field(default=None, metadata={"metavar": "MODULE:FUNCTION"})
    """Function that makes the environment, for a run that was trained with a function of a script."""
    trust: bool = False
    """Import modules that the run names, which runs their code: for your own runs, and those of people you trust."""

    def load(self) -> Callable[["Console"], None]:
        """Import the evaluation."""
        from action_balance.studies.evaluation.run import evaluate

        return partial(evaluate, self.run_folder, self.episodes, self.checkpoint, self.seed, self.trust, env=self.env)
