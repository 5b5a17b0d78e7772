"""A progress bar for each part of the work; plain lines where the output is not a terminal."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from action_balance.tabular.simulate import Progress as Report
from action_balance.tabular.simulate import silent


@contextmanager
def progress_bar(console: Console, name: str, total: int) -> Iterator[Report]:
    """Shows how many of ``total`` runs are done while the body works."""
    began = time.perf_counter()
    if not console.is_terminal:
        console.print(f"{name}: {total:,} runs ...", highlight=False)
        yield silent
        console.print(f"{name}: done in {time.perf_counter() - began:.1f} s", highlight=False)
        return
    columns = (
        TextColumn("{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(name, total=total)
        yield lambda done: bar.advance(task, done)
        bar.update(task, completed=total)
