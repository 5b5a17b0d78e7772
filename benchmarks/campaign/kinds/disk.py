"""A full disk: a small file system fills up during a command; the run is then resumed on a larger one."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from campaign.context import CaseContext
from campaign.fixtures import TINY_GRID, TRAININGS
from campaign.kinds.kills import begin, compare
from campaign.snapshots import lost, snapshot

#: Most kilobytes of the file system; a run among the fixtures needs less.
MAX = 1200
#: Folders at which a file system is mounted now.
_mounted: list[Path] = []


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[bool]:
    """Mount a file system of a size while the body works.

    Args:
        folder: where to mount it.
        kilobytes: its size.

    Yields:
        Whether this process may do that.
    """
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    may = os.geteuid() == 0 and shutil.which("mount") is not None
    done = may and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    if done:
        _mounted.append(folder)
    try:
        yield done
    finally:
        if done:
            _unmount(folder)


def unmount_all() -> None:
    """Unmount what cases that were given up have left."""
    for folder in list(_mounted):
        _unmount(folder)


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)
    with contextlib.suppress(ValueError):  # two threads may be here, when a campaign is interrupted
        _mounted.remove(folder)


def run(context: CaseContext) -> None:
    """Train or evaluate on a small disk."""
    rng = context.rng
    disk = context.folder / "disk"
    kilobytes = rng.choice((rng.randrange(4, 200, 4), rng.randrange(4, MAX, 4)))
    about = f"a disk of {kilobytes} kB"
    training, reference = TRAININGS["long-sea"], context.fixtures.path("long-sea", context.runner)
    with small_disk(disk, kilobytes) as mounted:
        if not mounted:
            context.skipped = "a small file system can be mounted by root only"
            return
        if rng.random() < 0.3:
            _write_beside(context, disk, about)
            return
        ended = context.finish(*training.words, "--out", str(disk / "run"), codes=(0, 2), about=about)
        context.notes["full"] += ended.code == 2
        roomy = context.folder / "run"
        if (disk / "run").exists():
            shutil.copytree(disk / "run", roomy)
    context.finish(*begin(training, roomy), about=f"{about}, then on a larger one")
    compare(context, training, roomy, reference)


def _write_beside(context: CaseContext, disk: Path, about: str) -> None:
    """Commands that read a run on a large disk and write to the small one."""
    name = context.rng.choice(("compare", "view", "explore", "evaluate"))
    folder = context.copy("sea", "run")
    shutil.copy(context.fixtures.path("explored", context.runner).parents[1] / "map.txt", context.folder / "map.txt")
    words = {
        "compare": ("compare", "run", "--out", "disk/compared"),
        "view": ("view", "run", "--save", "disk/page.html"),
        "explore": ("explore", "map.txt", *TINY_GRID, "--out", "disk/x"),
        "evaluate": ("evaluate", "run", "--episodes", "1"),
    }[name]
    if name == "evaluate":  # the run itself is on the small disk, beside something that fills it
        with contextlib.suppress(OSError, shutil.Error):
            shutil.copytree(folder, disk / "run")
        words = ("evaluate", "disk/run", "--episodes", "1")
    before = snapshot(folder)
    ended = context.finish(*words, codes=(0, 2), about=about)
    context.notes["full"] += ended.code == 2
    for problem in lost(before, snapshot(folder)):
        context.complain(problem, ended, about)
