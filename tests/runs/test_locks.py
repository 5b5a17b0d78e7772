"""A lock is held by one process at a time, on this machine and on others, leaves no file behind, follows no links."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from other_machine import FAR, hold, neighbour

from action_balance.runs import leases, locks
from action_balance.runs.leases import SIZE, Owner
from action_balance.runs.locks import FileLock, LockLost

pytest.importorskip("fcntl")

#: Begins a process that handles a lock, whose file is its argument.
SCRIPT = "import os, signal, sys; from pathlib import Path; from action_balance.runs.locks import FileLock\n"
SCRIPT += "lock = FileLock(Path(sys.argv[1]))\n"


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long locks have waited, in seconds; in fact, they do not wait."""
    found: list[float] = []
    monkeypatch.setattr("time.sleep", found.append)
    return found


@pytest.fixture
def no_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)


@pytest.fixture
def running() -> Iterator[int]:
    """The id of another process, which does nothing."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def start(script: str, path: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", SCRIPT + script, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def owner(path: Path) -> Owner | None:
    return Owner.from_bytes(path.read_bytes())


def test_another_process_does_not_get_a_lock_that_is_held(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    for result in ("False", "True"):
        with start("print(lock.acquire(), lock.holder and lock.holder.pid)", lock.path) as process:
            assert said(process) == f"{result} {os.getpid() if result == 'False' else None}"
        lock.release()
    assert lock.acquire()  # of a process that has ended


def test_a_lock_is_free_as_soon_as_its_process_is_killed(tmp_path: Path, waits: list[float]) -> None:
    lock = FileLock(tmp_path / "lock")
    with start("lock.acquire(); print('has it', flush=True); input()", lock.path) as process:
        assert said(process) == "has it"
        assert not lock.acquire()
        process.kill()
    assert lock.path.exists()
    assert lock.acquire()
    assert waits == []


def test_another_thread_of_the_process_does_not_get_it_either_and_cannot_end_it(tmp_path: Path) -> None:
    lock, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert [other.acquire() for _ in range(2)] == [False, False]
    other.release()
    assert not other.acquire()
    lock.release()
    assert other.acquire()


def test_a_lock_that_nobody_has_any_more_is_free(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    del lock
    assert FileLock(tmp_path / "lock").acquire()


def test_the_file_is_there_while_the_lock_is_held_and_names_its_holder(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert lock.acquire()
    content = (tmp_path / "lock").read_bytes()
    assert len(content) == SIZE
    found = json.loads(content)
    assert (found["host"], found["pid"], found["has_flock"]) == (os.uname().nodename, os.getpid(), True)
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
    hold(tmp_path / "lock", neighbour(17))
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert calls == 2
    found = owner(lock.path)
    assert found is not None
    assert found.pid == os.getpid()


def test_the_file_of_somebody_else_is_not_deleted(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    (tmp_path / "lock").unlink()
    (tmp_path / "lock").write_text("of another process")
    lock.release()
    assert (tmp_path / "lock").read_text() == "of another process"


def test_a_lock_is_no_link_and_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "absent")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(OSError, match="not a regular file"):
            FileLock(tmp_path / name).acquire()
    assert not (tmp_path / "absent").exists()


def test_a_file_that_has_a_second_name_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "lock").hardlink_to(tmp_path / "mine")
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    lock.release()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.pwrite", lambda *_: 7)  # bytes of many
    with pytest.raises(OSError, match="No space left"):
        FileLock(tmp_path / "lock").acquire()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "of another program"])
def test_a_file_that_names_nobody_is_free_unless_the_system_says_otherwise(tmp_path: Path, content: str) -> None:
    """Earlier versions wrote empty files."""
    import fcntl

    (tmp_path / "lock").write_text(content)
    with open(tmp_path / "lock", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert not FileLock(tmp_path / "lock").acquire()
    assert FileLock(tmp_path / "lock").acquire()


def test_a_file_that_is_about_to_be_written_is_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lock").touch()
    monkeypatch.setattr("time.sleep", lambda _: hold(tmp_path / "lock"))
    lock = FileLock(tmp_path / "lock")
    assert not lock.acquire()
    assert lock.holder == FAR


@pytest.mark.parametrize("flock", ["flock", "no_flock"])
def test_a_lock_of_another_machine_is_free_when_its_lease_has_ended(
    tmp_path: Path, flock: str, request: pytest.FixtureRequest, waits: list[float]
) -> None:
    if flock == "no_flock":
        request.getfixturevalue(flock)
    lock = FileLock(tmp_path / "lock")
    hold(lock.path, age=59)
    assert not lock.acquire()
    assert (lock.holder, owner(lock.path)) == (FAR, FAR)
    assert waits == []
    hold(lock.path, age=61)
    assert lock.acquire()
    assert lock.holder is None
    assert waits == [locks.WATCH, leases.MOMENT]
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_lease_that_only_seems_to_have_ended_is_renewed_while_it_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of the other machine is wrong by minutes."""
    lock = FileLock(tmp_path / "lock")
    hold(lock.path, age=300)
    monkeypatch.setattr("time.sleep", lambda _: hold(lock.path, age=290))
    assert not lock.acquire()
    assert owner(lock.path) == FAR
    assert locks.WATCH > leases.RENEW


@pytest.mark.parametrize("flock", ["flock", "no_flock"])
def test_of_two_machines_that_take_a_lock_at_the_same_time_the_last_to_write_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flock: str, request: pytest.FixtureRequest
) -> None:
    if flock == "no_flock":
        request.getfixturevalue(flock)
    lock = FileLock(tmp_path / "lock")
    hold(lock.path, neighbour(os.getpid()), age=100)  # killed long ago

    def write(seconds: float) -> None:
        if seconds == leases.MOMENT:
            hold(lock.path)

    monkeypatch.setattr("time.sleep", write)
    assert not lock.acquire()
    assert (lock.holder, owner(lock.path)) == (FAR, FAR)


def test_without_locks_of_the_system_a_process_of_this_machine_is_known_by_its_id(
    tmp_path: Path, no_flock: None, running: int
) -> None:
    del no_flock
    lock = FileLock(tmp_path / "lock")
    hold(lock.path, neighbour(running))
    assert not lock.acquire()
    hold(lock.path, neighbour(running), age=61)  # another process has got its id
    assert lock.acquire()
    lock.release()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    hold(lock.path, neighbour(ended.pid))
    assert lock.acquire()


def test_a_process_that_could_not_use_the_locks_of_the_system_is_known_by_its_id(tmp_path: Path, running: int) -> None:
    lock = FileLock(tmp_path / "lock")
    hold(lock.path, neighbour(running, has_flock=False))
    assert not lock.acquire()
    hold(lock.path, neighbour(running, has_flock=True))
    assert lock.acquire()


def test_without_locks_of_the_system_one_object_of_a_process_holds_the_lock(tmp_path: Path, no_flock: None) -> None:
    del no_flock
    lock, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert lock.acquire()
    assert not other.acquire()
    lock.release()
    assert list(tmp_path.iterdir()) == []
    assert other.acquire()
    del other
    assert lock.acquire()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock of leases some seconds ahead."""
    really = leases.clock
    return lambda seconds: monkeypatch.setattr(leases, "clock", lambda: really() + seconds)


def test_a_lock_that_another_process_has_taken_over_is_lost(tmp_path: Path, later: Callable[[float], None]) -> None:
    lock = FileLock(tmp_path / "lock")
    lock.check()  # never acquired, not lost
    assert lock.acquire()
    lock.check()
    hold(lock.path)
    later(100)
    assert not lock.is_lost
    for _ in range(2):
        with pytest.raises(LockLost, match=f"another process on node-7 has taken over {tmp_path}"):
            lock.check()
    lock.release()
    assert lock.is_lost
    with pytest.raises(LockLost):
        lock.check()
    assert owner(lock.path) == FAR
    lock.path.unlink()
    assert lock.acquire()
    lock.check()


def test_a_child_of_fork_neither_has_nor_ends_the_lock_of_its_parent(tmp_path: Path) -> None:
    script = """
lock.acquire()
if child := os.fork():
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, lock.path.exists(), FileLock(lock.path).acquire(), flush=True)
    lock.check()
    lock.release()
    print(lock.path.exists())
else:
    lock.check()
    got = lock.acquire()
    lock.release()
    del lock
    os._exit(40 + got)
"""
    with start(script, tmp_path / "lock") as process:
        assert said(process) == "40 True False"
        assert said(process) == "False"


def test_a_child_of_fork_does_not_keep_the_lock_of_a_parent_that_was_killed(tmp_path: Path) -> None:
    script = """
lock.acquire()
read, write = os.pipe()
if os.fork():
    os.read(read, 1)
    os.kill(os.getpid(), signal.SIGKILL)
os.write(write, b"1")
print("begun", flush=True)
sys.stdin.read()
"""
    with start(script, tmp_path / "lock") as process:
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
    monkeypatch.setattr(leases, "LEASE", 0.0)  # the file is read at once
    lock.check()
    lock.release()
    assert not (tmp_path / ".lock").exists()
