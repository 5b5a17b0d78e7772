"""Training on the terminal: ``train`` and ``resume``, and what shows the progress of a run."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.callbacks import Listeners, Report
from action_balance.engines.continuation import Continuation, continuation
from action_balance.engines.metrics_rows import Progress
from action_balance.runs import RunFolder
from action_balance.terminal.console import OutputConsole, say
from action_balance.terminal.display import Display, Shown
from action_balance.tracking import TrackConfig

#: Whether a program wants to see progress, or how: None for notebooks and terminals only.
ShowProgress = bool | Callable[[Progress], None] | None


def command_line() -> list[str]:
    """The command as it is typed, without the folder that the program is in."""
    return ["action-balance", *sys.argv[1:]]


def train(config: TrainConfig, out: Path, overwrite: bool, track: TrackConfig, console: Console) -> None:
    begin(config, out, Display(console, config, path=out), _listeners(console, track), overwrite)


def resume(
    path: Path,
    trust: bool,
    console: Console,
    env: str | None = None,
    steps: int | None = None,
    track: TrackConfig | None = None,
    devices: int | Literal["all"] | None = None,
) -> None:
    """Train the rest of a run, or extend it, as the command does."""
    folder = RunFolder.open(path)
    rest = continuation(folder, TrainConfig.of_run(folder.config, trust, env), steps, devices)
    go_on(rest, lambda config: Display(console, config, path=path), _listeners(console, track or TrackConfig()))


def _listeners(console: Console, track: TrackConfig) -> Listeners:
    return Listeners(command_line(), on_message=partial(say, console), track=track)


def begin(config: TrainConfig, out: Path, shown: Shown, listeners: Listeners, overwrite: bool) -> None:
    with shown:
        finished = loop.begin(out, config, replace(listeners, report=shown, on_start=shown.begin), overwrite)
    if finished:
        shown.finish()


def go_on(run: Continuation, show: Callable[[TrainConfig], Shown], listeners: Listeners) -> None:
    """Train the rest of a run, and show it; if there is none, a message says so."""
    if run.is_finished:
        listeners.on_message(
            f"{run.folder.path} is finished and has nothing left to train; to extend it, increase --steps"
        )
        return
    with show(run.config) as shown:
        finished = loop.resume(run, replace(listeners, report=shown, on_start=shown.begin))
    if finished:
        shown.finish()


def as_shown(progress: ShowProgress, config: TrainConfig, report: Report, path: Path) -> Shown:
    """How to show a training that a program has begun."""
    in_notebook = OutputConsole().is_jupyter
    # Lines of text, which a notebook keeps together; it claims to be a terminal.
    console = OutputConsole(force_jupyter=False, force_terminal=False) if in_notebook else OutputConsole()
    if callable(progress):
        return Shown(progress, report)
    if progress or (progress is None and (console.is_terminal or in_notebook)):
        return Display(console, config, "", None if in_notebook else path, report)
    return Shown(report)


@contextmanager
def training_progress(console: Console, config: TrainConfig, name: str = "") -> Iterator[Display]:
    with Display(console, config, name) as shown:
        shown.begin()
        yield shown
