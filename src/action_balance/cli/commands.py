"""The commands whose flags are always the same: what each takes, and what it imports."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from action_balance.cli.form import Command
from action_balance.errors import UserError
from action_balance.reading import is_file
from action_balance.studies.grid.settings import RunSettings
from action_balance.tracking.base import Name, TrackConfig

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Explore(Command):
    """Run the tabular agent on your own map. The results are its coverage and, if the map has goals, the steps to reach
    one."""

    map: Path
    """Text file with the map: # wall, . free, S start, G goal."""
    out: Path | None = None
    """Folder for tables, figures and report.html (default: write no files)."""
    overwrite: bool = False
    """Replace the result that is already in that folder."""
    settings: RunSettings = field(default_factory=RunSettings)

    def load(self) -> Callable[["Console"], None]:
        from action_balance.studies.explore.run import explore_map

        return partial(explore_map, self.map, self.settings, self.out, self.overwrite)


@dataclass(frozen=True)
class Resume(Command):
    """Continue an interrupted training run, or extend a finished one."""

    run_folder: Path = field(metadata={"metavar": "RUN"})
    """Folder of the run."""
    steps: int | None = None
    """New total number of environment steps per seed, in place of the planned one."""
    devices: int | Literal["all"] | None = None
    """Number of devices to continue on; the results are the same up to rounding (default: as many as before, or as many
    as there are)."""
    env: str | None = field(default=None, metadata={"metavar": "MODULE:FUNCTION"})
    """Function that creates the environment, for a run trained with a function defined in a script."""
    trust: bool = False
    """Import the modules named in the run, which runs their code. Use this only for your own runs, or those of people
    you trust."""
    track: tuple[Name, ...] = field(default=(), metadata={"action": "append"})
    """Also send metrics to this tracker from now on; can be repeated. Trackers that the run already uses continue
    without this option."""
    track_project: str | None = None
    """Project to log the run to (default: the project used so far, or action-balance)."""

    def load(self) -> Callable[["Console"], None]:
        from action_balance.terminal.training import resume

        track = TrackConfig(self.track, self.track_project)
        started = partial(resume, self.run_folder, self.trust, env=self.env)
        return partial(started, steps=self.steps, track=track, devices=self.devices)


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
        from action_balance.studies.compare.run import compare_runs

        return partial(compare_runs, self.runs, self.metric, self.baseline, self.out)


@dataclass(frozen=True)
class View(Command):
    """Show a result or training runs on a web page."""

    paths: tuple[Path, ...] = field(metadata={"metavar": "RUN_OR_RESULT"})
    """Folder of a result (reproduce, explore, compare, sweep), or folders of training runs, shown together."""
    save: Path | None = None
    """Write the page to this self-contained file instead of serving it."""
    live: bool = False
    """Follow runs that are still training or have not started yet."""
    port: int = 0
    """Port of the local server; 0 for any free port."""
    open: bool = False
    """Open the page in a browser."""
    trust: bool = False
    """Import the environment family named in a run, which runs its code. Only its map needs this."""

    def load(self) -> Callable[["Console"], None]:
        from action_balance.studies.training.view import view

        return partial(view, self.paths, self.save, self.live, self.port, self.open, self.trust)


@dataclass(frozen=True)
class List(Command):
    """List environments, methods, bonuses, presets, tasks of the JAX libraries, and Atari games."""

    kind: Literal["environments", "methods", "bonuses", "presets", "tasks", "games"] | None = field(
        default=None, metadata={"positional": True}
    )
    """List only this kind: environments, methods, bonuses, presets, tasks or games."""
    gym: bool = False
    """Also list the environments registered with Gymnasium on this machine."""
    json: bool = False
    """Print JSON with all details."""

    @property
    def is_light(self) -> bool:
        return True

    def load(self) -> Callable[["Console"], None]:
        from action_balance.terminal.listing import show

        return partial(show, self.kind, self.gym, self.json)


@dataclass(frozen=True)
class Doctor(Command):
    """Show versions and devices, and run a self-test."""

    def load(self) -> Callable[["Console"], None]:
        from action_balance.doctor import examine

        return examine
