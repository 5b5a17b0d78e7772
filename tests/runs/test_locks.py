"""A lock is held by one process at a time, leaves no file behind, and follows no links."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from action_balance.runs.locks import FileLock

pytest.importorskip("fcntl")


def test_another_process_does_not_get_a_lock_that_is_held(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    script = "import sys; from pathlib import Path; from action_balance.runs.locks import FileLock\n"
    script += "sys.exit(40 + FileLock(Path(sys.argv[1])).acquire())"
    command = [sys.executable, "-c", script, str(lock.path)]
    assert subprocess.run(command, check=False).returncode == 40
    lock.release()
    assert subprocess.run(command, check=False).returncode == 41
    assert lock.acquire()  # of a process that has ended


def test_another_thread_of_the_process_does_not_get_it_either_and_cannot_end_it(tmp_path: Path) -> None:
    lock, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert [other.acquire() for _ in range(2)] == [False, False]
    lock.release()
    assert other.acquire()


def test_a_lock_that_nobody_has_any_more_is_free(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    del lock
    assert FileLock(tmp_path / "lock").acquire()


def test_where_the_system_does_not_know_a_file_again_the_lock_is_taken_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.path.samestat", lambda *_: False)
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert not FileLock(tmp_path / "lock").acquire()
    lock.release()
    assert FileLock(tmp_path / "lock").acquire()


def test_the_file_is_there_while_the_lock_is_held(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert lock.acquire()
    assert (tmp_path / "lock").read_bytes() == b""
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_deleted_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    really_lock, calls = fcntl.flock, 0

    def flock(descriptor: int, command: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            (tmp_path / "lock").unlink()  # its owner has released it meanwhile
        really_lock(descriptor, command)

    monkeypatch.setattr(fcntl, "flock", flock)
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert (calls, (tmp_path / "lock").exists()) == (2, True)


def test_the_file_of_somebody_else_is_not_deleted(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    (tmp_path / "lock").unlink()
    (tmp_path / "lock").write_text("of another process")
    lock.release()
    assert (tmp_path / "lock").exists()


def test_a_lock_is_no_link_and_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "absent")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError, match="not a regular file"):
            FileLock(tmp_path / name).acquire()
    assert not (tmp_path / "absent").exists()


def test_a_file_system_without_locks_is_written_to_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)
    assert FileLock(tmp_path / "lock").acquire()
