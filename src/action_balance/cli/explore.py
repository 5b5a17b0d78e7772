"""The command ``explore``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.cli.form import Command
from action_balance.studies.grid.settings import RunSettings

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Explore(Command):
    """Run the tabular agent on your own map. The results are its coverage and, if the map has goals, the steps to reach
    one."""

    map: Path
    """Text file with the map: # wall, . free, S start, G goal."""
    out: Path | None = None
    """Folder for tables, figures and report.html (default: write no files)."""
    overwrite: bool = False
    """Replace the result that is already in that folder."""
    settings: RunSettings = field(default_factory=RunSettings)

    def load(self) -> Callable[["Console"], None]:
        """Import the exploration."""
        from action_balance.studies.explore.run import explore_map

        return partial(explore_map, self.map, self.settings, self.out, self.overwrite)
