"""``train`` and ``resume`` on the screen."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from action_balance.agent import loop
from action_balance.agent.loop import Progress, TrainConfig
from action_balance.report.progress import LINE_EVERY
from action_balance.runs import RunFolder


def train(config: TrainConfig, out: Path, overwrite: bool, console: Console) -> None:
    """A new run."""
    folder = RunFolder.create(out, config.as_data(), sys.argv, overwrite)
    with _shown(console, config) as tell:
        loop.begin(folder, config, tell)
    console.print(f"trained {out}", highlight=False, soft_wrap=True)


def resume(path: Path, console: Console) -> None:
    """The rest of a run."""
    folder = RunFolder.open(path)
    config = TrainConfig.from_data(folder.config)
    with _shown(console, config) as tell:
        warnings = loop.resume(folder, sys.argv, tell)
    for warning in warnings:
        console.print(warning, highlight=False, soft_wrap=True)
    console.print(f"trained {path}", highlight=False, soft_wrap=True)


@contextmanager
def _shown(console: Console, config: TrainConfig) -> Iterator[Callable[[Progress], None]]:
    """A bar with steps/s, time left, return, coverage and bonus; lines where the output is not a terminal."""
    total = config.agent.updates
    began = told = time.perf_counter()
    first: int | None = None

    def text(now: Progress) -> str:
        nonlocal first
        per_update = config.seeds * config.agent.steps_per_update
        first = now.update - 1 if first is None else first
        rate = (now.update - first) * per_update / max(time.perf_counter() - began, 1e-9)
        return (
            f"{now.steps:,} steps, {rate:,.0f}/s, return {now.episode_return:.3g}, "
            f"states {now.states:,.0f}, bonus {now.bonus:.3g}"
        )

    if not console.is_terminal:

        def line(now: Progress) -> None:
            nonlocal told
            if time.perf_counter() - told >= LINE_EVERY or now.update == total:
                told = time.perf_counter()
                console.print(f"update {now.update} of {total}: {text(now)}", highlight=False, soft_wrap=True)

        yield line
        return
    with Bar(BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("compiling", total=total)
        yield lambda now: bar.update(task, completed=now.update, description=text(now))
