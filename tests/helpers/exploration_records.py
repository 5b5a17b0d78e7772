"""Records of the exploration benchmark with made-up numbers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from action_balance.studies.exploration.records import TaskRecord
from action_balance.studies.exploration.settings import Condition, ExplorationSettings

MADE_BY = {"versions": {"jax": "1"}, "hardware": {"devices": ["cpu"]}}


def record(task: str, method: str, final: Sequence[float], processes: int = 1) -> TaskRecord:
    """A record of agents that end with these values, and that are half as good half-way."""
    condition, values = Condition(task, method), np.array(final, np.float32)
    config = ExplorationSettings(seeds=len(final), steps=16_384).config(condition)
    return TaskRecord(
        *(Path(condition.name), config, "finished", MADE_BY, {}),
        steps=np.array([8192, 16_384]),
        values=np.stack([values / 2, values], axis=1),
        final=values,
        seconds=1.5,
        processes=processes,
    )
