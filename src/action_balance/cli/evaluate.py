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
    """Evaluate the agents of a run, or a saved agent. They play full episodes and do not learn."""

    run_folder: Path = field(metadata={"metavar": "RUN"})
    """Folder of the run, where the results go to the subfolder evaluation; or a file written by Agent.save."""
    episodes: int = 20
    """Number of episodes per agent and action mode."""
    checkpoint: str = "latest"
    """Checkpoint of the run: latest, best (highest return in training), or the number of an update."""
    seed: int = 0
    """Random seed of the evaluation episodes."""
    env: str | None = field(default=None, metadata={"metavar": "MODULE:FUNCTION"})
    """Function that creates the environment, for a run trained with a function defined in a script."""
    out: Path | None = None
    """For a saved agent: folder for the results (default: NAME-evaluation next to the file)."""
    trust: bool = False
    """Import the modules named in the run, which runs their code. Use this only for your own runs, or those of people
    you trust."""

    def load(self) -> Callable[["Console"], None]:
        """Import the evaluation."""
        if is_file(self.run_folder) and self.run_folder.name != "config.json":
            return self._load_file()
        if self.out is not None:
            raise UserError("--out is for saved agents: leave it out; the evaluation of a run goes to its folder")
        from action_balance.studies.evaluation.run import evaluate

        return partial(evaluate, self.run_folder, self.episodes, self.checkpoint, self.seed, self.trust, env=self.env)

    def _load_file(self) -> Callable[["Console"], None]:
        if self.checkpoint != "latest":
            raise UserError(f"{self.run_folder} is a single saved agent: leave out --checkpoint, which is for runs")
        from action_balance.studies.evaluation.saved import evaluate_file

        def execute(console: "Console") -> None:
            evaluate_file(self.run_folder, self.episodes, self.seed, self.trust, self.out, console, env=self.env)

        return execute
