"""MLflow with a folder as its store: there is no server."""

from dataclasses import replace
from pathlib import Path

import pytest
from mlflow import MlflowClient

from action_balance.tracking.base import RunInfo
from action_balance.tracking.mlflow import MlflowTracker

RUN = RunInfo("my-run", "mine", {"seed": 3, "agent": {"steps": 64, "bonus_settings": {}}}, "ppo", "open")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MlflowClient:
    """Of the store that is used where none is chosen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return MlflowClient((tmp_path / "mlruns").as_uri())


def points(client: MlflowClient, run: str, metric: str) -> list[tuple[int, float]]:
    return [(one.step, one.value) for one in client.get_metric_history(run, metric)]


def test_a_run_is_tracked_and_continued_under_its_id(client: MlflowClient) -> None:
    tracker = MlflowTracker()
    name = tracker.start(RUN, None)
    tracker.log(1, 32, {"loss": 0.5, "seed-0/loss": 0.5})
    tracker.log(2, 64, {"loss": 0.25})
    tracker.finish("interrupted", {"best_episode_return": 7.0})
    found = client.get_run(name)
    assert (found.info.run_name, found.info.status) == ("my-run", "KILLED")
    assert found.data.params == {"seed": "3", "agent.steps": "64", "agent.bonus_settings": "{}"}
    assert {"method": "ppo", "environment": "open", "status": "interrupted"}.items() <= found.data.tags.items()
    assert found.data.tags["best_episode_return"] == "7.0"
    again = MlflowTracker()
    longer = replace(RUN, config={**RUN.config, "agent": {"steps": 96, "bonus_settings": {}}})
    assert again.start(longer, name) == name
    again.log(2, 64, {"loss": 0.25})  # the checkpoint was older
    again.log(3, 96, {"loss": 0.125})
    again.finish("finished", {})
    found = client.get_run(name)
    assert (found.info.status, found.data.params["agent.steps"], found.data.tags["agent.steps"]) == (
        "FINISHED",
        "64",
        "96",
    )
    assert points(client, name, "loss") == [(32, 0.5), (64, 0.25), (64, 0.25), (96, 0.125)]
    assert points(client, name, "seed-0/loss") == [(32, 0.5)]


def test_a_run_that_is_gone_is_begun_anew(client: MlflowClient) -> None:
    tracker = MlflowTracker()
    name = tracker.start(replace(RUN, project=None), "0" * 32)
    tracker.finish("failed", {})
    found = client.get_run(name)
    assert client.get_experiment(found.info.experiment_id).name == "action-balance"
    assert found.info.status == "FAILED"
