"""The numbers of the exploration benchmark, from its records. Axes: R agents, P points of the curves."""

from collections.abc import Mapping, Sequence

import numpy as np

from action_balance.files import Data
from action_balance.studies import statistics
from action_balance.studies.exploration.records import TaskRecord
from action_balance.studies.exploration.settings import (
    BALANCED,
    BASE,
    ENUMERATING,
    METHODS,
    PAPER,
    PLAIN,
    TASKS,
    ExplorationSettings,
)
from action_balance.studies.records import grouped
from action_balance.web.format import as_float, side

#: Records by task and method.
Records = Mapping[str, Mapping[str, TaskRecord]]

#: Decimals of scores: two interquartile means that print the same have the same rank.
DIGITS = 3

#: A probability of improvement that says nothing.
NEUTRAL = 0.5


def numbers(records: Sequence[TaskRecord]) -> Data:
    tasks = grouped((one.task, one.method, one) for one in records)
    ranked = ranked_tasks(tasks)
    methods = _methods(tasks) if ranked else []
    strata = {method: [tasks[task][method].scores for task in ranked] for method in methods}
    return {
        "tasks": {name: task_numbers(name, found) for name, found in tasks.items()},
        "ranked_tasks": ranked,
        "ranking": _ranking(tasks, strata, ranked),
        "verdict": verdict(strata),
        "processes": max(one.processes for one in records),
    }


def _methods(tasks: Records) -> list[str]:
    """The methods that are ranked, in the order of tables: all that have agents and need no enumerable states."""
    return [name for name in METHODS if name not in ENUMERATING and any(name in found for found in tasks.values())]


def ranked_tasks(tasks: Records) -> list[str]:
    """The tasks in which every method has agents, so that scores over all of them can be compared."""
    methods = _methods(tasks)
    return [task for task, found in tasks.items() if methods and found.keys() >= set(methods)]


def task_numbers(task: str, found: Mapping[str, TaskRecord]) -> Data:
    about, one = TASKS[task], next(iter(found.values()))
    return {
        "title": about.title,
        "environment": about.env_name,
        "metric": about.metric,
        "best": about.best,
        "agents": one.config.seeds,
        "envs": one.config.agent.envs,
        "steps": one.limit,
        "points": one.steps.tolist(),
        "methods": {name: _method_numbers(record, found.get(BASE)) for name, record in found.items()},
    }


def _method_numbers(record: TaskRecord, base: TaskRecord | None) -> Data:
    mean, low, high = (np.clip(one, 0, 1) for one in statistics.mean_band(record.curve))
    compared = base is not None and record.method != BASE
    return {
        "score": statistics.to_data(statistics.bootstrap_mean(record.scores)),
        "iqm": statistics.to_data(statistics.pooled_iqm([record.scores])),
        "efficiency": statistics.to_data(statistics.bootstrap_mean(record.efficiency)),
        "over_base": statistics.to_data(
            statistics.probability_of_improvement(record.scores, base.scores) if base is not None and compared else None
        ),
        "value": float(record.final.mean()),
        "seconds": round(record.seconds, 3),
        "steps_per_second": statistics.number(record.steps_per_second),
        "curve": {name: _rounded(part) for name, part in (("mean", mean), ("low", low), ("high", high))},
    }


def _rounded(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 5) for value in values]


def _ranking(tasks: Records, strata: Mapping[str, list[np.ndarray]], ranked: Sequence[str]) -> list[Data]:
    """The leaderboard: every method over the tasks that all of them have, the best first."""
    rows: list[Data] = []
    for method, scores in strata.items():
        found = [tasks[task][method] for task in ranked]
        speeds = np.array([one.steps_per_second for one in found])
        rows.append(
            {
                "method": method,
                "iqm": statistics.to_data(statistics.pooled_iqm(scores)),
                "mean": float(np.mean([one.mean() for one in scores])),
                "efficiency": statistics.to_data(statistics.pooled_iqm([one.efficiency for one in found])),
                "over_base": _over(strata, method, BASE),
                "over_plain": _over(strata, method, PLAIN),
                "steps_per_second": statistics.number(float(np.exp(np.log(speeds).mean()))),
            }
        )
    values = {row["method"]: round(as_float(row["iqm"]["value"]), DIGITS) for row in rows}
    for row in rows:
        row["rank"] = 1 + sum(value > values[row["method"]] for value in values.values())
    return sorted(rows, key=lambda row: (row["rank"], -row["mean"]))


def _over(strata: Mapping[str, list[np.ndarray]], ours: str, other: str) -> Data | None:
    if ours == other or other not in strata:
        return None
    return statistics.to_data(statistics.pooled_improvement(strata[ours], strata[other]))


def verdict(strata: Mapping[str, list[np.ndarray]]) -> Data:
    found: Data = {"leaders": [], "unclear": [], "balanced": {}, "paper": None}
    if not strata:
        return found
    values = {name: round(statistics.pooled_iqm(scores).value, DIGITS) for name, scores in strata.items()}
    best = max(values.values())
    found["leaders"] = [name for name, value in values.items() if value == best]
    found["unclear"] = [
        name
        for name in strata
        if name not in found["leaders"]
        and any(side(_over(strata, leader, name), NEUTRAL) != "above" for leader in found["leaders"])
    ]
    for name in BALANCED:
        if name in strata and BASE in strata:
            found["balanced"].setdefault(side(_over(strata, name, BASE), NEUTRAL), []).append(name)
    found["paper"] = _over(strata, PAPER, BASE) if PAPER in strata else None
    return found


def missing(settings: ExplorationSettings, ours: Data) -> dict[str, list[str]]:
    """The methods of a plan that have no agents yet, by task."""
    found: dict[str, list[str]] = {}
    for one in settings.conditions():
        if one.method not in ours["tasks"].get(one.task, {"methods": {}})["methods"]:
            found.setdefault(one.task, []).append(one.method)
    return found
