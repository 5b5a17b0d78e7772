"""Messages arrive once; files are put into place by the newest attempt at a job only."""

from pathlib import Path

import pytest
from counting_job import CountingJob

from action_balance.cluster.home import Home, Message, NotClaimed, Superseded
from action_balance.cluster.transfer import Piece
from action_balance.errors import UserError
from action_balance.runs.owned import FolderBusy


def test_messages_are_taken_once_and_in_order() -> None:
    home = Home()
    first, second = (Message("job", 1, "note", line) for line in ("one", "two"))
    home.post(first)
    home.post(second)
    assert home.take() == [first, second]
    assert home.take() == []


def test_files_appear_when_they_are_complete(tmp_path: Path) -> None:
    home, job = Home(), CountingJob("job", tmp_path / "runs" / "job")
    assert home.claim(job, 1) == []
    home.store(job, 1, [Piece("count", 0, b"1"), Piece("starts", 0, b"0\n")])
    assert job.saved(job.folder) == 0
    home.commit(job, 1, ["starts", "count"], ["starts", "count"])
    assert job.saved(job.folder) == 1
    home.release(job, 1)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["job"]  # nothing is left of the transfer


def test_a_later_attempt_gets_what_was_stored_and_the_earlier_one_can_store_nothing_more(tmp_path: Path) -> None:
    home, job = Home(), CountingJob("job", tmp_path / "job")
    home.claim(job, 1)
    home.store(job, 1, [Piece("count", 0, b"3")])
    home.commit(job, 1, ["count"], ["count"])
    assert home.claim(job, 2) == ["count"]
    assert [home.fetch(job, "count", 0), home.fetch(job, "count", 1)] == [[Piece("count", 0, b"3")], []]
    with pytest.raises(Superseded):
        home.store(job, 1, [Piece("count", 0, b"4")])
    with pytest.raises(Superseded):
        home.claim(job, 1)
    home.release(job, 1)  # of the earlier attempt: the later one keeps its claim
    home.store(job, 2, [Piece("count", 0, b"5")])
    home.release(job, 2)


def test_a_job_that_another_process_trains_is_not_claimed(tmp_path: Path) -> None:
    home, job = Home(), CountingJob("job", tmp_path / "job")
    with job.claim(job.folder), pytest.raises(FolderBusy):
        home.claim(job, 1)
    home.claim(job, 1)
    with pytest.raises(FolderBusy), job.claim(job.folder):
        pass
    home.release(job, 1)


def test_an_actor_that_was_started_again_puts_no_half_of_a_transfer_into_place(tmp_path: Path) -> None:
    job, home = CountingJob("job", tmp_path / "job"), Home()
    home.claim(job, 3)
    home.store(job, 3, [Piece("starts", 0, b"0\n")])
    home.release(job, 3)
    again = Home()
    with pytest.raises(NotClaimed):
        again.store(job, 3, [Piece("count", 0, b"2")])
    again.claim(job, 3)
    again.store(job, 3, [Piece("count", 0, b"2")])
    with pytest.raises(NotClaimed):
        again.commit(job, 3, ["starts", "count"], ["starts", "count"])
    assert job.saved(job.folder) == 0
    again.release(job, 3)


def test_nothing_is_read_or_written_through_a_link(tmp_path: Path) -> None:
    job, home = CountingJob("job", tmp_path / "job"), Home()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("precious")
    job.folder.mkdir()
    (job.folder / "link").symlink_to(outside)
    home.claim(job, 1)
    home.store(job, 1, [Piece("link/mine", 0, b"evil")])
    for attempt in (lambda: home.commit(job, 1, ["link/mine"], []), lambda: home.fetch(job, "link/mine", 0)):
        with pytest.raises(UserError, match="points outside"):
            attempt()
    home.release(job, 1)
    assert (outside / "mine").read_text() == "precious"


def test_files_that_a_task_has_deleted_are_deleted_and_other_files_stay(tmp_path: Path) -> None:
    home, job = Home(), CountingJob("job", tmp_path / "job")
    job.folder.mkdir()
    for name in ("starts", "notes.txt"):
        (job.folder / name).write_text("x")
    home.claim(job, 1)
    home.commit(job, 1, [], [])
    home.release(job, 1)
    assert sorted(path.name for path in job.folder.iterdir()) == ["notes.txt"]
