"""Training on the terminal: ``train``, ``resume``, and the progress of a run."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.extend import extend
from action_balance.engines.metrics_rows import Progress
from action_balance.runs import RunFolder
from action_balance.terminal.console import OutputConsole, say
from action_balance.terminal.notebook import notebook_line
from action_balance.terminal.progress import LINE_EVERY
from action_balance.tracking import TrackConfig, check_installed

#: Whether a program wants to see progress, or how: None for notebooks and terminals only.
ShowProgress = bool | Callable[[Progress], None] | None


def command_line() -> list[str]:
    """The command as it is typed, without the folder that the program is in."""
    return ["action-balance", *sys.argv[1:]]


def train(config: TrainConfig, out: Path, overwrite: bool, track: TrackConfig, console: Console) -> None:
    """Train a new run.

    Args:
        config: Settings of the run.
        out: Folder of the run.
        overwrite: Whether to replace a run that is in that folder.
        track: Which trackers follow the run.
        console: Where progress is shown.
    """
    with training_progress(console, config) as report:
        loop.begin(out, config, command_line(), report, overwrite, partial(say, console), track)
    say(console, f"trained {out}")


def resume(
    path: Path,
    trust: bool,
    console: Console,
    env: str | None = None,
    steps: int | None = None,
    track: TrackConfig | None = None,
) -> None:
    """Train the rest of a run, or extend it.

    Args:
        path: Folder of the run.
        trust: Whether modules that the run names may be imported.
        console: Where progress is shown.
        env: MODULE:FUNCTION that makes the environment, if the run was trained with a function.
        steps: Environment steps of each seed that it is to have in the end; None for those that were planned.
        track: More trackers that follow the run from here on.
    """
    check_installed(track.names if track else ())
    folder = RunFolder.open(path)
    config = TrainConfig.of_run(folder.config, trust, env)
    if steps is not None:
        config, lines = extend(folder, config, steps)
        say(console, *lines)
    elif loop.says_finished(folder, partial(say, console)):
        return

    with training_progress(console, config) as report:
        loop.resume(folder, config, command_line(), report, partial(say, console), track)
    say(console, f"trained {path}")


@contextmanager
def show_progress(
    progress: ShowProgress, config: TrainConfig, report: Callable[[Progress], None]
) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a training that a program has begun.

    Args:
        progress: Whether to show it, None for notebooks and terminals only; or a function that shows it.
        config: Settings of the run.
        report: Another function to call after every update.

    Yields:
        A function to call after every update.
    """
    console = OutputConsole()
    shown: contextlib.AbstractContextManager[Callable[[Progress], None]]
    if callable(progress):
        shown = contextlib.nullcontext(progress)
    elif progress or (progress is None and (console.is_terminal or console.is_jupyter)):
        shown = training_progress(console, config)
    else:
        shown = contextlib.nullcontext(lambda _: None)
    with shown as show:

        def both(now: Progress) -> None:
            show(now)
            report(now)

        yield both


@contextmanager
def training_progress(console: Console, config: TrainConfig, name: str = "") -> Iterator[Callable[[Progress], None]]:
    """Show a bar with steps, steps per second, time left, return, states reached and bonus.

    Plain lines are printed if the output is not a terminal. Where states cannot be enumerated, the best
    return since the start of this process is shown instead of their number.

    Args:
        console: Where to show it.
        config: Settings of the run.
        name: Text before all that.

    Yields:
        A function to call after every update.
    """
    total = config.agent.updates
    last_line = time.perf_counter()
    first: tuple[int, float] | None = None  # steps and time of the first update: compiling does not count
    best = -math.inf

    def describe(now: Progress) -> str:
        nonlocal first, best
        best = max(best, now.best_return)  # nan is never larger
        first = first or (now.steps, time.perf_counter())
        seconds = time.perf_counter() - first[1]
        rate = f"{(now.steps - first[0]) / seconds:,.0f}/s, " if now.steps > first[0] else ""
        found = f"best {_score(best)}" if now.states is None else f"states {now.states:,.0f}"
        bonus = "" if now.bonus is None else f", bonus {now.bonus:.3g}"
        return f"{name}{now.steps:,} steps, {rate}return {_score(now.episode_return)}, {found}{bonus}"

    if console.is_jupyter:
        with notebook_line(f"{name}warming up and compiling") as replace:
            yield lambda now: replace(f"update {now.update} of {total}: {describe(now)}")
        return
    if not console.is_terminal:

        def line(now: Progress) -> None:
            nonlocal last_line
            text = describe(now)
            if time.perf_counter() - last_line >= LINE_EVERY or now.update == total:
                last_line = time.perf_counter()
                say(console, f"update {now.update} of {total}: {text}")

        yield line
        return
    with Bar(
        BarColumn(), TextColumn("{task.description}", markup=False), TimeRemainingColumn(), console=console
    ) as bar:
        task = bar.add_task(f"{name}warming up and compiling", total=total)
        yield lambda now: bar.update(task, completed=now.update, description=describe(now))


def _score(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "-"
