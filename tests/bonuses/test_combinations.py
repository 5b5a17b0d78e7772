"""Next-state bonuses with action bonuses, across a checkpoint: those that keep the most."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_agent import SMALL, begun, make_step, same

from action_balance.config.frozen import FrozenDict
from action_balance.runs.checkpoints import Checkpoints

#: Settings of the bonuses, small.
SETTINGS: dict[str, dict[str, Any]] = {
    "hash": {"hash_bits": 16, "table_bits": 6},
    "coin-flip": {"coins": 4, "coin_memory": 48},
    "ngu": {"features": 4, "episodic_memory": 12, "neighbours": 3},
    "e3b": {"features": 4},
    "ucb": {"counter": "count"},
}


@pytest.mark.parametrize(
    ("intrinsic", "action"), [("coin-flip", "hash"), ("ngu", "coin-flip"), ("e3b", "ucb"), ("elliptical", "elliptical")]
)
def test_training_goes_on_from_a_checkpoint_as_if_there_had_been_none(
    intrinsic: str, action: str, tmp_path: Path
) -> None:
    settings = FrozenDict({name: SETTINGS[name] for name in (intrinsic, action) if name in SETTINGS})
    config = replace(SMALL, method="ppo", intrinsic=intrinsic, action_bonus=action, bonus_settings=settings)
    step, state = make_step(config), begun(config)
    for _ in range(2):
        state, metrics = step(state)
    # Both bonuses are at work. That rewards reach the advantages is tested with the update.
    assert metrics["bonus_mean"] > 0
    assert metrics["kl_beta_pi"] > 0
    Checkpoints(tmp_path).save(2, state)
    restored = Checkpoints(tmp_path).restore(state).state
    assert same(step(restored), step(state))
