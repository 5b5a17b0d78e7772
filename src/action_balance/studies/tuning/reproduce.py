"""``reproduce tuning``: the trials of every method, and the settings that are chosen for each kind of world."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from action_balance.files import Data
from action_balance.studies.records import made_by
from action_balance.studies.runner import Findings, Study
from action_balance.studies.settings_text import plain
from action_balance.studies.sweep.space import shown
from action_balance.studies.tuning import KIND, analysis, figures, page
from action_balance.studies.tuning.records import TrialRecord, belongs
from action_balance.studies.tuning.settings import METHODS, TuningSettings, space
from action_balance.terminal.console import say


def _analyse(
    settings: TuningSettings, records: Sequence[TrialRecord], notes: Sequence[str], before: Data | None
) -> Findings:
    del notes
    given = plain(settings) if before is None else before.get("settings", plain(settings))
    ours = analysis.numbers(analysis.with_all_trials(records, given["trials"]))
    return Findings(
        summary={
            "settings": given,
            "ours": ours,
            "made_by": made_by(records),
        },
        tables={"trials.csv": (COLUMNS, _rows(ours))},
        figures={"trials": figures.draw(ours["kinds"])} if ours["kinds"] else {},
    )


#: The settings that any method searches.
SEARCHED = tuple(dict.fromkeys(axis.name for setup in METHODS.values() for axis in space(setup).axes))

COLUMNS = ("kind", "world", "method", "trial", "chosen", "solved", "agents", "time", "area", *SEARCHED)


def _rows(ours: Data) -> Iterator[Sequence[object]]:
    for kind, about in ours["kinds"].items():
        for name, method in about["methods"].items():
            for row in method["trials"]:
                values = [row["values"].get(one, "") for one in SEARCHED]
                for world, one in row["worlds"].items():
                    numbers = one["solved"], one["agents"], round(one["time"], 6), round(one["area"], 6)
                    yield kind, world, name, row["trial"], row["trial"] == method["chosen"], *numbers, *values


def _conclude(summary: Data, console: Console) -> None:
    for kind, about in summary["ours"]["kinds"].items():
        for name, method in about["methods"].items():
            values = ", ".join(f"{key.rpartition('.')[2]} {shown(value)}" for key, value in method["values"].items())
            say(console, f"{kind}, {name}: trial {method['chosen']}, {method['time']:.0%} of the steps ({values})")


STUDY = Study(
    kind=KIND,
    record=TrialRecord,
    belongs=belongs,
    analyse=_analyse,
    page=page.result_page,
    conclude=_conclude,
    compact=True,
)
