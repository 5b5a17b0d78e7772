"""The numbers of each study as plain data, for ``summary.json`` and for the page that is made from it."""

import math
from typing import Any

import numpy as np

from action_balance.envs.grid.world import Cell
from action_balance.studies import paper, statistics
from action_balance.studies.grid.corridor import EARLY_EPISODES, Corridor
from action_balance.studies.grid.coverage import Coverage
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.goals import Goals
from action_balance.studies.statistics import Estimate

#: What JSON can hold.
Data = dict[str, Any]


def number(value: float | None) -> float | str | None:
    """A number as JSON has it: null for nan, a word for infinity."""
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def estimate(value: Estimate | None) -> Data | None:
    """A value with the ends of its 95 % interval."""
    if value is None:
        return None
    return {"value": number(value.value), "low": number(value.low), "high": number(value.high)}


def describe_estimate(data: Data | None, digits: int = 2) -> str | None:
    """``1.23 [1.10, 1.40]`` of an estimate as it stands in a summary; no brackets without an interval."""
    if data is None or data["value"] is None:
        return None
    value, low, high = (None if data[key] is None else float(data[key]) for key in ("value", "low", "high"))
    interval = "" if low is None or high is None else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{value:.{digits}f}{interval}"


def first_reach(result: FirstReachSteps) -> Data:
    """Mean and median steps, and how many runs were given up."""
    return {
        "mean": estimate(result.mean),
        "median": float(np.median(result.steps)),
        "given_up": result.given_up,
    }


def given_up(numbers: Data) -> int:
    """Runs that never reached their goal, of a study as it stands in a summary."""
    cells = [
        cell for method in numbers["methods"].values() for cell in (*method.get("goals", ()), method.get("treasure"))
    ]
    return sum(cell["given_up"] for cell in cells if cell)


def coverage(result: Coverage) -> Data:
    """Cells and rates in the end, and when random was overtaken."""
    methods: dict[str, Data] = {}
    for name in result.methods:
        cells, increase = statistics.mean(result.final_cells(name)), result.increase(name)
        methods[name] = {
            "final_cells": estimate(cells),
            "final_rate": cells.value / result.reachable,
            "relative_increase": None if increase is None else float(increase[-1]),
            "stays_above_random_from": result.overtakes(name),
        }
    more_cells, more_increase = None, None
    if {"rnd", "action-balance-rnd"} <= result.methods.keys():
        more_cells = statistics.difference(result.final_cells("action-balance-rnd"), result.final_cells("rnd"))
        if "random" in methods:
            more_increase = methods["action-balance-rnd"]["relative_increase"] - methods["rnd"]["relative_increase"]
    return {
        "steps": int(result.steps[-1]),
        "reachable_cells": result.reachable,
        "methods": methods,
        "times_sooner": estimate(result.times_sooner()),
        "more_cells": estimate(more_cells),
        "more_increase": more_increase,
    }


def goals(result: Goals, as_in_paper: bool) -> Data:
    """Mean steps by method and goal, beside Table I where world and agent are the paper's."""
    methods: dict[str, Data] = {}
    for name, by_goal in result.methods.items():
        published = paper.TABLE_1.get(name, {}) if as_in_paper else {}
        cells = [_goal(result, name, goal, published.get(goal)) for goal in by_goal]
        complete = bool(published) and set(by_goal) == set(published)
        methods[name] = {
            "goals": cells,
            "average": estimate(result.average(name)),
            "paper_average": sum(published.values()) / len(published) if complete else None,
        }
    verdicts = [cell["agrees"] for method in methods.values() for cell in method["goals"] if cell["agrees"] is not None]
    return {
        "methods": methods,
        "ratio": estimate(result.ratio()),
        "compared": len(verdicts),
        "agreeing": sum(verdicts),
    }


def _goal(result: Goals, method: str, goal: Cell, published: float | None) -> Data:
    found = result.methods[method][goal]
    # A mean that leaves out the end of some runs cannot be compared.
    verdict = None if published is None or found.given_up else result.agreement(method, goal)
    return {
        "goal": list(goal),
        **first_reach(found),
        "paper": published,
        "z": None if verdict is None else number(verdict.z),
        "agrees": None if verdict is None else verdict.agrees,
    }


def corridor(result: Corridor) -> Data:
    """Digging and the steps to the treasure."""
    methods = {
        name: {
            "treasure": first_reach(result.treasure[name]),
            "one_sidedness": estimate(result.one_sidedness(name)),
            "same_side_again": estimate(result.same_side_again(name)),
            "left_first_runs": result.digging[name].left_first,
        }
        for name in result.treasure
    }
    return {"methods": methods, "ratio": estimate(result.ratio()), "early_episodes": EARLY_EPISODES}


def papers() -> Data:
    """What the paper says about the same quantities."""
    return {
        "coverage": {
            "times_sooner": paper.CROSSING_RATIO,
            "more_cells": paper.MORE_CELLS,
            "more_increase": paper.MORE_INCREASE,
        },
        "goals": {
            "ratio": paper.GOALS_RATIO,
            "runs": paper.TABLE_1_RUNS,
            "methods": {
                name: [{"goal": list(goal), "mean": mean} for goal, mean in by_goal.items()]
                for name, by_goal in paper.TABLE_1.items()
            },
        },
        "corridor": None,
    }
