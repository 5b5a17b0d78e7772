"""A progress bar; plain lines if the output is not a terminal."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from action_balance.printable import printable
from action_balance.terminal.console import say

#: Seconds between two plain lines.
LINE_EVERY = 10.0

#: Is called with how much more is done.
Advance = Callable[[float], None]


@contextmanager
def progress_bar(console: Console, name: str, total: int, unit: str = "runs") -> Iterator[Advance]:
    if not console.is_terminal:
        with _plain_lines(console, name, total, unit) as advance:
            yield advance
        return
    columns = (
        TextColumn("{task.description:<9}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit, markup=False),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(printable(name), total=total)
        yield lambda done: bar.advance(task, done)
        bar.update(task, completed=total)


@contextmanager
def _plain_lines(console: Console, name: str, total: int, unit: str) -> Iterator[Advance]:
    """A line at the start, at the end, and every few seconds in between."""
    start = last_line = time.perf_counter()
    count = 0.0
    lock = threading.Lock()

    def advance(done: float) -> None:
        nonlocal count, last_line
        with lock:
            count += done
            if time.perf_counter() - last_line >= LINE_EVERY:
                last_line = time.perf_counter()
                say(console, f"{name}: {count:,.0f} of {total:,} {unit}")

    say(console, f"{name}: {total:,} {unit} ...")
    yield advance
    say(console, f"{name}: done in {time.perf_counter() - start:.1f} s")
