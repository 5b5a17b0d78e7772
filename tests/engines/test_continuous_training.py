"""Continuous actions through both engines: acting, learning, resuming, and what needs a list of actions."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import call

import action_balance as ab
from action_balance.runs import read_metrics

CASES = Path(__file__).parents[1] / "helpers"
SMALL = ["--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "2", "--steps", "160"]
SMALL += ["--hidden", "8", "--layers", "1", "--warmup-rollouts", "2", "--bonus-hidden", "8", "--bonus-outputs", "4"]
BALANCED = ["--intrinsic", "icm", "--action-bonus", "elliptical", "--candidates", "4", "--action-coef", "auto"]


@pytest.fixture(autouse=True)
def _cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(CASES), *sys.path])


def rows(run: Path) -> list[dict[str, Any]]:
    found = read_metrics(run)
    assert all(row["parameters_finite"] for row in found)
    return found


@pytest.mark.parametrize("env", ["gymnax:Reacher-misc", "gym:gym_cases:Crane"])
def test_the_first_ratio_of_an_update_is_1_with_candidates(env: str, tmp_path: Path) -> None:
    assert call("train", env, "--out", str(tmp_path / "run"), *SMALL, *BALANCED) == 0
    for row in rows(tmp_path / "run"):
        assert row["first_ratio"] == pytest.approx(0, abs=1e-4)
        assert 0 <= row["kl_beta_pi"] <= np.log(4)


def test_groups_a_lag_and_squashed_numbers_beside_choices_work_on_the_host(tmp_path: Path) -> None:
    options = ["--groups", "2", "--lag", "1", "--squash-actions", "--method", "action-balance-rnd"]
    assert call("train", "gym:gym_cases:Crane", "--out", str(tmp_path / "run"), *SMALL, *options) == 0
    found = rows(tmp_path / "run")
    assert [len(row["action_frequency"]) for row in found] == [3, 3, 3]


def test_a_resumed_run_is_the_same_as_one_that_was_not_interrupted(tmp_path: Path) -> None:
    options = ["gymnax:Pendulum-v1", *SMALL, *BALANCED, "--checkpoint-every", "1"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert call("train", *options, "--out", str(whole)) == 0
    assert call("train", *options, "--out", str(cut), "--stop-when", "update>=2") == 0
    assert call("resume", str(cut), "--steps", "160") == 0
    for one, other in zip(rows(whole), rows(cut), strict=True):
        assert {**one, "host_memory": 0} == {**other, "host_memory": 0}


def test_a_random_agent_acts_uniformly_within_the_bounds(tmp_path: Path) -> None:
    options = ["--method", "random", "--steps", "8192"]
    assert call("train", "gymnax:Pendulum-v1", "--out", str(tmp_path / "run"), *options) == 0
    agent = ab.load(tmp_path / "run")
    torques = agent.act(np.zeros((4096, 3), np.float32))[:, 0]
    shares = np.histogram(torques, 4, (-2, 2))[0] / 4096
    np.testing.assert_allclose(shares, 0.25, atol=0.03)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--action-bonus", "hash"], "the action bonus hash scores all actions of a list"),
        (["--algorithm", "pqn"], "pqn compares all actions of a list"),
        (["--method", "epsilon-greedy"], "--epsilon is for discrete actions"),
        (["--epsilon-end", "0"], "--epsilon is for discrete actions"),
        (["--action-bonus", "distillation", "--learns-from", "all"], "continuous actions need --embedding one-hot"),
    ],
)
def test_what_needs_a_list_of_actions_is_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("train", "gymnax:Pendulum-v1", "--out", str(tmp_path / "run"), *options) == 2
    assert message in capsys.readouterr().err


def test_settings_of_continuous_actions_are_refused_where_actions_are_discrete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("train", "deep-sea", "--out", str(tmp_path / "run"), "--action-std", "0.5") == 2
    assert "deep-sea has discrete actions: leave out --action-std" in capsys.readouterr().err


def test_elliptical_counts_climb_the_hill_of_the_continuous_mountain_car(tmp_path: Path) -> None:
    settings = ab.agent_config("classic", method="elliptical", steps=40_960)
    run = ab.train("gymnax:MountainCarContinuous-v0", tmp_path / "run", settings, seeds=2, on_message=lambda _: None)
    returns = [row["episode_return"] for row in read_metrics(run.path) if row["update"] > 25]
    assert np.nanmean([np.nan if one is None else one for one in returns]) > 80  # 92; standing still gives 0
