"""Bonuses and environments of users: each is one file outside of the package, named on the command line."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import call

from action_balance.config.frozen import FrozenDict
from action_balance.config.train import TrainConfig
from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.array_file import read_arrays
from action_balance.runs.checkpoints import ARRAYS
from action_balance.studies.labels import name_runs

UPDATES, STEPS = 4, 32
SMALL = (
    *("--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--steps", str(UPDATES * STEPS), "--checkpoint-every", "2"),
)
NET = ("--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4")
IMAGE = ("--channels", "1", "--features", "8", "--trunk", "8", "--bonus-features", "8")


def train(out: Path, *words: str) -> list[dict[str, Any]]:
    """Train a few updates, and return the metrics."""
    assert call("train", *words, *SMALL, "--out", str(out)) == 0
    return read_metrics(out)


def resume(run: Path) -> Path:
    """A copy of a run in which the second half was lost and is trained again."""
    copy = run.with_name(f"{run.name}-resumed")
    shutil.copytree(run, copy)
    RunFolder.open(copy).checkpoints().discard_after(UPDATES // 2)
    RunFolder.open(copy).finish("interrupted")
    assert call("resume", str(copy)) == 0
    assert RunFolder.open(copy).manifest["status"] == "finished"
    return copy


def evaluate(run: Path) -> dict[str, Any]:
    """Play two episodes, and return their numbers."""
    assert call("evaluate", str(run), "--episodes", "2") == 0
    found: dict[str, Any] = json.loads((run / "evaluation" / "evaluation.json").read_bytes())
    return found


def arrays(run: Path, update: int) -> dict[str, np.ndarray]:
    """What a checkpoint holds, by path."""
    return read_arrays(run / "checkpoints" / f"{update:08d}" / ARRAYS)


def assert_same(run: Path, resumed: Path) -> None:
    """Both runs have the same metrics and the same state in the end, bit for bit."""
    assert read_metrics(resumed) == read_metrics(run)
    expected, found = arrays(run, UPDATES), arrays(resumed, UPDATES)
    assert found.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_array_equal(found[path], array, err_msg=path)


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
    assert_same(run, resume(run))
    capsys.readouterr()
    assert evaluate(run)["method"] == f"{name}+{name}"
    assert f"{name}+{name} in open" in " ".join(capsys.readouterr().out.split())
    assert call("view", str(run), "--save", str(tmp_path / "page.html")) == 0
    assert f"{name}+{name}" in (tmp_path / "page.html").read_text()
    # It is not taken for the method that it was derived from.
    own = TrainConfig.from_dict(RunFolder.open(run).config)
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
    assert_same(run, resume(run))
    found = evaluate(run)
    assert found["coverage"]["reachable"] == 100
    assert found["modes"]["sampled"]["mean_length"] <= 20


def test_a_family_on_the_host_has_its_own_settings(tmp_path: Path) -> None:
    run = tmp_path / "run"
    rows = train(run, "dice_family:Dice", "--dice", "4", "--throws", "3", "--seed", "3", *NET)
    # Every 3 throws end an episode at each of 4 tables, and the highest of 4 dice is guessed now and then.
    assert [row["episodes"] for row in rows] == [8, 12, 12, 8]
    assert all(0 < row["episode_return"] < 3 for row in rows)
    resumed = read_metrics(resume(run))
    assert resumed[: UPDATES // 2] == rows[: UPDATES // 2]
    assert [row["update"] for row in resumed] == [1, 2, 3, 4]
    found = evaluate(run)
    assert found["environment"] == {"name": "dice_family:Dice", "dice": 4, "throws": 3}
    assert found["modes"]["greedy"]["mean_length"] == 3
