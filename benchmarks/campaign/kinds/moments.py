"""Moments of a training run, to kill or to interrupt it then."""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from campaign.processes import Process, Runner

#: Seconds between two looks at a folder; what is aimed at lasts a few milliseconds.
LOOK = 0.0004
#: Seconds after which a moment that does not come is given up.
LATEST = 30.0

#: Names of the moments: anything from the first instant on, and aimed ones.
MOMENTS = ("at once", "any time", "compiling", "between updates", "a row is written", "a checkpoint is written")
#: The moment of a file that is replaced as a whole, such as the manifest.
REPLACING = "a file is replaced"


def wait_for(rng: random.Random, moment: str, run: Path, process: Process, runner: Runner, usual: float) -> bool:
    """Wait for a moment of a run.

    Args:
        rng: random numbers.
        moment: the name of the moment.
        run: the folder of the run.
        process: the process that trains.
        runner: which started it.
        usual: seconds that the whole run takes when nothing disturbs it.

    Returns:
        Whether the process is still running then.
    """
    if moment == "at once":
        return _sleep(rng.uniform(0.0, 0.3), process, runner)
    if moment == "any time":
        return _sleep(rng.uniform(0.0, usual), process, runner)
    if moment == "compiling":
        came = _watch((run / "config.json").exists, process, runner)
        return came and _sleep(rng.uniform(0.0, usual / 2), process, runner)
    metrics = run / "metrics.jsonl"
    if moment == "between updates":
        rows = rng.randint(1, 60)
        came = _watch(lambda: _size(metrics) > rows * 300, process, runner)
        return came and _sleep(rng.uniform(0.0, 0.02), process, runner)
    if moment == "a row is written":
        rows, last = rng.randint(1, 60), [0]

        def grows() -> bool:
            size = _size(metrics)
            before, last[0] = last[0], size
            return size > before and size > rows * 300

        return _watch(grows, process, runner)
    hidden = run if moment == REPLACING else run / "checkpoints"
    number = rng.randint(1, 12 if hidden != run else 2)
    return _watch(_times(lambda: _prepares(hidden), number), process, runner)


def _times(happens: Callable[[], bool], number: int) -> Callable[[], bool]:
    """Whether something happens for the n-th time, after it had stopped in between."""
    left, before = [number], [False]

    def count() -> bool:
        now = happens()
        left[0] -= now and not before[0]
        before[0] = now
        return left[0] <= 0

    return count


def _prepares(folder: Path) -> bool:
    """Whether a folder has something that is not finished yet, under a hidden name."""
    try:
        return any(name.startswith(".") and name != ".lock" for name in os.listdir(folder))
    except OSError:
        return False


def _size(file: Path) -> int:
    try:
        return os.stat(file).st_size
    except OSError:
        return 0


def _watch(condition: Callable[[], bool], process: Process, runner: Runner) -> bool:
    latest = time.monotonic() + LATEST
    while time.monotonic() < latest:
        for _ in range(50):
            if condition():
                return True
            time.sleep(LOOK)
        if runner.has_ended(process):
            return False
    return not runner.has_ended(process)


def _sleep(seconds: float, process: Process, runner: Runner) -> bool:
    latest = time.monotonic() + seconds
    while (left := latest - time.monotonic()) > 0:
        time.sleep(min(left, 0.05))
        if runner.has_ended(process):
            return False
    return not runner.has_ended(process)
