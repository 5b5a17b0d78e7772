"""Pairs: two processes on the same folder. At most one of them is refused, with one line, and nothing is corrupted."""

import json
import shutil
import time
from pathlib import Path

from campaign.context import CaseContext
from campaign.fixtures import TINY_GRID, TRAININGS
from campaign.kinds.kills import compare
from campaign.processes import HANG

TRAIN = (*TRAININGS["sea"].words, "--out", "run")
EVALUATE = ("evaluate", "run", "--episodes", "1")
EXPLORE = ("explore", "map.txt", *TINY_GRID, "--out", "out")
#: Two commands each, and the fixture that they work on; none for a new run.
PAIRS: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "train + train": (TRAIN, TRAIN, ""),
    "resume + resume": (("resume", "run"), ("resume", "run"), "sea-half"),
    "evaluate + evaluate": (EVALUATE, EVALUATE, "sea"),
    "resume + evaluate": (("resume", "run"), EVALUATE, "sea-half"),
    "compare + compare": (("compare", "run", "--out", "out"), ("compare", "run", "--out", "out"), "sea"),
    "view + view": (("view", "run", "--save", "page.html"), ("view", "run", "--save", "page.html"), "sea"),
    "train + overwrite": (TRAIN, (*TRAIN, "--overwrite"), ""),
    "explore + explore": (EXPLORE, EXPLORE, "explored"),
}


def run(context: CaseContext) -> None:
    """Start two commands at about the same time."""
    rng = context.rng
    name = rng.choice(list(PAIRS))
    first, second, fixture = PAIRS[name]
    reference = context.fixtures.path("sea", context.runner)
    if fixture:
        context.copy(fixture, "run")
        if fixture == "explored":
            shutil.copy(context.fixtures.scratch / "map.txt", context.folder / "map.txt")
    one = context.runner.start(first, context.folder)
    time.sleep(rng.choice((0.0, rng.uniform(0.0, 0.05), rng.uniform(0.0, 2.0))))
    two = context.runner.start(second, context.folder)
    ended = [context.judge(context.runner.wait(process, hang=2 * HANG), (0, 2), name) for process in (one, two)]
    if all(process.code == 2 for process in ended):
        context.complain(f"both were refused: {ended[0].err.strip()[-200:]}", ended[0], name)
    run_folder = context.folder / "run"
    if "train" in name or "resume" in name:
        compare(context, TRAININGS["sea"], run_folder, reference)
    _check_files(context, name, context.folder)


def _check_files(context: CaseContext, name: str, folder: Path) -> None:
    """Every JSON file is whole, and nothing is left under a temporary name."""
    for file in folder.rglob("*.json"):
        try:
            json.loads(file.read_bytes())
        except ValueError:
            context.complain(f"{file.relative_to(folder)} is not whole ({name})")
    for file in folder.rglob(".*"):
        if file.name not in (".lock",) and not file.name.endswith(".lock"):
            context.complain(f"{file.relative_to(folder)} was left behind ({name})")
    if "view" in name and not (folder / "page.html").read_text().rstrip().endswith("</html>"):
        context.complain(f"page.html is not whole ({name})")
