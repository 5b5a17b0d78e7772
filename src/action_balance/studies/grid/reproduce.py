"""``reproduce grid``: run the parts of the grid study; write each as soon as it is finished, and a report of all."""

import time
from pathlib import Path

from rich.console import Console

from action_balance.runs.results import ResultFolder
from action_balance.studies.grid import KIND
from action_balance.studies.grid.conclusion import conclusion
from action_balance.studies.grid.memory_needs import check_study
from action_balance.studies.grid.part import load_part
from action_balance.studies.grid.settings import STUDIES, GridSettings
from action_balance.studies.parts import finish_part, run_missing, without_choice
from action_balance.terminal.console import say
from action_balance.terminal.progress import progress_bar


def reproduce_grid(settings: GridSettings, out: Path, overwrite: bool, console: Console) -> None:
    """Run the chosen parts that the folder does not hold yet.

    Args:
        settings: settings of the study.
        out: folder of the result.
        overwrite: replace an existing result.
        console: the screen.
    """
    check_study(settings)
    papers = {name: load_part(name).paper for name in STUDIES}
    extra = {"as_in_paper": settings.as_in_paper, "paper": papers}
    with ResultFolder.open(out, KIND, without_choice(settings), overwrite, extra) as folder:

        def run(name: str) -> None:
            _run(name, settings, folder, console)

        run_missing(folder, STUDIES, settings.studies, run, overwrite, console)
        say(console, *conclusion(folder.summary, folder.path))


def _run(name: str, settings: GridSettings, folder: ResultFolder, console: Console) -> None:
    from action_balance.studies.grid import page

    part = load_part(name)
    began = time.perf_counter()
    with progress_bar(console, name, part.runs(settings)) as progress:
        numbers, steps = part.reproduce(settings, folder, progress)
    timing = {"seconds": round(time.perf_counter() - began, 3), "simulated_steps": steps}
    finish_part(folder, name, numbers, timing, page.grid_page)
