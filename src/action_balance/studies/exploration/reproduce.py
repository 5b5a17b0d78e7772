"""``reproduce exploration``: all bonuses on hard-exploration tasks, with a leaderboard."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.files import Data
from action_balance.studies.exploration import KIND, analysis, figures, page, screen
from action_balance.studies.exploration.records import TaskRecord
from action_balance.studies.exploration.settings import METHODS, TASKS, Condition, ExplorationSettings
from action_balance.studies.records import made_by
from action_balance.studies.runner import Findings, Study, fields_of
from action_balance.studies.settings_text import plain
from action_balance.web.format import as_float


def _belongs(name: str, config: TrainConfig) -> bool:
    condition = Condition.of(name)
    return condition.task in TASKS and condition.method in METHODS and config.env.engine == "device"


def _analyse(
    settings: ExplorationSettings, records: Sequence[TaskRecord], notes: Sequence[str], before: Data | None
) -> Findings:
    del notes
    tasks, methods = list(TASKS), list(METHODS)
    records = sorted(records, key=lambda one: (tasks.index(one.task), methods.index(one.method)))
    given = plain(settings)
    shown = given if before is None or settings != ExplorationSettings() else before.get("settings", given)
    records = [one for one in records if _is_shown(one, shown)] or records
    ours = analysis.numbers(records)
    return Findings(
        summary={
            "settings": shown,
            "ours": ours,
            "made_by": made_by(records),
            "timings": {one.name: {"seconds": round(one.seconds, 3)} for one in records},
        },
        tables={
            "agents.csv": (AGENT_COLUMNS, _agent_rows(records)),
            "leaderboard.csv": (BOARD_COLUMNS, _board_rows(ours)),
        },
        figures=figures.draw_all(ours),
    )


def _is_shown(record: TaskRecord, settings: Data) -> bool:
    """Whether a report is about a record: all of them, unless tasks or methods were chosen."""
    chosen = {record.task: settings.get("tasks"), record.method: settings.get("methods")}
    return all(not names or name in names for name, names in chosen.items())


def _conclude(summary: Data, console: Console) -> None:
    screen.show(summary["ours"], console)


AGENT_COLUMNS = ("task", "method", "seed", "steps", "value", "score", "efficiency")


def _agent_rows(records: Sequence[TaskRecord]) -> Iterator[Sequence[object]]:
    for one in records:
        agents = zip(one.final.tolist(), one.scores.tolist(), one.efficiency.tolist(), strict=True)
        for seed, numbers in enumerate(agents, start=one.config.seed):
            yield one.task, one.method, seed, one.limit, *(round(number, 6) for number in numbers)


BOARD_COLUMNS = (
    *("rank", "method", "iqm", "iqm_low", "iqm_high", "mean", "efficiency", "efficiency_low", "efficiency_high"),
    *("over_rnd", "over_rnd_low", "over_rnd_high", "over_ppo", "over_ppo_low", "over_ppo_high", "steps_per_second"),
)


def _board_rows(ours: Data) -> Iterator[Sequence[object]]:
    for row in ours["ranking"]:
        parts = {key: fields_of(row[key]) for key in ("iqm", "efficiency", "over_base", "over_plain")}
        yield (
            *(row["rank"], row["method"], *parts["iqm"], round(row["mean"], 6), *parts["efficiency"]),
            *(*parts["over_base"], *parts["over_plain"], round(as_float(row["steps_per_second"]), 1)),
        )


STUDY = Study(
    kind=KIND,
    record=TaskRecord,
    belongs=_belongs,
    analyse=_analyse,
    page=page.result_page,
    conclude=_conclude,
    compact=True,
)
