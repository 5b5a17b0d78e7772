"""Records of the tuning with made-up numbers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from action_balance.studies.tuning.records import TrialRecord
from action_balance.studies.tuning.settings import METHODS, WORLDS_OF, TuningSettings, trials

MADE_BY = {"versions": {"jax": "1"}, "hardware": {"devices": ["cpu"]}}


def trial(world: str, method: str, number: int, eighths: Sequence[int], area: float = 0.0) -> TrialRecord:
    """Agents that solve a world after so many eighths of their steps; those with 8 never do."""
    setup, path = METHODS[method], Path(f"{world}--{method}--{number:02}")
    config = TuningSettings(seeds=len(eighths)).config(world, setup, trials(setup, number + 1)[number])
    limit = config.agent.steps_at(config.agent.updates)
    solved = [-1 if part == 8 else limit * part // 8 for part in eighths]
    areas = np.full(len(eighths), area, np.float32)
    return TrialRecord(path, config, "finished", MADE_BY, {}, np.array([limit]), np.array(solved), areas, 1.5)


def everywhere(kind: str, method: str, number: int, eighths: Sequence[int], area: float = 0.0) -> list[TrialRecord]:
    """The same in all worlds of a kind."""
    return [trial(world, method, number, eighths, area) for world in WORLDS_OF[kind]]
