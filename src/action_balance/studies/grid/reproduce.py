"""``reproduce grid``: run the parts of the grid study; write each as soon as it is finished, and a report of all."""

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from action_balance import signals
from action_balance.envs.grid.maps import corridor_world
from action_balance.errors import UserError
from action_balance.runs.results import ResultFolder
from action_balance.studies.grid import KIND, corridor, coverage, goals, page
from action_balance.studies.grid.conclusion import conclusion
from action_balance.studies.grid.memory_needs import check_study
from action_balance.studies.grid.settings import GridSettings
from action_balance.studies.run_job import same_command
from action_balance.tabular import simulate
from action_balance.terminal.console import say
from action_balance.terminal.progress import progress_bar
from action_balance.web.format import listed
from action_balance.web.render import as_bytes

#: The parts by name, as in `settings.STUDIES`.
PARTS: dict[str, Any] = {"coverage": coverage, "goals": goals, "corridor": corridor}


def reproduce(settings: GridSettings, out: Path, overwrite: bool, console: Console) -> None:
    """Run the chosen parts that the folder does not hold yet."""
    check_study(settings)
    papers = {name: part.PAPERS for name, part in PARTS.items()}
    extra = {"as_in_paper": settings.as_in_paper, "paper": papers}
    # A result may be made part by part.
    shared = {name: value for name, value in asdict(settings).items() if name != "studies"}
    with ResultFolder.open(out, KIND, shared, overwrite, extra) as folder:
        finished = [part for part in PARTS if part in folder.summary["ours"]]
        missing = [part for part in PARTS if part in settings.studies and part not in finished]
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

        with signals.kept(state), _compiling_ahead(settings, missing):
            for part in missing:
                _run(part, settings, folder, console)
                finished.append(part)
        say(console, *conclusion(folder.summary, folder.path))


def _compiling_ahead(settings: GridSettings, missing: list[str]) -> AbstractContextManager[None]:
    """Compile the program of the corridor, the last part, while the first part compiles its own on another core."""
    if len(missing) > 1 and "corridor" in missing:
        return simulate.compiling(corridor_world(), settings.agent)
    return nullcontext()


def _run(name: str, settings: GridSettings, folder: ResultFolder, console: Console) -> None:
    """Run a part, write its results, and record it as finished."""
    part, began = PARTS[name], time.perf_counter()
    with progress_bar(console, name, part.count_runs(settings)) as progress:
        numbers, steps = part.reproduce(settings, folder, progress)
    folder.summary["ours"][name] = numbers
    seconds = round(time.perf_counter() - began, 3)
    folder.summary["timings"][name] = {"seconds": seconds, "simulated_steps": steps}
    folder.write("report.html", as_bytes(page.grid_page(folder.path, folder.summary)))
    folder.save()  # last: from now on the part counts as finished
