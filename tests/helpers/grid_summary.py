"""Summaries of the grid study, made up."""

from dataclasses import asdict
from typing import Any

from action_balance.files import Data
from action_balance.studies.grid.settings import GridSettings

ABOVE, AROUND = {"value": 1.5, "low": 1.25, "high": 2.0}, {"value": 1.5, "low": 0.5, "high": 2.0}
BELOW, FEW_RUNS = {"value": 0.5, "low": 0.25, "high": 0.75}, {"value": 1.5, "low": None, "high": None}
WIDE = {"value": 2.0, "low": 0, "high": "inf"}
METHODS = ["random", "action-balance", "rnd", "action-balance-rnd"]


def summary_of(coverage: Data | None, goals: Data | None, corridor: Data | None, **more: Any) -> Data:
    """A summary with these ratios. More: runs, runs of the corridor that timed out, methods, as_in_paper, parts."""
    treasure = {"rnd": {"treasure": {"given_up": more.get("timed_out", 0)}}}
    ours = {
        "coverage": {
            "times_sooner": coverage,
            "more_cells": {"value": 6.0, "low": 1.5, "high": 10.5},
            "reachable_cells": 1600,
            "methods": {},
        },
        "goals": {"ratio": goals, "methods": {}},
        "corridor": {"ratio": corridor, "methods": treasure},
    }
    return {
        "settings": settings_of(runs=more.get("runs", 1000), methods=more.get("methods", METHODS)),
        "ours": {name: ours[name] for name in more.get("parts", ours)},
        "paper": {
            "coverage": {"times_sooner": 2.5, "more_cells": 15},
            "goals": {"ratio": 1.23},
            "corridor": None,
        },
        "as_in_paper": more.get("as_in_paper", True),
    }


def settings_of(**changed: object) -> Data:
    """Settings as a summary holds them, with the paper's goals as lists."""
    settings = asdict(GridSettings())
    del settings["studies"]
    return {**settings, "goals": [list(goal) for goal in settings["goals"]], "methods": METHODS, **changed}
