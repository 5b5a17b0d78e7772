"""Bonuses and environments of users: each is one file outside of the package, named on the command line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command import call
from small_run import IMAGE, NET, STEPS, UPDATES, arrays, assert_same, evaluate, resume, train

from action_balance.config.frozen import FrozenDict
from action_balance.config.train import TrainConfig
from action_balance.runs import RunFolder, read_metrics
from action_balance.studies.labels import name_runs


def test_a_bonus_rewards_states_and_scores_actions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, name = tmp_path / "run", "own_bonus:CellCounts"
    world = ("open", "--size", "5", "--view", "coordinates")
    rows = train(run, *world, "--method", "ppo", "--intrinsic", name, "--action-bonus", name, "--cells", "3", *NET)
    # Nothing is known at first: every reward and every score is 1, and beta is pi.
    assert (rows[0]["bonus_mean"], rows[0]["action_bonus_mean"]) == (1, 1)
    assert rows[0]["kl_beta_pi"] == pytest.approx(0, abs=1e-6)
    for metric in ("bonus_mean", "action_bonus_mean"):
        assert all(0 < row[metric] < 0.9 for row in rows[1:])
    assert rows[-1]["kl_beta_pi"] > 1e-6
    # The state is in the checkpoints: all steps, by cell and action.
    for update in (UPDATES // 2, UPDATES):
        saved = arrays(run, update)
        intrinsic, action = (saved[f".bonus_states['{slot}']"] for slot in ("intrinsic", "action"))
        assert intrinsic.shape == (1, 3**2, 4)
        assert intrinsic.sum() == update * STEPS
        np.testing.assert_array_equal(intrinsic, action)
    assert_same(run, resume(run, "--trust"))
    capsys.readouterr()
    assert evaluate(run, "--trust")["method"] == f"{name}+{name}"
    assert f"{name}+{name} on Open grid" in " ".join(capsys.readouterr().out.split())
    assert call("view", str(run), "--save", str(tmp_path / "page.html")) == 0
    assert f"{name}+{name}" in (tmp_path / "page.html").read_text()
    # It is not taken for the method that it was derived from.
    own = TrainConfig.from_dict(RunFolder.open(run).config, trust=True)
    ppo = replace(own, agent=replace(own.agent, intrinsic=None, action_bonus=None, bonus_settings=FrozenDict()))
    assert [names.curve for names in name_runs([own, ppo])] == [f"{name}+{name}", "ppo"]


def test_a_family_on_the_device_is_seen_as_an_image(tmp_path: Path) -> None:
    run = tmp_path / "run"
    rows = train(run, "tiles_family:Tiles", "--size", "10", "--episode-steps", "20", "--method", "rnd", *IMAGE)
    assert [row["update"] for row in rows] == [1, 2, 3, 4]
    assert 1 < rows[-1]["states"] <= 100
    assert RunFolder.open(run).config["env"] == {"name": "tiles_family:Tiles", "size": 10, "episode_steps": 20}
    spec = RunFolder.open(run).manifest["env_spec"]
    assert (spec["kind"], spec["shape"], spec["nvec"], spec["states"]) == ("image", [10, 10, 4], [4], 100)
    found = evaluate(run, "--trust")
    assert found["coverage"]["reachable"] == 100
    assert found["modes"]["sampled"]["mean_length"] <= 20


def test_a_family_on_the_host_has_its_own_settings_and_any_two_bonuses(tmp_path: Path) -> None:
    run = tmp_path / "run"
    chosen = ("--method", "ppo", "--intrinsic", "ngu", "--action-bonus", "hash", "--table-bits", "6")
    dice = ("--dice", "4", "--throws", "3", "--seed", "3")
    rows = train(run, "dice_family:Dice", *dice, *chosen, "--episodic-memory", "12", *NET)
    # Every 3 throws end an episode at each of 4 tables, and the highest of 4 dice is guessed now and then.
    assert [row["episodes"] for row in rows] == [8, 12, 12, 8]
    assert all(0 < row["episode_return"] < 3 for row in rows)
    assert all(row["bonus_mean"] > 0 for row in rows)
    assert rows[-1]["kl_beta_pi"] > 0
    resumed = read_metrics(resume(run, "--trust"))
    assert resumed[: UPDATES // 2] == rows[: UPDATES // 2]
    assert [row["update"] for row in resumed] == [1, 2, 3, 4]
    found = evaluate(run, "--trust")
    assert found["method"] == "ngu+hash"
    assert found["environment"] == {"name": "dice_family:Dice", "dice": 4, "throws": 3}
    assert found["modes"]["greedy"]["mean_length"] == 3
