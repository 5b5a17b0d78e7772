"""Weights & Biases, offline: nothing is sent anywhere."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import wandb
from wandb_file import history, offline, offline_runs

from action_balance.tracking.base import RunInfo
from action_balance.tracking.wandb import WandbTracker

RUN = RunInfo("my-run", "mine", {"seed": 3, "agent": {"steps": 64}}, "ppo", "gym:" + "x" * 80)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with offline(tmp_path, monkeypatch):
        yield tmp_path


def test_a_run_of_the_users_own_is_left_alone(folder: Path) -> None:
    with wandb.init(project="theirs", id="own", settings=wandb.Settings(console="off", silent=True)) as own:
        tracker = WandbTracker()
        assert tracker.start(RUN, None) != own.id
        tracker.finish("finished", {})
        assert wandb.run is own
        own.log({"theirs": 1.0})
    wandb.teardown()  # everything is written
    rows = {some[1].run.run_id: history(some) for some in offline_runs(folder)}
    assert [row["theirs"] for row in rows["own"]] == [1.0]
    assert len(rows) == 2


def test_a_run_is_tracked_and_continued_under_its_id(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = WandbTracker()
    name = tracker.start(RUN, None)
    tracker.log(1, 32, {"loss": 0.5, "seed-0/loss": 0.5})
    tracker.log(2, 64, {"loss": 0.25})
    tracker.finish("interrupted", {"best_episode_return": 7.0})
    with offline(folder / "after", monkeypatch):
        again = WandbTracker()
        assert again.start(RUN, name) == name
        again.log(2, 64, {"loss": 0.25})  # the checkpoint was older
        again.finish("finished", {})
    assert wandb.run is None
    (before,), (after,) = offline_runs(folder), offline_runs(folder / "after")
    runs = [one.run for some in (before, after) for one in some if one.WhichOneof("record_type") == "run"]
    assert {(run.run_id, run.project, run.display_name) for run in runs} == {(name, "mine", "my-run")}
    assert {tuple(run.tags) for run in runs} == {("ppo", "gym:" + "x" * 60)}
    settings = {one.key: json.loads(one.value_json) for record in before for one in record.config.update}
    assert (settings["seed"], settings["agent"]) == (3, {"steps": 64})
    # The horizontal axis is a metric, so that rows which come again are not dropped.
    axes = [
        (one.metric.glob_name, one.metric.step_metric) for one in before if one.WhichOneof("record_type") == "metric"
    ]
    assert ("*", "steps") in axes
    rows = [[(row["update"], row["steps"], row["loss"]) for row in history(some)] for some in (before, after)]
    assert rows == [[(1, 32, 0.5), (2, 64, 0.25)], [(2, 64, 0.25)]]
    assert history(before)[0]["seed-0/loss"] == 0.5
    ends = [one.exit.exit_code for some in (before, after) for one in some if one.WhichOneof("record_type") == "exit"]
    assert ends == [1, 0]
    summary = {one.key: json.loads(one.value_json) for record in before for one in record.summary.update}
    assert (summary["status"], summary["best_episode_return"]) == ("interrupted", 7.0)
