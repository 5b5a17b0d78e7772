"""A full disk: a small file system fills up during a command; the run is then resumed on a larger one."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from campaign.kinds.kills import begin, compare
from campaign.scene import TINY_GRID, TRAININGS
from campaign.snapshots import lost, snapshot
from campaign.stage import Stage

#: Most kilobytes of the file system; a run of the scene needs less.
MOST = 1200
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


def run(stage: Stage) -> None:
    """Train or evaluate on a small disk."""
    rng = stage.rng
    disk = stage.folder / "disk"
    kilobytes = rng.choice((rng.randrange(4, 200, 4), rng.randrange(4, MOST, 4)))
    about = f"a disk of {kilobytes} kB"
    training, reference = TRAININGS["long-sea"], stage.scene.path("long-sea", stage.runner)
    with small_disk(disk, kilobytes) as mounted:
        if not mounted:
            stage.skipped = "a small file system can be mounted by root only"
            return
        if rng.random() < 0.3:
            _write_beside(stage, disk, about)
            return
        ended = stage.finish(*training.words, "--out", str(disk / "run"), codes=(0, 2), about=about)
        stage.notes["full"] += ended.code == 2
        roomy = stage.folder / "run"
        if (disk / "run").exists():
            shutil.copytree(disk / "run", roomy)
    stage.finish(*begin(training, roomy), about=f"{about}, then on a larger one")
    compare(stage, training, roomy, reference)


def _write_beside(stage: Stage, disk: Path, about: str) -> None:
    """Commands that read a run on a large disk and write to the small one."""
    name = stage.rng.choice(("compare", "view", "explore", "evaluate"))
    folder = stage.copy("sea", "run")
    shutil.copy(stage.scene.path("explored", stage.runner).parents[1] / "map.txt", stage.folder / "map.txt")
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
    ended = stage.finish(*words, codes=(0, 2), about=about)
    stage.notes["full"] += ended.code == 2
    for problem in lost(before, snapshot(folder)):
        stage.complain(problem, ended, about)
