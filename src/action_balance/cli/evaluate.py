"""The command ``evaluate``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.cli.form import Command
from action_balance.errors import UserError
from action_balance.reading import is_file

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Evaluate(Command):
    """Play episodes with the agents of a run, or with a saved agent. They play full episodes and do not learn."""

    run_folder: Path = field(metadata={"metavar": "RUN"})
    """Folder of the run, whose subfolder evaluation gets the results; or a file that Agent.save has written."""
    episodes: int = 20
    """Episodes of each agent in each action mode."""
    checkpoint: str = "latest"
    """Of a run: latest, best (highest return in training), or the number of an update."""
    seed: int = 0
    """Random seed of the evaluation episodes."""
    env: str | None = field(default=None, metadata={"metavar": "MODULE:FUNCTION"})
    """Function that makes the environment, for a run that was trained with a function of a script."""
    out: Path | None = None
    """Of a file: folder of the results (default: NAME-evaluation beside the file)."""
    trust: bool = False
    """Import modules that the run names, which runs their code: for your own runs, and those of people you trust."""

    def load(self) -> Callable[["Console"], None]:
        """Import the evaluation."""
        if is_file(self.run_folder) and self.run_folder.name != "config.json":
            return self._load_file()
        if self.out is not None:
            raise UserError("--out is for saved agents: the evaluation of a run is written to its folder")
        from action_balance.studies.evaluation.run import evaluate

        return partial(evaluate, self.run_folder, self.episodes, self.checkpoint, self.seed, self.trust, env=self.env)

    def _load_file(self) -> Callable[["Console"], None]:
        if self.checkpoint != "latest":
            raise UserError(f"{self.run_folder} is one agent: leave out --checkpoint, which is for runs")
        from action_balance.studies.evaluation.saved import evaluate_file

        def execute(console: "Console") -> None:
            evaluate_file(self.run_folder, self.episodes, self.seed, self.trust, self.out, console, env=self.env)

        return execute
