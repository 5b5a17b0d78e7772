"""Any next-state bonus with any action bonus: trained, resumed and evaluated through the command line."""

from pathlib import Path

import pytest
from small_run import IMAGE, NET, UPDATES, assert_same, evaluate, resume, train

from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES
from action_balance.runs import read_metrics

#: Each bonus at least once on the device; flags of their settings.
ON_THE_DEVICE = {
    ("hash", "coin-flip"): ("--hash-bits", "16", "--table-bits", "6", "--memory", "48"),
    ("coin-flip", "hash"): ("--coins", "4", "--memory", "48"),
    ("icm", "ucb"): ("--counter", "count", "--action-coef", "auto", "--icm-features", "4"),
    ("ngu", "count"): ("--episodic-memory", "12", "--neighbours", "3"),
    ("e3b", "distillation"): ("--epsilon", "0.2"),
}
#: The same for images of environments on the host, which learn in pieces.
ON_THE_HOST = {
    ("hash", "ucb"): ("--counter", "coin-flip", "--memory", "48"),
    ("coin-flip", "hash"): ("--memory", "48", "--table-bits", "6", "--action-coef", "auto"),
    ("ngu", "coin-flip"): ("--memory", "48", "--episodic-memory", "12", "--neighbours", "3"),
}


def chosen(intrinsic: str, action: str) -> tuple[str, ...]:
    return ("--method", "ppo", "--intrinsic", intrinsic, "--action-bonus", action)


def test_every_bonus_is_combined_with_another_here() -> None:
    assert {intrinsic for intrinsic, _ in ON_THE_DEVICE} | {"rnd", "count"} == set(INTRINSIC_BONUSES)
    assert {action for _, action in ON_THE_DEVICE} == set(ACTION_BONUSES)


@pytest.mark.parametrize("bonuses", ON_THE_DEVICE, ids="+".join)
def test_on_the_device_a_resumed_run_is_the_same_run(bonuses: tuple[str, str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    rows = train(run, "open", "--size", "4", "--episode-steps", "6", *chosen(*bonuses), *ON_THE_DEVICE[bonuses], *NET)
    # The bonus reaches the advantages: there is no other reward, and the intrinsic value has something to learn.
    assert all(row["bonus_mean"] > 0 and row["loss_value_int"] > 0 for row in rows)
    assert rows[-1]["kl_beta_pi"] > 0
    assert_same(run, resume(run))
    assert evaluate(run)["method"] == "+".join(bonuses)


@pytest.mark.parametrize("bonuses", ON_THE_HOST, ids="+".join)
def test_on_the_host_images_are_rewarded_and_balanced(bonuses: tuple[str, str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    rows = train(run, "atari:montezuma_revenge", *chosen(*bonuses), *ON_THE_HOST[bonuses], *IMAGE)
    assert all(row["bonus_mean"] > 0 and row["loss_value_int"] > 0 for row in rows)
    resumed = read_metrics(resume(run))
    assert resumed[: UPDATES // 2] == rows[: UPDATES // 2]
    assert evaluate(run)["method"] == "+".join(bonuses)
