"""Damaged files: a file of a run or of a result is damaged or replaced, and a command reads it.

Whatever the command does, nothing that was there is gone: it is in its place, or was moved aside, or is a file that the
command is documented to write.
"""

import os
from collections.abc import Callable
from pathlib import Path

from campaign import hostile
from campaign.context import SECRET, CaseContext
from campaign.fixtures import GRID, TINY_GRID, possible, published
from campaign.kinds.configs import INTACT, commands
from campaign.snapshots import LARGEST, intact_lines, lost, snapshot, updates_of

#: Runs, more often the one that was killed, which `resume` has something to do with.
RUNS = ("sea-half", "sea-half", "sea-half", "pole-half", "pole-half", "sea", "pole")
#: Results, and the commands that read each.
RESULTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "explored": (
        ("view", "result", "--save", "page.html"),
        ("explore", "map.txt", *TINY_GRID, "--out", "result"),
        ("explore", "map.txt", *TINY_GRID, "--out", "result", "--overwrite"),
    ),
    "grid": (
        ("view", "result", "--save", "page.html"),
        ("reproduce", "grid", *TINY_GRID, *GRID, "--out", "result"),
        ("reproduce", "grid", *TINY_GRID, *GRID, "--out", "result", "--overwrite"),
    ),
    "compared": (("view", "result", "--save", "page.html"), ("compare", "run", "--out", "result")),
    "published-bonuses": (("reproduce", "bonuses", "--scale", "full", "--report-only", "--out", "result"),),
    "published-atari-short": (
        ("reproduce", "atari", "--report-only", "--out", "result"),
        ("view", "result", "--save", "page.html"),
    ),
    "published-montezuma-long": (("view", "result", "--save", "page.html"),),
}
#: Files that are damaged more often than others.
POPULAR = (
    "metrics.jsonl",
    "timing.jsonl",
    "visits.jsonl",
    "arrays.npz",
    "checkpoint.json",
    "summary.json",
    "manifest.json",
)


def run(context: CaseContext) -> None:
    """Damage a file, and run a command that reads it."""
    rng = context.rng
    outside = context.plant()
    if rng.random() < 0.65:
        folder = context.copy(rng.choice(possible(RUNS)), "run")
        words = commands()[rng.choice(("resume", "resume", "evaluate", "train", "view", "compare"))]
        if "intact" in words:
            context.copy(possible(INTACT)[0], "intact")
    else:
        name = rng.choice([one for one in RESULTS if not one.startswith("published") or published(one)])
        folder = context.copy(name, "result")
        words = rng.choice(RESULTS[name])
        if name == "compared":
            context.copy("sea", "run")
        (context.folder / "map.txt").write_bytes(
            (context.fixtures.scratch / "map.txt").read_bytes() if name == "explored" else b""
        )
    rows = _lines(folder / "metrics.jsonl")
    about = "; ".join(damage(context, folder) for _ in range(rng.choice((1, 1, 1, 2))))
    lines = intact_lines(folder, rows)
    logged = {name: set(updates_of(_lines(folder / name))) for name in ("timing.jsonl", "visits.jsonl")}
    before, secret = snapshot(context.folder), snapshot(outside)
    ended = context.command(*words, about=about)
    context.check_canaries(ended, about)
    for problem in lost(before, snapshot(context.folder), replaceable(words)):
        context.complain(problem, ended, about)
    if snapshot(outside) != secret:
        context.complain("changed a file outside of its folder", ended, about)
    page = context.folder / "page.html"
    if page.is_file() and SECRET in page.read_text(errors="replace"):
        context.complain("a page contains a file from outside of its folder", ended, about)
    if words[0] == "resume" and ended.code == 0:
        missing = lines - intact_lines(folder, lines)
        if missing:
            context.complain(f"intact rows of metrics.jsonl are gone: updates {updates_of(missing)[:5]}", ended, about)
        for name, before_updates in logged.items():
            files = (path for path in folder.iterdir() if path.name.startswith(name) and path.is_file())
            gone = before_updates.difference(*(updates_of(_lines(path)) for path in files))
            if gone:
                context.complain(f"rows of {name} are gone: updates {sorted(gone)[:5]}", ended, about)


def replaceable(words: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a command is documented to replace a file.

    Args:
        words: the command.

    Returns:
        A function of the path in the folder of the case.
    """

    def of_run(path: str) -> bool:
        # Resuming restores the moment of a checkpoint: later rows are trained again. What became of rows of metrics is
        # checked line by line, and checkpoints by their content.
        grows = ("metrics.jsonl", "timing.jsonl", "visits.jsonl", "manifest.json", ".lock")
        return os.path.basename(path) in grows or path.startswith("run/tensorboard/")

    if words[0] == "resume":
        return of_run
    if words[0] == "evaluate":
        return lambda path: path.startswith("run/evaluation/")
    if words[0] in ("explore", "reproduce", "compare"):
        return lambda path: path.startswith("result/")
    return lambda _: False


def damage(context: CaseContext, folder: Path) -> str:
    """Damage one file of a folder.

    Args:
        context: of the case.
        folder: the folder.

    Returns:
        What was done.
    """
    rng = context.rng
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    often = [path for path in files if path.name in POPULAR]
    if not files:
        return "no file left"
    target = rng.choice(often if often and rng.random() < 0.6 else files)
    name = target.relative_to(folder)
    choice = rng.random()
    if choice < 0.6:
        content, what = hostile.damaged_bytes(rng, target.read_bytes())
        target.write_bytes(content)
        return f"{name}: {what}"
    if choice < 0.75:
        other = rng.choice(files)
        first, second = target.read_bytes(), other.read_bytes()
        target.write_bytes(second)
        other.write_bytes(first)
        return f"{name} and {other.relative_to(folder)} swapped"
    what, replace = rng.choice(list(hostile.replacements().items()))
    if target.name == "metrics.jsonl" and rng.random() < 0.3:
        target = target.with_name("metrics.jsonl.gz")
        what = f"{what} beside it as metrics.jsonl.gz"
    target.unlink(missing_ok=True)
    replace(target)
    return f"{name}: {what}"


def _lines(file: Path) -> list[bytes]:
    """The lines of a regular file of an ordinary size; none of anything else."""
    try:
        return file.read_bytes().splitlines() if file.is_file() and file.stat().st_size < LARGEST else []
    except OSError:
        return []
