"""Records of the bonus study with made-up numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from action_balance.studies.bonuses.counting import BINS
from action_balance.studies.bonuses.records import Comparison, Record
from action_balance.studies.bonuses.settings import BonusesSettings, Setup

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
    **more: Any,
) -> Record:
    """A record of agents that got their first reward after these steps."""
    agents = len(first_reward)
    cell = BonusesSettings(seeds=agents, steps=2048).cell(world, Setup.of(setup))
    reached = np.array(states if states is not None else [5] * agents, np.int32)
    return Record(
        world=world,
        setup=cell.setup,
        config=cell.config,
        made_by=MADE_BY,
        seconds=1.5,
        first_reward=np.array(first_reward, np.int32),
        score=np.array(score if score is not None else [0.0] * agents, np.float32),
        finite=np.ones(agents, bool),
        steps=np.array([1024, 2048], np.int32),
        states=np.stack([reached // 2, reached], axis=1),
        kl=np.array([0.1, 0.2], np.float32) if "+" in setup else np.empty(0, np.float32),
        coef=np.empty(0, np.float32),
        **more,
    )
