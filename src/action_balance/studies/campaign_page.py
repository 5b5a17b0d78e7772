"""What the reports of studies of many Atari runs share: the runs behind them, deviations, settings, the command.

``campaign_macros.html`` has the text.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

from action_balance.envs.atari.games import SKIP, title
from action_balance.errors import UserError, flag
from action_balance.files import Data
from action_balance.studies.atari_training import PRESET, CampaignSettings
from action_balance.studies.records import RECENT, Record
from action_balance.studies.settings_text import command_line, flat
from action_balance.studies.statistics import number as plain
from action_balance.studies.statistics import rounded

Settings = TypeVar("Settings", bound=CampaignSettings)

#: The settings of a study that have several names.
NAMED = ("games", "methods")

#: The settings of networks for vectors, which are not used here.
UNUSED = ("net",)


def run_data(record: Record) -> Data:
    """One run, for ``summary.json``."""
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
        "steps_planned": record.config.agent.updates * record.config.agent.steps_per_update,
        "episodes": int(record.episodes.sum()),
        "final_return": plain(record.final_return),
        "best_return": plain(record.best_return),
        "steps_per_second": plain(record.steps_per_second),
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
    """Rows of ``runs.csv``."""
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


def deviations(records: Sequence[Record], finished: Sequence[int], papers_runs: int) -> Data:
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
        "paper_runs": papers_runs,
        "precision": agent.image.precision,
        "runs": len(records),
        "lagging": sum(record.config.agent.host.lag == 1 for record in records),
    }


def planned(settings: Settings, before: Data, records: Sequence[Record]) -> Settings:
    """What a report without training covers: the settings of the command, the earlier report, or the existing runs."""
    defaults = type(settings)()
    if replace(settings, training=defaults.training) != defaults:
        return settings
    names = [one.name for one in fields(defaults) if one.name != "training"]
    for source in (before.get("requested"), _existing(records, defaults)):
        try:
            values: dict[str, Any] = {name: (source or {})[name] for name in names}
            return replace(settings, **values | {name: tuple(values[name]) for name in NAMED if name in names})
        except (KeyError, TypeError, UserError):  # an older report, or one that someone has changed
            continue
    return settings


def _existing(records: Sequence[Record], defaults: CampaignSettings) -> Data:
    """The settings that the existing runs amount to, with games and methods in the order of the defaults."""
    seeds = [record.config.seed for record in records]
    found: Data = {"seed": min(seeds), "seeds": max(seeds) - min(seeds) + 1}
    for name, values in (("games", {one.game for one in records}), ("methods", {one.method for one in records})):
        first = [one for one in getattr(defaults, name, ()) if one in values]
        found[name] = [*first, *sorted(values.difference(first))]
    return found


def requested(settings: CampaignSettings) -> Data:
    """The settings of a study without those of the training, and the names of its runs, for ``summary.json``."""
    data = {key: value for key, value in asdict(settings).items() if key != "training"}
    return {**data, "runs": list(settings.plan())}


def command(name: str, settings: CampaignSettings, defaults: CampaignSettings, records: Sequence[Record]) -> Data:
    """For ``summary.json``: the command that continues a study, and the runs that it could not train.

    Where there are such runs, it is the command that only writes the report.
    """
    others = [record.path.name for record in records if not settings.training.makes(record.config)]
    settings = replace(settings, training=defaults.training) if others else settings
    plain_settings, plain_defaults = (flat(json.loads(json.dumps(asdict(one)))) for one in (settings, defaults))
    line = command_line(f"action-balance {name} --out .", plain_settings, plain_defaults)
    return {"command": f"{line} --report-only" if others else line, "other_runs": others}


def game_title(game: str) -> str:
    """A game's name with a typographic apostrophe."""
    return title(game).replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")
