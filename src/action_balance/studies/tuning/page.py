"""The page of ``reproduce tuning``, from ``summary.json`` and the figure; ``page.html`` has its text."""

from pathlib import Path

from action_balance.files import Data
from action_balance.studies.bonuses.settings import Setup
from action_balance.studies.page import devices_of, study_page
from action_balance.studies.settings_text import command_line, plain
from action_balance.studies.sweep.space import shown
from action_balance.studies.tuning import KIND
from action_balance.studies.tuning.settings import FIRST_SEED, METHODS, WORLDS, WORLDS_OF, TuningSettings, space


def result_page(folder: Path, summary: Data) -> str:
    return study_page(
        "tuning",
        folder,
        summary,
        titles_of=lambda names: [WORLDS[name].title for name in names],
        worlds_of=WORLDS_OF,
        label=lambda name: Setup.of(name).label,
        searched={name: space(setup).axes for name, setup in METHODS.items()},
        shown=shown,
        settings=summary["settings"],
        first_seed=FIRST_SEED,
        devices=devices_of(summary),
        command=command_line(f"action-balance {KIND}", summary["settings"], plain(TuningSettings())),
    )
