"""The training of a trial: it pauses after each part, is stopped early or with the sweep, and continues."""

import os
from pathlib import Path
from typing import Any

import pytest

from action_balance.config.agent import AgentConfig, BonusConfig, NetConfig, PPOConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.runs import RunFolder, read_metrics
from action_balance.studies.sweep import training
from action_balance.studies.sweep.ledger import STOPPED_EARLY
from action_balance.studies.sweep.plan import TrialPlan
from action_balance.studies.sweep.space import Range, Space
from action_balance.studies.sweep.training import TrialTraining

#: Four updates of 32 steps, so that parts end after updates 1 to 4.
BASE = TrainConfig(
    env_config("deep-sea", size=3),
    AgentConfig(
        method="rnd",
        steps=128,
        envs=4,
        ppo=PPOConfig(rollout_steps=8, epochs=1, minibatches=2),
        bonus=BonusConfig(warmup_rollouts=1),
        net=NetConfig(hidden=8, bonus_hidden=8, bonus_outputs=4),
    ),
)
VALUES = {"ppo.learning_rate": 0.002}


@pytest.fixture(autouse=True)
def in_the_folder_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "POLL", 0.05)


def begin(folder: Path, **more: Any) -> TrialTraining:
    space = Space((Range("ppo.learning_rate", 1e-4, 1e-2),))
    plan = TrialPlan(BASE.to_dict(), space, "episodes", folder, ("sweep",), os.getcwd(), 2, {}, **more)
    return TrialTraining(7, VALUES, plan, None)


def no() -> bool:
    return False


def run(folder: Path) -> RunFolder:
    return RunFolder.open(folder / "0007")


def test_a_trial_reports_its_score_after_each_part_and_in_the_end(tmp_path: Path) -> None:
    one, reports = begin(tmp_path), list[dict[str, Any]]()
    while not reports or not reports[-1]["done"]:
        reports.append(one.next_report(no))
    assert [(report["part"], report["updates"], report["steps"]) for report in reports] == [
        (4, 1, 32),
        (9, 2, 64),
        (13, 3, 96),
        (18, 4, 128),
    ]
    assert [report["status"] for report in reports] == ["running"] * 3 + ["finished"]
    rows = read_metrics(tmp_path / "0007")
    assert [report["score"] for report in reports] == [row["episodes"] for row in rows]  # a tenth is one update
    assert run(tmp_path).config["agent"]["ppo"]["learning_rate"] == 0.002
    assert begin(tmp_path).next_report(no)["status"] == "finished"  # another process finds nothing to do


def test_a_trial_waits_for_the_decision_and_is_saved_when_it_is_stopped_early(tmp_path: Path) -> None:
    one = begin(tmp_path)
    one.next_report(no)
    one.next_report(no)
    one.close(early=True)
    assert run(tmp_path).manifest["status"] == "interrupted"
    assert run(tmp_path).manifest[STOPPED_EARLY] is True
    assert run(tmp_path).checkpoints().updates() == [2]
    assert len(read_metrics(tmp_path / "0007")) == 2


def test_a_trial_that_stops_with_the_sweep_continues_where_it_was(tmp_path: Path) -> None:
    one = begin(tmp_path)
    one.next_report(no)
    last = one.next_report(lambda: True)
    assert (last["status"], last["done"]) == ("running", True)
    done = last["updates"]
    assert run(tmp_path).manifest["status"] == "interrupted"
    assert STOPPED_EARLY not in run(tmp_path).manifest
    assert run(tmp_path).checkpoints().updates() == [done]
    again = begin(tmp_path)
    assert again.next_report(no)["updates"] == done + 1
    again.close()
    assert run(tmp_path).manifest["resumes"] == 1


def test_a_training_that_fails_says_why(tmp_path: Path) -> None:
    (tmp_path / "0007").mkdir()
    (tmp_path / "0007" / "metrics.jsonl").write_text("not ours")
    report = begin(tmp_path).next_report(no)
    assert (report["status"], report["done"]) == ("failed", True)
    assert "metrics.jsonl" in report["reason"]


def test_a_node_with_another_version_fails_so_that_another_one_is_tried(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"and the command 0\.0\.0"):
        begin(tmp_path, version="0.0.0").next_report(no)


def test_an_error_of_ours_is_raised_where_ray_sees_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(training, "is_finished", broken)
    with pytest.raises(ZeroDivisionError):
        begin(tmp_path).next_report(no)
