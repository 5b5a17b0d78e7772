"""``train`` and ``resume`` on the screen."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from action_balance.cli.progress import LINE_EVERY
from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.metrics_rows import Progress
from action_balance.runs import RunFolder


def typed() -> list[str]:
    """The command as one would type it again: where the program lies is nobody's business."""
    return ["action-balance", *sys.argv[1:]]


def train(config: TrainConfig, out: Path, overwrite: bool, console: Console) -> None:
    """A new run."""
    with shown(console, config) as tell:
        loop.begin(out, config, typed(), tell, overwrite, _lines_on(console))
    console.print(f"trained {out}", highlight=False, soft_wrap=True)


def resume(path: Path, console: Console) -> None:
    """The rest of a run."""
    folder = RunFolder.open(path)
    config = TrainConfig.from_dict(folder.config)
    folder.check_unchanged()
    if folder.manifest.get("status") == "finished":
        console.print(f"{path} is finished: nothing is left to train", highlight=False, soft_wrap=True)
        return

    with shown(console, config) as tell:
        loop.resume(folder, typed(), tell, _lines_on(console))
    console.print(f"trained {path}", highlight=False, soft_wrap=True)


def _lines_on(console: Console) -> Callable[[str], None]:
    return lambda line: console.print(line, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def shown(console: Console, config: TrainConfig, name: str = "") -> Iterator[Callable[[Progress], None]]:
    """A bar with steps/s, time left, return, coverage and bonus; lines where the output is not a terminal.

    States on the host are not counted: there, the best return since the training began or went on is told instead.

    Args:
        console: the screen.
        config: of the run.
        name: what stands before all that.
    """
    total = config.agent.updates
    told = time.perf_counter()
    first: tuple[int, float] | None = None  # steps and time from which steps are counted: compiling is no step
    best = -math.inf

    def text(now: Progress) -> str:
        nonlocal first, best
        best = max(best, now.best_return)  # nan is never larger
        first = first or (now.steps, time.perf_counter())
        seconds = time.perf_counter() - first[1]
        rate = f"{(now.steps - first[0]) / seconds:,.0f}/s, " if now.steps > first[0] else ""
        found = f"states {now.states:,.0f}" if config.env.engine == "device" else f"best {_score(best)}"
        score = _score(now.episode_return)
        return f"{name}{now.steps:,} steps, {rate}return {score}, {found}, bonus {now.bonus:.3g}"

    if not console.is_terminal:

        def line(now: Progress) -> None:
            nonlocal told
            said = text(now)
            if time.perf_counter() - told >= LINE_EVERY or now.update == total:
                told = time.perf_counter()
                console.print(f"update {now.update} of {total}: {said}", highlight=False, soft_wrap=True)

        yield line
        return
    with Bar(BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn(), console=console) as bar:
        begins = "compiling" if config.env.engine == "device" else "playing at random for the statistics, and compiling"
        task = bar.add_task(f"{name}{begins}", total=total)
        yield lambda now: bar.update(task, completed=now.update, description=text(now))


def _score(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "-"
