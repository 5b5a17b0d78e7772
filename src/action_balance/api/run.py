"""A training run as an object: its agents, its metrics, more training, and evaluations."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from action_balance.arguments import as_path
from action_balance.config.train import TrainConfig
from action_balance.core.program_cache import use_program_cache
from action_balance.engines.callbacks import Callback, Listeners
from action_balance.engines.continuation import continuation
from action_balance.engines.device.devices import use_all_cores
from action_balance.engines.metrics_rows import Progress
from action_balance.files import Data
from action_balance.runs import RunFolder, read_metrics
from action_balance.terminal.console import OutputConsole
from action_balance.terminal.training import ShowProgress, as_shown, go_on
from action_balance.tracking import track_config
from action_balance.trained.agent import Agent
from action_balance.trained.loading import of_run


class Run:
    """A training run: the folder created by `action_balance.train`, or any other run folder.

    It is a path (``os.PathLike``), so it can be passed to any function that takes the folder of a run. Nothing is kept
    in memory: every call reads what it needs, even while another process is training the run.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        env: Any = None,
        trust: bool = False,
    ) -> None:
        """Open a run.

        Args:
            path: its folder.
            env: the function that creates its environment, the environment itself if it is written in JAX, or
            MODULE:FUNCTION, if it was trained with one.
            trust: whether to import the modules named in the run, which runs their code. Use it only for your own
                environments, wrappers, bonuses and algorithms, or those of people you trust.
        """
        self.path = as_path("the run", path)
        self._env, self._trust = env, trust
        RunFolder.open(self.path)  # a folder without a run is an error at once

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<Run {self.path}: {self.config.agent.label} in {self.config.env.name}, {self.status}>"

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, os.PathLike) and self.path == Path(other)

    def __hash__(self) -> int:
        return hash(self.path)

    @property
    def config(self) -> TrainConfig:
        """Its settings; no module named in them is imported."""
        return TrainConfig.for_display(RunFolder.open(self.path).config)

    @property
    def status(self) -> str:
        """``running``, ``finished``, ``interrupted`` or ``failed``; a run that was killed stays ``running``."""
        return str(RunFolder.open(self.path).manifest.get("status", "unknown"))

    def agent(self, checkpoint: Literal["latest", "best"] | int = "latest", seed: int | None = None) -> Agent:
        """Load one of its agents.

        Args:
            checkpoint: ``latest``, ``best`` (highest return in training), or the number of an update.
            seed: the seed of the agent (default: the first).

        Returns:
            The agent.
        """
        use_program_cache()
        folder = RunFolder.open(self.path)
        return of_run(folder, TrainConfig.from_dict(folder.config, self._trust), checkpoint, seed)

    def metrics(self, as_columns: bool | None = None) -> Any:
        """All metrics, with one row per update and seed.

        Args:
            as_columns: True for a dictionary of NumPy arrays by name; False for a pandas DataFrame (default: a
                DataFrame if pandas is installed).

        Returns:
            The metrics. A metric that is missing from a row is nan; a metric that is a list stays a list in a
            DataFrame, and is a second axis in an array.
        """
        rows = read_metrics(self.path)
        if as_columns is None:
            as_columns = importlib.util.find_spec("pandas") is None
        if as_columns:
            names = dict.fromkeys(name for row in rows for name in row)
            return {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}
        return importlib.import_module("pandas").DataFrame(rows)

    def resume(
        self,
        steps: int | None = None,
        *,
        devices: int | Literal["all"] | None = None,
        callbacks: Sequence[Callback] = (),
        track: str | Sequence[str] = (),
        track_project: str | None = None,
        progress: ShowProgress = None,
        report: Callable[[Progress], None] = lambda _: None,
        on_message: Callable[[str], None] = print,
    ) -> "Run":
        """Continue the run, or extend it.

        Args:
            steps: new total number of environment steps per seed, in place of the planned one. Schedules that depend on
                the length follow the new one from now on, and a message reports it.
            devices: number of devices to continue on, or ``"all"`` (default: as many as before, or as many as there
                are). The results are the same up to rounding.
            callbacks: called after every update with an `Update`; a callback that returns False stops training.
            track: additional trackers to send metrics to from now on; those that the run already uses continue.
            track_project: project to log the run to (default: the project used so far, or action-balance).
            progress: whether to show progress (default: in notebooks and on terminals), or a function that is called
                with a `Progress` after every update.
            report: another such function.
            on_message: called with each message for the user, one line at a time.

        Returns:
            The run itself.
        """
        use_all_cores()
        use_program_cache()
        tracked = track_config(track, track_project)
        folder = RunFolder.open(self.path)
        rest = continuation(folder, TrainConfig.of_run(folder.config, self._trust, self._env), steps, devices)
        listeners = Listeners(sys.argv, on_message=on_message, track=tracked, callbacks=callbacks)
        go_on(rest, lambda config: as_shown(progress, config, report, self.path), listeners)
        return self

    def evaluate(
        self,
        episodes: int = 20,
        checkpoint: Literal["latest", "best"] | int = "latest",
        seed: int = 0,
        *,
        progress: bool = False,
    ) -> Data:
        """Evaluate all its agents, as ``action-balance evaluate`` does, and write the same files.

        Args:
            episodes: number of episodes per agent and action mode.
            checkpoint: ``latest``, ``best``, or the number of an update.
            seed: random seed of the evaluation episodes.
            progress: whether to print the output of the command.

        Returns:
            The numbers of ``evaluation.json``: ``found["modes"]["greedy"]["return"]["mean"]``, for example.
        """
        from action_balance.studies.evaluation.run import evaluate_folder

        use_all_cores()
        use_program_cache()
        folder = RunFolder.open(self.path)
        config = TrainConfig.of_run(folder.config, self._trust, self._env)
        chosen, console = str(checkpoint), OutputConsole(quiet=not progress)
        return evaluate_folder(folder, config, episodes, chosen, seed, console)
