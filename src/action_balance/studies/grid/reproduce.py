"""``reproduce grid``: run the parts of the grid study; write each as soon as it is finished, and a report of all."""

import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rich.console import Console

from action_balance.envs.grid.maps import corridor_world
from action_balance.runs.results import ResultFolder
from action_balance.studies.grid import KIND
from action_balance.studies.grid.conclusion import conclusion
from action_balance.studies.grid.memory_needs import check_study
from action_balance.studies.grid.part import load_part
from action_balance.studies.grid.settings import STUDIES, GridSettings
from action_balance.studies.parts import finish_part, run_missing, without_choice
from action_balance.tabular import simulate
from action_balance.terminal.console import say
from action_balance.terminal.progress import progress_bar


def reproduce_grid(settings: GridSettings, out: Path, overwrite: bool, console: Console) -> None:
    """Run the chosen parts that the folder does not hold yet."""
    check_study(settings)
    papers = {name: load_part(name).paper for name in STUDIES}
    extra = {"as_in_paper": settings.as_in_paper, "paper": papers}
    with ResultFolder.open(out, KIND, without_choice(settings), overwrite, extra) as folder:

        def run(name: str) -> None:
            _run(name, settings, folder, console)

        with _compiling_ahead(settings, folder):
            run_missing(folder, STUDIES, settings.studies, run, overwrite, console)
        say(console, *conclusion(folder.summary, folder.path))


def _compiling_ahead(settings: GridSettings, folder: ResultFolder) -> AbstractContextManager[None]:
    """Compile the program of the corridor, the last part, while the first part compiles its own on another core."""
    missing = [name for name in settings.studies if name not in folder.summary["ours"]]
    if len(missing) > 1 and "corridor" in missing:
        return simulate.compiling(corridor_world(), settings.agent)
    return nullcontext()


def _run(name: str, settings: GridSettings, folder: ResultFolder, console: Console) -> None:
    from action_balance.studies.grid import page

    part = load_part(name)
    began = time.perf_counter()
    with progress_bar(console, name, part.runs(settings)) as progress:
        numbers, steps = part.reproduce(settings, folder, progress)
    timing = {"seconds": round(time.perf_counter() - began, 3), "simulated_steps": steps}
    finish_part(folder, name, numbers, timing, page.grid_page)
