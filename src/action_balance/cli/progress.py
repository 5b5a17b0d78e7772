"""A progress bar for each part of the work; plain lines where the output is not a terminal."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from action_balance.tabular.simulate import Progress as Report

#: Seconds between two plain lines.
LINE_EVERY = 10.0


@contextmanager
def progress_bar(console: Console, name: str, total: int, unit: str = "runs") -> Iterator[Report]:
    """Shows how many of ``total`` runs, or other things, are done while the body works."""
    if not console.is_terminal:
        with _plain_lines(console, name, total, unit) as report:
            yield report
        return
    columns = (
        TextColumn("{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(name, total=total)
        yield lambda done: bar.advance(task, done)
        bar.update(task, completed=total)


@contextmanager
def _plain_lines(console: Console, name: str, total: int, unit: str) -> Iterator[Report]:
    """A line at the beginning, at the end, and every now and then between."""
    began = told = time.perf_counter()
    count = 0.0
    lock = threading.Lock()

    def report(done: float) -> None:
        nonlocal count, told
        with lock:
            count += done
            if time.perf_counter() - told >= LINE_EVERY:
                told = time.perf_counter()
                console.print(f"{name}: {count:,.0f} of {total:,} {unit}", highlight=False)

    console.print(f"{name}: {total:,} {unit} ...", highlight=False)
    yield report
    console.print(f"{name}: done in {time.perf_counter() - began:.1f} s", highlight=False)
