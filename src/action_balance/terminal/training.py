"""Training on the terminal: ``train`` and ``resume``, and what shows the progress of a run."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.device.devices import for_resume
from action_balance.engines.extend import extend
from action_balance.engines.metrics_rows import Progress
from action_balance.runs import RunFolder
from action_balance.terminal.console import OutputConsole, say
from action_balance.terminal.display import Display, Shown
from action_balance.tracking import TrackConfig, check_installed

#: Whether a program wants to see progress, or how: None for notebooks and terminals only.
ShowProgress = bool | Callable[[Progress], None] | None


def command_line() -> list[str]:
    """The command as it is typed, without the folder that the program is in."""
    return ["action-balance", *sys.argv[1:]]


def train(config: TrainConfig, out: Path, overwrite: bool, track: TrackConfig, console: Console) -> None:
    """Train a new run."""
    with training_progress(console, config, path=out) as shown:
        messages = partial(say, console)
        loop.begin(out, config, command_line(), shown, overwrite, messages, track, on_start=shown.begin)
    shown.finish()


def resume(
    path: Path,
    trust: bool,
    console: Console,
    env: str | None = None,
    steps: int | None = None,
    track: TrackConfig | None = None,
    devices: int | Literal["all"] | None = None,
) -> None:
    """Train the rest of a run, or extend it."""
    check_installed(track.names if track else ())
    folder = RunFolder.open(path)
    config, notes = for_resume(TrainConfig.of_run(folder.config, trust, env), devices)
    messages = partial(say, console)
    longer = None if steps is None else extend(folder, config, steps)
    if longer is None and loop.says_finished(folder, messages):
        return
    with training_progress(console, longer.config if longer else config, path=path) as shown:
        loop.resume(
            folder, config, command_line(), shown, messages, track, on_start=shown.begin, extension=longer, notes=notes
        )
    shown.finish()


@contextmanager
def show_progress(
    progress: ShowProgress, config: TrainConfig, report: Callable[[Progress], None], path: Path
) -> Iterator[Shown]:
    """Show the progress of a training that a program has begun."""
    in_notebook = OutputConsole().is_jupyter
    # Lines of text, which a notebook keeps together; it claims to be a terminal.
    console = OutputConsole(force_jupyter=False, force_terminal=False) if in_notebook else OutputConsole()
    if callable(progress):
        shown = Shown(progress, report)
    elif progress or (progress is None and (console.is_terminal or in_notebook)):
        shown = Display(console, config, "", None if in_notebook else path, report)
    else:
        shown = Shown(report)
    try:
        yield shown
    finally:
        shown.end()


@contextmanager
def training_progress(
    console: Console, config: TrainConfig, name: str = "", path: Path | None = None
) -> Iterator[Display]:
    """Show a training; see `Display`, whose arguments these are."""
    shown = Display(console, config, name, path)
    try:
        if path is None:
            shown.begin()
        yield shown
    finally:
        shown.end()
