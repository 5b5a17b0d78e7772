"""A lock is held by one object at a time, ends with its process, leaves no file behind, and follows no links."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from action_balance.runs.locks import FileLock

fcntl = pytest.importorskip("fcntl")

#: Begins a process that handles a lock, whose file is its argument.
SCRIPT = "import os, signal, sys; from pathlib import Path; from action_balance.runs.locks import FileLock\n"
SCRIPT += "lock = FileLock(Path(sys.argv[1]))\n"


def start(script: str, path: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", SCRIPT + script, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_another_object_does_not_get_a_lock_that_is_held_and_cannot_end_it(tmp_path: Path) -> None:
    lock, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert [lock.acquire() for _ in range(2)] == [True, True]
    assert not other.acquire()
    other.release()
    assert not other.acquire()
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []
    assert other.acquire()
    del other
    assert lock.acquire()  # nobody has it any more


def test_a_lock_is_held_between_processes_and_free_as_soon_as_its_process_is_killed(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    with start("lock.acquire(); print('has it', flush=True); input()", lock.path) as process:
        assert said(process) == "has it"
        assert not lock.acquire()
        process.kill()
    assert lock.path.exists()
    assert lock.acquire()


def test_a_file_that_was_deleted_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert calls == 2
    assert not FileLock(lock.path).acquire()


def test_the_file_of_somebody_else_is_neither_changed_nor_deleted(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "lock").hardlink_to(tmp_path / "mine")
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    (tmp_path / "lock").unlink()
    (tmp_path / "lock").write_text("of another process")
    lock.release()
    assert (tmp_path / "lock").read_text() == "of another process"
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_lock_is_no_link_and_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "absent")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError, match="not a regular file"):
            FileLock(tmp_path / name).acquire()
    assert not (tmp_path / "absent").exists()


def test_storage_without_locks_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="must support flock"):
        FileLock(tmp_path / "lock").acquire()


def test_a_child_of_fork_neither_has_nor_ends_nor_keeps_the_lock_of_its_parent(tmp_path: Path) -> None:
    script = """
lock.acquire()
if child := os.fork():
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), FileLock(lock.path).acquire(), flush=True)
    read, write = os.pipe()
    if os.fork():
        os.read(read, 1)
        os.kill(os.getpid(), signal.SIGKILL)
    os.write(write, b"1")
    print("begun", flush=True)
    sys.stdin.read()
else:
    got = lock.acquire()
    lock.release()
    os._exit(40 + got)
"""
    with start(script, tmp_path / "lock") as process:
        assert said(process) == "40 False"
        assert said(process) == "begun"
        process.wait()
        assert FileLock(tmp_path / "lock").acquire()
        assert process.stdin is not None
        process.stdin.close()  # the child ends


def test_a_lock_is_held_while_the_current_folder_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lock = FileLock(Path(".lock"))
    assert lock.acquire()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    lock.release()
    assert not (tmp_path / ".lock").exists()
