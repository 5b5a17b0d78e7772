"""What the reports of studies of many Atari runs share: the runs behind them, deviations, settings, the command.

``macros.html`` has the text.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, asdict, fields, replace
from typing import Any, ClassVar, Protocol

from matplotlib.figure import Figure

from action_balance.envs.atari.games import SKIP, title
from action_balance.errors import UserError, flag
from action_balance.files import Data
from action_balance.studies.atari.records import RECENT, AtariRecord, common_settings
from action_balance.studies.atari.training import PRESET, AtariTraining
from action_balance.studies.paper import TABLE_2_RUNS
from action_balance.studies.runner import Findings, StudySettings, Table
from action_balance.studies.settings_text import command_line, flat, plain
from action_balance.studies.statistics import number, rounded


class Settings(StudySettings, Protocol):
    """A dataclass whose fields, but for `OTHERS`, choose the runs."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def training(self) -> AtariTraining: ...


#: The settings of a study that have several names, and those that do not choose its runs.
NAMED, OTHERS = ("games", "methods"), ("training", "evaluate")

#: The settings of networks for vectors, which are not used here.
UNUSED = ("net",)


def findings(
    kind: str,
    settings: Settings,
    before: Data | None,
    groups: Sequence[Sequence[AtariRecord]],
    notes: Sequence[str],
    ours: Data,
    tables: Mapping[str, Table],
    figures: Mapping[str, Figure],
    paper: Data | None = None,
) -> Findings:
    """What a study makes of its runs, of which each group is one thing that is compared."""
    records = [record for group in groups for record in group]
    if before is not None:
        settings = planned(settings, before, records)
    # A report alone is not given the training settings of its runs.
    settings = replace(settings, training=settings.training.as_made(records[0].config.agent))
    runs = [run_data(record) for record in records]
    return Findings(
        summary={
            "settings": common_settings(records),
            "requested": requested(settings),
            **command(kind, settings, records),
            **({} if paper is None else {"paper": paper}),
            "deviations": deviations(records, [sum(run.finished for run in group) for group in groups]),
            "notes": list(notes),
            "runs": runs,
            "ours": ours,
        },
        tables={"runs.csv": (RUN_COLUMNS, run_rows(runs)), **tables},
        figures={**figures},
    )


def run_data(record: AtariRecord) -> Data:
    hardware = record.made_by.get("hardware") or {}
    versions = record.made_by.get("versions") or {}
    devices = ", ".join(sorted(set(hardware.get("devices") or [])))
    return {
        "name": record.path.name,
        "game": record.game,
        "method": record.method,
        "seed": record.config.seed,
        "status": record.status,
        "steps": record.steps_done,
        "steps_planned": record.limit,
        "episodes": int(record.episodes.sum()),
        "final_return": number(record.final_return),
        "best_return": number(record.best_return),
        "steps_per_second": number(record.steps_per_second),
        "device": devices or None,
        "cpus": hardware.get("cpus"),
        "lag": record.config.agent.host.lag,
        "jax": versions.get("jax"),
        "commit": record.made_by.get("commit"),
    }


RUN_COLUMNS = (
    *("name", "game", "method", "seed", "status", "steps", "frames", "steps_planned", "episodes", "final_return"),
    *("best_return", "steps_per_second", "device", "cpus", "lag", "jax", "commit"),
)


def run_rows(runs: Iterable[Data]) -> list[list[object]]:
    rows = []
    for run in runs:
        full = run | {"frames": SKIP * run["steps"]}
        rows.append([_field(full[name]) for name in RUN_COLUMNS])
    return rows


def _field(value: object) -> object:
    if value is None:
        return ""
    return rounded(value)[0] if isinstance(value, float) else value


def campaign_view(summary: Data) -> Data:
    """What the sections on the runs and on how to reproduce the report show."""
    runs, planned_runs = summary["runs"], summary["requested"]["runs"]
    names = [run["name"] for run in runs]
    return {
        "runs": runs,
        "finished": sum(run["status"] == "finished" for run in runs),
        "missing": [name for name in planned_runs if name not in names],
        "notes": summary["notes"],
        "speeds": _speeds(runs),
        "frames": SKIP,
        "recent": RECENT,
        "command": summary["command"],
        "other_runs": summary["other_runs"],
        "deviations": summary["deviations"],
        "hyperparameters": flat(summary["settings"], without=UNUSED),
        "versions": summary["versions"],
    }


def _speeds(runs: Sequence[Data]) -> list[Data]:
    """The devices of runs, and the mean steps per second on each; nan where unknown."""
    rates: dict[tuple[str | None, int | None], list[float]] = {}
    for run in runs:
        of_device = rates.setdefault((run["device"], run["cpus"]), [])
        of_device += [run["steps_per_second"]] if run["steps_per_second"] is not None else []
    return [
        {"device": device, "cpus": cpus, "rate": sum(known) / len(known) if known else math.nan}
        for (device, cpus), known in rates.items()
    ]


#: Settings that are not listed as deviations: they have an entry of their own, are compared, or change nothing.
SEPARATE = ("preset", "steps", "precision", "method", "normalize", "lag", "groups", "threads", *UNUSED)


def deviations(records: Sequence[AtariRecord], finished: Sequence[int]) -> Data:
    """Where runs differ from the paper's, for ``summary.json``."""
    agent = records[0].config.agent
    ours, presets = (flat(asdict(one), SEPARATE) for one in (agent, PRESET))
    return {
        "steps": agent.steps,
        "paper_steps": PRESET.steps,
        "settings": [
            {"flag": flag(name), "value": value, "preset": presets.get(name)}
            for name, value in ours.items()
            if value != presets.get(name)
        ],
        "finished": [min(finished), max(finished)],
        "paper_runs": TABLE_2_RUNS,
        "precision": agent.network.precision,
        "runs": len(records),
        "lagging": sum(record.config.agent.host.lag == 1 for record in records),
    }


def planned(settings: Settings, before: Data, records: Sequence[AtariRecord]) -> Settings:
    """What a report without training covers: the settings of the command, the earlier report, or the existing runs."""
    defaults = type(settings)()
    if replace(settings, training=defaults.training) != defaults:
        return settings
    names = [one.name for one in fields(defaults) if one.name not in OTHERS]
    for source in (before.get("requested"), _existing(records, defaults)):
        try:
            values: dict[str, Any] = {name: (source or {})[name] for name in names}
            return replace(settings, **values | {name: tuple(values[name]) for name in NAMED if name in names})
        except (KeyError, TypeError, UserError):  # an older report, or one that someone has changed
            continue
    return settings


def _existing(records: Sequence[AtariRecord], defaults: Settings) -> Data:
    """The settings that the existing runs amount to, with games and methods in the order of the defaults."""
    seeds = [record.config.seed for record in records]
    found: Data = {"seed": min(seeds), "seeds": max(seeds) - min(seeds) + 1}
    for name, values in (("games", {one.game for one in records}), ("methods", {one.method for one in records})):
        first = [one for one in getattr(defaults, name, ()) if one in values]
        found[name] = [*first, *sorted(values.difference(first))]
    return found


def requested(settings: Settings) -> Data:
    """The settings of a study that choose its runs, and the names of these, for ``summary.json``."""
    data = {key: value for key, value in asdict(settings).items() if key not in OTHERS}
    return {**data, "runs": list(settings.plan())}


def command(name: str, settings: Settings, records: Sequence[AtariRecord]) -> Data:
    """For ``summary.json``: the command that continues a study, and the runs that it could not train.

    Where there are such runs, it is the command that only writes the report.
    """
    others = sorted(run.name for run in records if not settings.training.makes(run.config))
    defaults = type(settings)()
    settings = replace(settings, training=defaults.training) if others else settings
    chosen, usual = (flat(plain(one), without=("evaluate",)) for one in (settings, defaults))
    line = command_line(f"action-balance {name} --out .", chosen, usual)
    return {"command": f"{line} --report-only" if others else line, "other_runs": others}


def game_title(game: str) -> str:
    """A game's name with a typographic apostrophe."""
    return title(game).replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")
