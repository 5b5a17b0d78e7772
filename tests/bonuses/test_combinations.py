"""Any next-state bonus with any action bonus: on the device, on the host, and across a checkpoint."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_agent import SMALL, begun, make_step, same
from small_run import IMAGE, NET, UPDATES, assert_same, evaluate, resume, train

from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES
from action_balance.runs import read_metrics
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


def test_a_run_with_hash_counts_of_states_and_pairs_is_resumed_exactly_and_evaluated(tmp_path: Path) -> None:
    run, flags = tmp_path / "run", ("--table-bits", "6", "--action-coef", "auto", "--hidden", "8")
    chosen = ("--method", "ppo", "--intrinsic", "hash", "--action-bonus", "ucb")
    rows = train(run, "open", "--size", "4", "--episode-steps", "6", *chosen, *flags)
    assert len({row["action_coef"] for row in rows}) == UPDATES  # it changes with every update
    assert_same(run, resume(run))
    assert evaluate(run)["method"] == "hash+ucb"


def test_vectors_of_environments_on_the_host_are_rewarded_and_balanced(tmp_path: Path) -> None:
    run, flags = tmp_path / "run", ("--table-bits", "6", "--episodic-memory", "12", *NET)
    rows = train(run, "dice_family:Dice", "--method", "ppo", "--intrinsic", "ngu", "--action-bonus", "hash", *flags)
    assert all(row["bonus_mean"] > 0 for row in rows)
    assert rows[-1]["kl_beta_pi"] > 0
    resumed = read_metrics(resume(run, "--trust"))
    assert resumed[: UPDATES // 2] == rows[: UPDATES // 2]
    assert evaluate(run, "--trust")["method"] == "ngu+hash"


def test_images_of_atari_are_hashed_and_counted_by_coins(tmp_path: Path) -> None:
    chosen = ("--method", "ppo", "--intrinsic", "hash", "--action-bonus", "coin-flip", "--coin-memory", "48")
    rows = train(tmp_path / "run", "atari:montezuma_revenge", *chosen, *IMAGE)
    assert all(row["bonus_mean"] > 0 for row in rows)
    assert rows[-1]["kl_beta_pi"] > 0
    # Little moves in the first steps of a game: few cells, none of them shared.
    assert 1 <= rows[-1]["hash_states"] < 32
    assert rows[-1]["hash_collisions"] == 0
