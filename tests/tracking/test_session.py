"""Trackers in threads: what they are told, and what happens if they fail."""

import math
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from action_balance.errors import UserError
from action_balance.tracking import RunInfo, TrackConfig, Tracking, planned, session
from action_balance.tracking.session import flat, recorded

RUN = RunInfo("run", None, {"seed": 0}, "ppo", "open")


class Recorder:
    """A tracker that writes down what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def start(self, run: RunInfo, resumed: str | None) -> str:
        self.calls.append(("start", run.project, resumed))
        return resumed or "new-id"

    def log(self, update: int, steps: int, metrics: Mapping[str, float]) -> None:
        self.calls.append(("log", update, steps, dict(metrics)))

    def finish(self, status: str, summary: Mapping[str, float]) -> None:
        self.calls.append(("finish", status, dict(summary)))


def rows(update: int, reached: float) -> list[dict[str, Any]]:
    return [{"update": update, "seed": 0, "steps": 8 * update, "episode_return": reached}]


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    one = Recorder()
    monkeypatch.setattr(session, "make", lambda _: one)
    return one


def test_a_tracker_is_told_everything_in_order(recorder: Recorder) -> None:
    tracking = Tracking(TrackConfig(("wandb", "tensorboard"), "mine"), RUN, {})
    tracking.log(rows(1, 0.75), {})
    tracking.log(rows(2, 0.5), {})
    tracking.finish("interrupted")
    assert recorder.calls == [
        ("start", "mine", None),
        ("log", 1, 8, {"episode_return": 0.75}),
        ("log", 2, 16, {"episode_return": 0.5}),
        ("finish", "interrupted", {"best_episode_return": 0.75}),
    ]
    assert tracking.news() == {"wandb": {"id": "new-id", "project": "mine"}}
    assert tracking.news() is None


def test_a_tracked_run_of_the_manifest_is_continued(recorder: Recorder) -> None:
    tracking = Tracking(TrackConfig(), RUN, {"tracking": {"wandb": {"id": "old-id", "project": "mine"}}})
    tracking.finish("finished")
    assert recorder.calls == [("start", "mine", "old-id"), ("finish", "finished", {})]
    assert tracking.news() is None


@pytest.mark.usefixtures("recorder")
def test_without_trackers_nothing_is_recorded() -> None:
    tracking = Tracking(TrackConfig(("tensorboard",)), RUN, {})
    tracking.log(rows(1, 1.0), {})
    tracking.finish("finished")
    assert tracking.news() is None


@pytest.mark.parametrize("method", ["start", "log"])
def test_a_tracker_that_fails_is_one_line_and_the_end_of_it(
    method: str, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise SystemExit("no network\nat all")

    monkeypatch.setattr(recorder, method, fails)
    said: list[str] = []
    tracking = Tracking(TrackConfig(("mlflow",)), RUN, {}, said.append)
    for update in range(1, 4):
        tracking.log(rows(update, 0.0), {})
    tracking.finish("finished")
    assert said == ["mlflow failed (no network): training continues without it"]


def test_a_tracker_that_hangs_is_left_behind(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    monkeypatch.setattr(recorder, "log", lambda *_: free.wait())
    monkeypatch.setitem(session.PATIENCE, "finished", 0.0)
    said: list[str] = []
    tracking = Tracking(TrackConfig(("wandb",)), RUN, {}, said.append)
    tracking.log(rows(1, 0.0), {})
    tracking.finish("finished")
    free.set()
    assert said == ["wandb did not receive all metrics in time; the run's metrics.jsonl has all of them"]


@pytest.mark.parametrize(
    "entry",
    [None, {"wandb": "x"}, {"wandb": {"id": "../x"}}, {"evil": {"id": "a"}}],
)
def test_what_no_tracker_has_written_is_ignored(entry: Any) -> None:
    assert recorded({"tracking": entry}) == {}


def test_a_tracker_that_has_not_started_before_a_kill_starts_after_the_resume(recorder: Recorder) -> None:
    manifest = planned(TrackConfig(("wandb", "tensorboard"), "mine"))
    assert manifest == {"tracking": {"wandb": {"project": "mine"}}}
    tracking = Tracking(TrackConfig(), RUN, manifest)
    tracking.finish("finished")
    assert recorder.calls[0] == ("start", "mine", None)
    assert tracking.news() == {"wandb": {"id": "new-id", "project": "mine"}}
    assert planned(TrackConfig(("tensorboard",))) == {}


@pytest.mark.parametrize("project", ["", "other/team"])
def test_a_project_that_a_resume_would_ignore_is_refused_at_the_start(project: str) -> None:
    with pytest.raises(UserError, match="--track-project"):
        TrackConfig(("wandb",), project)
    kept = planned(TrackConfig(("wandb",), "mine (2)"))
    assert recorded(kept) == {"wandb": {"project": "mine (2)"}}


# --- The numbers that trackers are sent ----------------------------------------


def test_of_one_seed_the_metrics_keep_their_names_and_lists_are_numbered() -> None:
    row = {"update": 2, "seed": 5, "steps": 64, "loss": 0.5, "shares": [0.25, 0.75], "none": math.nan, "all": math.inf}
    assert flat([row], {"update": 2, "steps": 64, "steps_per_second": 9}) == {
        "loss": 0.5,
        "shares/0": 0.25,
        "shares/1": 0.75,
        "timing/steps_per_second": 9.0,
    }


def test_of_several_seeds_the_mean_has_the_name_and_every_seed_its_own() -> None:
    rows = [
        {"update": 1, "seed": seed, "steps": 8, "loss": loss, "episode_return": reached}
        for seed, loss, reached in ((3, 1.0, math.nan), (4, 2.0, 0.5), (5, 6.0, 1.5))
    ]
    assert flat(rows, {}) == {
        "loss": 3.0,
        "episode_return": 1.0,  # of the two seeds that ended an episode
        **{"seed-3/loss": 1.0, "seed-4/loss": 2.0, "seed-5/loss": 6.0},
        **{"seed-4/episode_return": 0.5, "seed-5/episode_return": 1.5},
    }
