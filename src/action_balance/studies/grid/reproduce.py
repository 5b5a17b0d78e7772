"""``reproduce grid``: run the parts of the grid study; write each as soon as it is finished, and a report of all."""

import time
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from action_balance import signals
from action_balance.envs.grid.maps import corridor_world
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.runs.results import ResultFolder
from action_balance.studies import paper
from action_balance.studies.grid import KIND, corridor, coverage, goals, page
from action_balance.studies.grid.memory_needs import check_study
from action_balance.studies.grid.settings import STUDIES, GridSettings
from action_balance.studies.grid.verdict import conclusion
from action_balance.studies.run_job import same_command
from action_balance.tabular import simulate
from action_balance.terminal.console import say
from action_balance.terminal.progress import progress_bar
from action_balance.web.format import listed
from action_balance.web.render import as_bytes

PARTS = {"coverage": coverage, "goals": goals, "corridor": corridor}

#: The paper's numbers, with the same keys as ours.
PAPER: dict[str, Data | None] = {
    "coverage": {
        "times_sooner": paper.CROSSING_RATIO,
        "more_cells": paper.MORE_CELLS,
        "more_increase": paper.MORE_INCREASE,
    },
    "goals": {
        "ratio": paper.GOALS_RATIO,
        "runs": paper.TABLE_1_RUNS,
        "methods": {
            name: [{"goal": list(goal), "mean": mean} for goal, mean in by_goal.items()]
            for name, by_goal in paper.TABLE_1.items()
        },
    },
    "corridor": None,
}


def reproduce(settings: GridSettings, out: Path, overwrite: bool, console: Console) -> None:
    """Run the chosen parts that the folder does not hold yet."""
    check_study(settings)
    extra = {"as_in_paper": settings.as_in_paper, "paper": PAPER}
    # A result may be made part by part.
    shared = {name: value for name, value in asdict(settings).items() if name != "studies"}
    with ResultFolder.open(out, KIND, shared, overwrite, extra) as folder:
        finished = [part for part in STUDIES if part in folder.summary["ours"]]
        missing = [part for part in STUDIES if part in settings.studies and part not in finished]
        if not missing:
            raise UserError(
                f"{out} already contains this result: open its report.html, choose another --out, or replace it with "
                "--overwrite"
            )
        if finished:
            say(console, f"{out} already has {listed(finished)}: continuing with {listed(missing)}")

        def state() -> str:
            done = f"finished parts ({listed(finished)}) are kept in {out}" if finished else "no part was completed"
            return f"{done}; {same_command(overwrite)} continues from there"

        # The program of the corridor, the last part, is compiled while the first part compiles its own on another core.
        ahead = len(missing) > 1 and "corridor" in missing
        compiling = simulate.compiling(corridor_world(), settings.agent) if ahead else nullcontext()
        with signals.kept(state), compiling:
            for part in missing:
                _run(part, settings, folder, console)
                finished.append(part)
        say(console, *conclusion(folder.summary, folder.path))


def _run(name: str, settings: GridSettings, folder: ResultFolder, console: Console) -> None:
    """Run a part, write its results, and record it as finished."""
    kinds, began = {"coverage": 1, "goals": len(settings.goals), "corridor": 2}[name], time.perf_counter()
    with progress_bar(console, name, kinds * settings.runs * len(settings.methods)) as progress:
        numbers, steps = PARTS[name].reproduce(settings, folder, progress)
    folder.summary["ours"][name] = numbers
    seconds = round(time.perf_counter() - began, 3)
    folder.summary["timings"][name] = {"seconds": seconds, "simulated_steps": steps}
    folder.write("report.html", as_bytes(page.result_page(folder.path, folder.summary)))
    folder.save()  # last: from now on the part counts as finished
