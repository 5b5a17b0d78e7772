"""Records of the bonus study with made-up numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from action_balance.studies.bonuses.records import BonusRecord, Comparison
from action_balance.studies.bonuses.settings import BonusesSettings, Condition, Setup
from action_balance.studies.counting import BINS

MADE_BY = {"versions": {"jax": "1"}, "hardware": {"devices": ["cpu"]}}


def comparison(
    rank: Sequence[Sequence[float]], log_ratio: Sequence[float], within: float = np.nan, number: int = 4
) -> Comparison:
    """Agents with these rank correlations, (R, C), who all have these log2 ratios in their first bins."""
    agents, checkpoints = np.shape(rank)
    ratio = np.full((agents, checkpoints, BINS), np.nan, np.float16)
    ratio[..., : len(log_ratio)] = log_ratio
    return Comparison(
        updates=np.arange(1, checkpoints + 1, dtype=np.int32),
        rank=np.array(rank, np.float32),
        within=np.full((agents, checkpoints), within, np.float32),
        ratio=ratio,
        number=np.where(np.isfinite(ratio), number, 0).astype(np.int32),
    )


def record(
    world: str,
    setup: str,
    first_reward: Sequence[int],
    score: Sequence[float] | None = None,
    states: Sequence[int] | None = None,
    comparisons: Mapping[str, Comparison] | None = None,
    **arrays: np.ndarray,
) -> BonusRecord:
    """A record of agents that got their first reward after these steps."""
    agents = len(first_reward)
    condition = Condition(world, Setup.of(setup))
    reached = np.array(states if states is not None else [5] * agents, np.int32)
    made: dict[str, Any] = {
        "first_reward": np.array(first_reward, np.int32),
        "score": np.array(score if score is not None else [0.0] * agents, np.float32),
        "steps": np.array([1024, 2048], np.int32),
        "states": np.stack([reached // 2, reached], axis=1),
        "kl": np.array([0.1, 0.2], np.float32) if "+" in setup else np.empty(0, np.float32),
        "coef": np.empty(0, np.float32),
        "seconds": 1.5,
    }
    compared = {
        f"{kind}_{name}": values for kind, one in (comparisons or {}).items() for name, values in vars(one).items()
    }
    config = BonusesSettings(seeds=agents, steps=2048).config(condition)
    return BonusRecord(Path(condition.name), config, "finished", MADE_BY, compared, **made | arrays)
