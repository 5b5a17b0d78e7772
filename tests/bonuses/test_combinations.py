"""Any next-state bonus with any action bonus, across a checkpoint."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_agent import SMALL, begun, make_step, same

from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES
from action_balance.runs.checkpoints import Checkpoints

#: Settings of the bonuses, small.
SETTINGS: dict[str, dict[str, Any]] = {
    "hash": {"hash_bits": 16, "table_bits": 6},
    "coin-flip": {"coins": 4, "coin_memory": 48},
    "icm": {"features": 4},
    "ngu": {"features": 4, "episodic_memory": 12, "neighbours": 3},
    "e3b": {"features": 4},
    "ucb": {"counter": "count"},
}
#: Each bonus at least once.
PAIRS = (("hash", "coin-flip"), ("coin-flip", "hash"), ("icm", "ucb"), ("ngu", "count"), ("e3b", "distillation"))


def test_every_bonus_but_rnd_and_counts_of_states_which_other_tests_train_is_combined_here() -> None:
    assert {intrinsic for intrinsic, _ in PAIRS} == set(INTRINSIC_BONUSES) - {"rnd", "count"}
    assert {action for _, action in PAIRS} == set(ACTION_BONUSES)


@pytest.mark.parametrize(("intrinsic", "action"), PAIRS)
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
