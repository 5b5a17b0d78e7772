"""What the benchmarks share: a clock, tables, and the line that says where they ran."""

import os
import platform
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import jax
from rich.console import Console
from rich.table import Table

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Wall seconds and result."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def table(title: str, columns: Iterable[str]) -> Table:
    """An empty table with numbers to the right."""
    result = Table(title=title, title_justify="left", title_style="bold")
    for number, name in enumerate(columns):
        result.add_column(name, justify="right" if number else "left", no_wrap=not number)
    return result


def wide_console() -> Console:
    """Where tables go; wide enough for them, also in a file."""
    result = Console(highlight=False)
    if not result.is_terminal:
        result.width = 130
    return result


def machine(*more: str) -> str:
    """What this was measured on, in a line."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    versions = (f"Python {platform.python_version()}", f"JAX {jax.__version__}", *more)
    return f"{model}, {cores()} cores, load {os.getloadavg()[0]:.1f}; {', '.join(versions)}"
