"""A run that is tracked, from the command line: trained, interrupted, resumed. Nothing is sent anywhere."""

import importlib.util
import json
from pathlib import Path

import pytest
from command import call
from mlflow import MlflowClient
from small_run import NET, SMALL, STEPS, resume, train
from wandb_file import history, offline, offline_runs

from action_balance.runs import RunFolder

#: The program of `api/test_run.py`.
WORDS = ("deep-sea", "--size", "4", "--seeds", "2", "--method", "rnd", *NET)
TRACKED = ("--track", "wandb", "--track", "mlflow", "--track-project", "mine")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MlflowClient:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlflow").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return MlflowClient()


def points(store: MlflowClient, run: str) -> list[tuple[int, float]]:
    return sorted((one.step, round(one.value, 6)) for one in store.get_metric_history(run, "bonus_mean"))


def test_a_resumed_run_continues_what_is_tracked(
    tmp_path: Path, store: MlflowClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with offline(tmp_path / "first", monkeypatch):
        rows = train(tmp_path / "run", *WORDS, *TRACKED)
    means = [
        (row["steps"], round((row["bonus_mean"] + other["bonus_mean"]) / 2, 6))
        for row, other in zip(rows[::2], rows[1::2], strict=True)
    ]
    ids = RunFolder.open(tmp_path / "run").manifest["tracking"]
    assert {name: entry["project"] for name, entry in ids.items()} == {"wandb": "mine", "mlflow": "mine"}
    assert points(store, ids["mlflow"]["id"]) == means
    with offline(tmp_path / "second", monkeypatch):
        resumed = resume(tmp_path / "run")
    assert RunFolder.open(resumed).manifest["tracking"] == ids
    # The second half was trained twice, with the same numbers.
    assert points(store, ids["mlflow"]["id"]) == sorted([*means, *means[2:]])
    (before,), (after,) = offline_runs(tmp_path / "first"), offline_runs(tmp_path / "second")
    names = {one.run.run_id for one in (*before, *after) if one.WhichOneof("record_type") == "run"}
    assert names == {ids["wandb"]["id"]}
    assert [row["steps"] for row in history(before)] == [2 * STEPS, 3 * STEPS, 4 * STEPS, 5 * STEPS]
    assert [row["steps"] for row in history(after)] == [4 * STEPS, 5 * STEPS]
    assert history(after)[-1]["seed-1/bonus_mean"] == rows[-1]["bonus_mean"]
    config = json.loads(next(c.value_json for one in before for c in one.config.update if c.key == "env"))
    assert config == {"name": "deep-sea", "size": 4, "distractors": 0}


def test_a_tracker_that_is_not_installed_is_one_line_before_anything_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert call("train", *WORDS, *SMALL, "--out", str(tmp_path / "run"), "--track", "wandb") == 2
    error = capsys.readouterr().err
    assert "wandb is not installed, but --track wandb needs it" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()
