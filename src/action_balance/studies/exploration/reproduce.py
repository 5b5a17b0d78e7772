"""``reproduce exploration``: train the cells that have no record, and report all records that exist."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console

from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.plots import drawing
from action_balance.runs.results import ResultFolder
from action_balance.studies import cell_study, cells
from action_balance.studies.exploration import KIND, analysis, screen
from action_balance.studies.exploration.records import Record, read_records
from action_balance.studies.exploration.settings import TASKS, ExplorationSettings
from action_balance.web.format import as_float
from action_balance.web.render import as_bytes


def reproduce_exploration(
    settings: ExplorationSettings, out: Path, wanted: cell_study.Wanted, console: Console
) -> None:
    """Train what is missing of the study, and write its report."""
    from action_balance.studies.exploration import training

    study = cell_study.CellStudy(
        kind=KIND,
        plan=settings.plan(),
        load=Record.load,
        train=partial(training.train, out=out),
        places=TASKS,
        write_report=lambda keep: write_report(out, settings, keep),
        conclude=lambda: screen.show(ResultFolder.read(out).summary["ours"], console),
    )
    cell_study.run(study, out, wanted, console)


def write_report(out: Path, settings: ExplorationSettings, keep: bool = False) -> None:
    """Write the summary, tables, figures and page of the records that exist."""
    records = read_records(out)
    if not records:
        raise UserError(f"{out / cells.CELLS} has no records: train first, or give another --out")
    with ResultFolder.renew(out, KIND) as folder:
        given = json.loads(json.dumps(asdict(settings)))
        kept = keep and settings == ExplorationSettings()
        shown = folder.before.get("settings", given) if kept else given
        folder.summary["settings"] = shown
        _write(folder, [one for one in records if _is_shown(one, shown)] or records)


def _is_shown(record: Record, settings: Data) -> bool:
    """Whether a report is about a record: all of them, unless tasks or methods were chosen."""
    chosen = {"task": settings.get("tasks"), "method": settings.get("methods")}
    return all(not names or getattr(record, kind) in names for kind, names in chosen.items())


def _write(folder: ResultFolder, records: Sequence[Record]) -> None:
    from action_balance.studies.exploration import figures, page

    ours = analysis.numbers(records)
    folder.summary |= {"ours": ours, "made_by": cells.made_by(records)}
    folder.summary["timings"] = {one.name: {"seconds": round(one.seconds, 3)} for one in records}
    folder.write_csv("agents.csv", AGENT_COLUMNS, _agent_rows(records))
    folder.write_csv("leaderboard.csv", BOARD_COLUMNS, _board_rows(ours))
    for name, figure in figures.draw_all(ours).items():
        drawing.save(figure, folder.write, f"figures/{name}")
    folder.write("report.html", as_bytes(page.exploration_page(folder.path, folder.summary)))
    folder.save()


AGENT_COLUMNS = ("task", "method", "seed", "steps", "value", "score", "efficiency")


def _agent_rows(records: Sequence[Record]) -> Iterator[Sequence[object]]:
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
        parts = {key: _parts(row[key]) for key in ("iqm", "efficiency", "over_base", "over_plain")}
        yield (
            *(row["rank"], row["method"], *parts["iqm"], round(row["mean"], 6), *parts["efficiency"]),
            *(*parts["over_base"], *parts["over_plain"], round(as_float(row["steps_per_second"]), 1)),
        )


def _parts(estimate: Data | None) -> list[object]:
    """An estimate as three fields of a table; nan, which becomes an empty field, where unknown."""
    return [round(as_float((estimate or {}).get(key)), 6) for key in ("value", "low", "high")]
