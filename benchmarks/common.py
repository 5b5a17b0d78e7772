"""Helpers that the benchmarks share: timing, tables, and a description of the machine."""

import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import jax
from rich.console import Console
from rich.table import Table

from action_balance.machine import cores

K = TypeVar("K")
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Wall-clock seconds of a call, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def measure(calls: Mapping[K, Callable[[], Any]], rounds: int, block_seconds: float = 0.0) -> dict[K, list[float]]:
    """Seconds per call, one number per round; every round measures all calls in turn."""

    def block(call: Callable[[], Any], count: int) -> None:
        for _ in range(count):
            result = call()
        jax.block_until_ready(result)

    repeats = {}
    for name, call in calls.items():
        block(call, 1)
        repeats[name] = max(1, math.ceil(block_seconds / timed(partial(block, call, 1))[0]))
    found: dict[K, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(timed(partial(block, call, repeats[name]))[0] / repeats[name])
    return found


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median of the ratios within a round."""
    return median(x / y for x, y in zip(above, below, strict=True))


def table(title: str, columns: Iterable[str]) -> Table:
    """An empty table; all columns but the first are right-aligned."""
    result = Table(title=title, title_justify="left", title_style="bold")
    for number, name in enumerate(columns):
        result.add_column(name, justify="right" if number else "left", no_wrap=not number)
    return result


def wide_console() -> Console:
    """A console that is wide enough for the tables, also when the output goes to a file."""
    result = Console(highlight=False)
    if not result.is_terminal:
        result.width = 130
    return result


def machine(*more: str) -> str:
    """One line that describes the machine and the versions in use."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    versions = (f"Python {platform.python_version()}", f"JAX {jax.__version__}", *more)
    return f"{model}, {cores()} cores, load {os.getloadavg()[0]:.1f}; {', '.join(versions)}"
