"""The trials of every method, and the settings that are chosen for each kind of world, from the records."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from action_balance.config.algorithm import DEFAULT
from action_balance.config.tuned import COMMON, Values
from action_balance.files import Data
from action_balance.studies.tuning.records import TrialRecord
from action_balance.studies.tuning.settings import METHODS, SHARED, WORLDS_OF, trials

#: The records of a method in the worlds of a kind, by trial and world; of trials that are complete.
Trials = Mapping[int, Mapping[str, TrialRecord]]


def with_all_trials(records: Sequence[TrialRecord], count: int) -> list[TrialRecord]:
    """The first trials of the methods that have all of them in a kind of world: fewer would be an unequal chance."""
    records, kept = [one for one in records if one.trial < count], []
    for worlds in WORLDS_OF.values():
        for name in METHODS:
            own = [one for one in records if one.method == name and one.world in worlds]
            kept += own if len(complete(own, worlds)) == count else []
    return kept


def numbers(records: Sequence[TrialRecord]) -> Data:
    kinds = {kind: _kind(kind, records) for kind in WORLDS_OF}
    kinds = {kind: about for kind, about in kinds.items() if about["methods"]}
    return {"kinds": kinds, "chosen": {kind: chosen(about) for kind, about in kinds.items()}}


def _kind(kind: str, records: Sequence[TrialRecord]) -> Data:
    worlds = WORLDS_OF[kind]
    found: Data = {}
    for name in METHODS:
        made = complete((one for one in records if one.method == name and one.world in worlds), worlds)
        if made:
            found[name] = _method(name, made)
    return {"worlds": list(worlds), "methods": found, COMMON: common(found)}


def complete(records: Iterable[TrialRecord], worlds: Iterable[str]) -> Trials:
    """The records of a method by trial and world, where a trial has been made in all worlds."""
    found: dict[int, dict[str, TrialRecord]] = {}
    for one in records:
        found.setdefault(one.trial, {})[one.world] = one
    return {trial: made for trial, made in sorted(found.items()) if {*worlds} <= made.keys()}


def _method(name: str, made: Trials) -> Data:
    values = trials(METHODS[name], max(made) + 1)
    rows = [_trial(number, values[number], worlds) for number, worlds in made.items()]
    best = min(rows, key=lambda row: (row["time"], -row["area"], row["trial"]))
    return {"trials": rows, "chosen": best["trial"], "time": best["time"], "values": best["values"]}


def _trial(number: int, values: Values, worlds: Mapping[str, TrialRecord]) -> Data:
    return {
        "trial": number,
        "values": {**values},
        "time": float(np.mean([one.time for one in worlds.values()])),
        "area": float(np.mean([one.area.mean() for one in worlds.values()])),
        "worlds": {name: _world(one) for name, one in worlds.items()},
    }


def _world(record: TrialRecord) -> Data:
    return {
        "solved": int((record.solved_at >= 0).sum()),
        "agents": len(record.solved_at),
        "time": record.time,
        "area": float(record.area.mean()),
    }


def common(methods: Mapping[str, Data]) -> Data:
    """The trial that is best for all methods of the default algorithm together, which share the values of its settings
    in each trial."""
    methods = {name: about for name, about in methods.items() if METHODS[name].algorithm == DEFAULT}
    times: dict[int, list[float]] = {}
    for about in methods.values():
        for row in about["trials"]:
            times.setdefault(row["trial"], []).append(row["time"])
    of_all = {trial: float(np.mean(found)) for trial, found in times.items() if len(found) == len(methods)}
    if not of_all:
        return {}
    best = min(of_all, key=lambda trial: of_all[trial])
    shared = {axis.name for axis in SHARED}
    values = next(row["values"] for about in methods.values() for row in about["trials"] if row["trial"] == best)
    return {"trial": best, "time": of_all[best], "values": {name: values[name] for name in values if name in shared}}


def chosen(kind: Data) -> dict[str, Any]:
    """The settings as `config.tuned` reads them: those of each method, and those for all others."""
    found = {name: preset_values(about["values"]) for name, about in kind["methods"].items()}
    return {COMMON: preset_values(kind[COMMON].get("values", {})), **found}


def preset_values(values: Values) -> dict[str, Any]:
    """The values of a trial as a preset has them: a method that multiplies the weight of the entropy still does."""
    return {name.replace("algorithm.entropy_coef", "algorithm.entropy_base"): value for name, value in values.items()}
