"""A part of the grid study: what ``reproduce grid`` runs, writes and reports on its own.

Each part is one module of this folder that defines `PART`; `settings.STUDIES` lists their names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from action_balance.files import Data
from action_balance.runs.results import ResultFolder
from action_balance.studies.grid.settings import GridSettings
from action_balance.tabular.simulate import Progress


@dataclass(frozen=True)
class Part:
    """How a part runs and what it reports."""

    runs: Callable[[GridSettings], int]
    """Number of runs that it simulates."""
    reproduce: Callable[[GridSettings, ResultFolder, Progress], tuple[Data, int]]
    """Runs it and writes its tables and figures; returns its numbers for the summary, and the steps simulated."""
    paper: Data | None = None
    """The paper's numbers, with the same keys."""


def load_part(name: str) -> Part:
    part: Part = import_module(f"{__package__}.{name}").PART
    return part
