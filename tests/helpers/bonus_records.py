"""Records of the bonus study with made-up numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from action_balance.files import Data
from action_balance.studies.bonuses import analysis
from action_balance.studies.bonuses.records import BonusRecord, Comparison
from action_balance.studies.bonuses.settings import BonusesSettings, Condition, Setup
from action_balance.studies.counting import BINS

MADE_BY = {"versions": {"jax": "1"}, "hardware": {"devices": ["cpu"]}}


def comparison(
    rank: Sequence[Sequence[float]], log_ratio: Sequence[float], within: float = np.nan, number: int = 4
) -> Comparison:
    """Agents with these rank correlations, (R, M), who all have these log2 ratios in their first bins."""
    agents, moments = np.shape(rank)
    ratio = np.full((agents, moments, BINS), np.nan, np.float16)
    ratio[..., : len(log_ratio)] = log_ratio
    return Comparison(
        updates=np.arange(1, moments + 1, dtype=np.int32),
        rank=np.array(rank, np.float32),
        within=np.full((agents, moments), within, np.float32),
        ratio=ratio,
        number=np.where(np.isfinite(ratio), number, 0).astype(np.int32),
    )


def record(
    world: str,
    setup: str,
    solved: Sequence[int],
    first_reward: Sequence[int] | None = None,
    states: Sequence[int] | None = None,
    greedy: Sequence[float] | None = None,
    comparisons: Mapping[str, Comparison] | None = None,
    **arrays: np.ndarray,
) -> BonusRecord:
    """A record of agents that solved their world after these steps of 2,048."""
    agents = len(solved)
    condition = Condition(world, Setup.of(setup))
    reached = np.array(states if states is not None else [5] * agents, np.int32)
    made: dict[str, Any] = {
        "solved_at": np.array(solved, np.int32),
        "first_reward": np.array(solved if first_reward is None else first_reward, np.int32),
        "area": np.full(agents, 0.25, np.float32),
        "returns": np.zeros((agents, 2), np.float32),
        "greedy": np.array(greedy if greedy is not None else [np.nan] * agents, np.float32),
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


def numbers(*records: BonusRecord) -> Data:
    """What a study makes of records."""
    ours = analysis.numbers(records)
    return {**ours, "verdict": analysis.verdict(ours)}
