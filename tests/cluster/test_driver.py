"""What happens to jobs that come back, fail, are stopped or are lost."""

import io
import time
from pathlib import Path

import pytest
from counting_job import CountingJob
from rich.console import Console

from action_balance.cluster import driver
from action_balance.cluster.board import Board
from action_balance.cluster.driver import Campaign, raise_failures
from action_balance.cluster.jobs import Job
from action_balance.cluster.mailbox import Place
from action_balance.cluster.session import Resources
from action_balance.cluster.worker import Outcome
from action_balance.errors import UserError


class Bench:
    """A campaign of one job, without Ray."""

    def __init__(self, folder: Path, max_crashes: int = 3) -> None:
        self.job = CountingJob("job", folder)
        self.output = io.StringIO()
        self.finished: list[str] = []
        board = Board(Console(file=self.output, width=200), 1)
        board.add(self.job)
        resources = Resources(1, 0, 2, 0, 1)
        self.campaign = Campaign(resources, board, self.note, max_crashes, folder)
        self.run = driver._Run(self.job, attempt=1, due=None, place=Place("here", "node-1"))

    def note(self, job: Job) -> None:
        self.finished.append(job.name)

    def save(self, update: int) -> None:
        self.job.folder.mkdir(exist_ok=True)
        (self.job.folder / "count").write_text(str(update))

    @property
    def delay(self) -> float | None:
        return None if self.run.due is None else max(0.0, round(self.run.due - time.monotonic(), 1))

    @property
    def lines(self) -> list[str]:
        return self.output.getvalue().splitlines()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(Campaign, "_is_alive", lambda _self, node: node == "here")
    return Bench(tmp_path / "job")


def test_a_job_that_fails_is_given_up_with_its_reason(bench: Bench) -> None:
    bench.campaign._came_back(bench.run, Outcome("failed", "no space left"))
    assert (bench.campaign.failed, bench.delay, bench.finished) == ({"job": "no space left"}, None, [])
    with pytest.raises(UserError, match="could not train job, as said above: the same command tries again"):
        raise_failures(bench.campaign.failed)


def test_a_job_that_was_stopped_with_its_machine_continues_at_once(bench: Bench) -> None:
    bench.save(4)
    bench.campaign._came_back(bench.run, Outcome("stopped"))
    assert bench.delay == 0.0
    assert bench.lines == ["job: stopped by its machine; it continues after update 4"]


def test_crashes_without_progress_are_tried_again_with_growing_delays_and_then_given_up(bench: Bench) -> None:
    delays = []
    for _ in range(3):
        bench.campaign._lost(bench.run)
        delays.append(bench.delay)
        bench.run.due = None
    assert delays == [1.0, 2.0, None]
    assert bench.campaign.failed == {"job": "it crashed 3 times in a row without progress, at last on node-1"}


def test_crashes_with_progress_in_between_are_tried_again_at_once(bench: Bench) -> None:
    for update in (2, 3, 4, 5):
        bench.save(update)
        bench.campaign._lost(bench.run)
        assert bench.delay == 0.0
    assert not bench.campaign.failed


def test_lost_machines_do_not_count_as_crashes(bench: Bench) -> None:
    bench.run.place = Place("gone", "node-2")
    for _ in range(10):
        bench.campaign._lost(bench.run)
    assert (bench.delay, bench.campaign.failed) == (0.0, {})
    assert bench.lines[-1] == "job: its machine was lost; it starts again"


def test_a_machine_that_cannot_train_a_job_counts_as_a_crash_with_its_reason(bench: Bench) -> None:
    for _ in range(3):
        bench.campaign._came_back(bench.run, Outcome("crashed", "the device failed"))
    assert bench.lines[0] == "job: the device failed on node-1; it starts again"
    assert bench.campaign.failed == {
        "job": "it crashed 3 times in a row without progress, at last on node-1: the device failed"
    }


def test_a_finished_job_is_reported_and_a_report_that_cannot_be_written_stops_no_other_run(bench: Bench) -> None:
    def report(_job: object) -> None:
        raise UserError("line 3 is damaged")

    bench.campaign._came_back(bench.run, Outcome("finished"))
    assert (bench.finished, bench.delay) == (["job"], None)
    bench.campaign.on_finished = report
    bench.campaign._came_back(bench.run, Outcome("finished"))
    assert bench.lines[1].startswith("job: finished, but there is no report yet: line 3 is damaged")
    assert not bench.campaign.failed
