"""A lock file names its holder, who renews it, and who notices when the lock is another's."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from other_machine import FAR, hold, neighbour

from action_balance.runs import leases
from action_balance.runs.leases import SIZE, Lease, LockFile, Owner, Renewals, is_fresh, read_lock, write_lock

pytest.importorskip("fcntl")


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(leases, "clock", found)
    monkeypatch.setattr(leases, "MOMENT", 0.0)
    return found


@pytest.fixture
def lease(tmp_path: Path, clock: Clock) -> Iterator[Lease]:
    """Taken at time 0."""
    descriptor = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    owner = Owner.this_process(has_flock=False)
    write_lock(descriptor, owner)
    yield Lease(tmp_path / "lock", descriptor, owner.token, clock.now)
    os.close(descriptor)


def test_the_file_has_the_owner_and_always_the_same_size(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    for owner in (FAR, Owner.this_process(has_flock=False), replace(FAR, host="é" * 64)):
        os.pwrite(descriptor, b"x" * 3000, 0)
        write_lock(descriptor, owner)
        assert (tmp_path / "lock").stat().st_size == SIZE
        found = read_lock(tmp_path / "lock")
        assert found is not None
        assert found.owner == owner
    os.close(descriptor)
    assert read_lock(tmp_path / "absent") is None


def test_this_process_is_on_this_machine_and_the_token_is_new_each_time() -> None:
    one, two = Owner.this_process(has_flock=True), Owner.this_process(has_flock=True)
    assert one.is_here
    assert one.pid == os.getpid()
    assert one.token != two.token
    assert replace(one, token=two.token) == two
    assert not replace(one, host="node-7").is_here
    assert not replace(one, machine="another boot").is_here


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"of another process",
        b"\xff",
        b"[]",
        b"{}",
        b"[" * 1000,
        FAR.to_bytes()[:50],
        FAR.to_bytes().replace(b"17", b"-1"),
        FAR.to_bytes().replace(b"17", b"4294967296"),
        FAR.to_bytes().replace(b"17", b'"17"'),
        FAR.to_bytes().replace(b'"node-7"', b"7"),
        FAR.to_bytes().replace(b"true", b"1"),
        FAR.to_bytes().replace(b"host", b"most"),
    ],
)
def test_whatever_else_is_in_the_file_is_no_owner(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "lock").write_bytes(content)
    found = read_lock(tmp_path / "lock")
    assert found is not None
    assert found.owner is None


def test_a_process_of_this_machine_is_known_by_its_id() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert neighbour(process.pid).is_running
        process.kill()
    assert not neighbour(process.pid).is_running


@pytest.mark.parametrize(("age", "fresh"), [(0, True), (59.9, True), (60.1, False), (-59.9, True), (-60.1, False)])
def test_a_lease_is_valid_for_a_minute_of_the_file_servers_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, fresh: bool
) -> None:
    hold(tmp_path / "lock", age=age)
    found = read_lock(tmp_path / "lock")
    assert found is not None
    assert is_fresh(tmp_path / "lock", found) == fresh
    assert list(tmp_path.iterdir()) == [tmp_path / "lock"]
    monkeypatch.setattr(leases, "file_time", lambda _: int(1e9 * (5000 + age)))  # far from the clock of this machine
    assert is_fresh(tmp_path / "lock", LockFile(FAR, 5000 * 10**9)) == fresh


def test_renewing_changes_the_time_of_the_file_and_nothing_else(lease: Lease, clock: Clock) -> None:
    content = lease.path.read_bytes()
    os.utime(lease.path, (1000, 1000))
    clock.now = 10.0
    lease.renew()
    assert lease.path.stat().st_mtime > 1000
    assert lease.path.read_bytes() == content
    assert (lease.renewed, lease.why_lost()) == (10.0, "")


def test_the_file_is_not_read_within_half_a_lease(lease: Lease, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(lease.path)
    clock.now = 30.0
    with monkeypatch.context() as patch:
        patch.setattr(leases, "read_lock", lambda _: pytest.fail("read"))
        assert lease.why_lost() == ""
    clock.now = 30.1
    assert "another process on node-7 has taken over" in lease.why_lost()


def test_a_lease_that_is_another_processs_is_lost_for_good_and_not_renewed(lease: Lease, clock: Clock) -> None:
    own = lease.path.read_bytes()
    hold(lease.path, neighbour(17), age=20)
    renewed, clock.now = lease.path.stat().st_mtime_ns, 10.0
    lease.renew()
    assert lease.path.stat().st_mtime_ns == renewed
    assert lease.why_lost().startswith(f"another process has taken over {lease.path.parent}:")
    lease.path.write_bytes(own)
    clock.now = 40.0
    assert lease.why_lost() != ""


def test_a_lease_whose_file_is_deleted_is_lost(lease: Lease, clock: Clock) -> None:
    lease.path.unlink()
    clock.now = 31.0
    assert lease.why_lost().startswith(f"{lease.path} was deleted")


def test_a_file_that_cannot_be_renewed_is_lost_when_the_lease_has_ended(
    lease: Lease, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    clock.now = 5.0
    lease.renew()
    with monkeypatch.context() as patch:
        patch.setattr("os.utime", refuse)
        clock.now = 64.0
        assert lease.why_lost() == ""
        clock.now = 66.0
        assert f"{lease.path} could not be renewed for 1 min 1 s (Input/output error)" in lease.why_lost()
    assert lease.why_lost() == ""  # nobody had taken it
    assert lease.renewed == 66.0


def test_a_file_system_without_times_is_trusted_as_long_as_the_file_is_ours(
    lease: Lease, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("os.utime", refuse)
    clock.now = 50.0
    assert lease.why_lost() == ""
    assert lease.renewed == 50.0


def test_a_process_that_was_suspended_goes_on_if_nobody_has_taken_its_lock(
    lease: Lease, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    clock.now = 59.0
    assert lease.why_lost() == ""
    clock.now = 3600.0
    assert lease.why_lost() == ""
    assert waited == [leases.MOMENT]  # not for the first, which was in time
    assert lease.renewed == 3600.0


def test_a_process_that_was_suspended_notices_one_that_is_just_taking_its_lock(
    lease: Lease, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: hold(lease.path))
    clock.now = 3600.0
    assert "another process on node-7" in lease.why_lost()


def test_one_thread_renews_all_leases_and_ends_with_the_last(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewals, done = Renewals(), {name: threading.Event() for name in "abc"}
    made = {name: Lease(tmp_path / name, -1, name, clock.now) for name in "abc"}
    monkeypatch.setattr(leases, "RENEW", 0.001)
    monkeypatch.setattr(Lease, "renew", lambda lease: done[lease.token].set())
    for lease in made.values():
        renewals.add(lease)
    thread = renewals._thread
    assert thread is not None
    assert thread.daemon
    assert [event.wait(20) for event in done.values()] == [True, True, True]
    made["c"].ended = True  # as when its lock is forgotten
    renewals.end(made["a"])
    assert [renewals.has(name) for name in "abc"] == [False, True, False]
    assert thread.is_alive()
    renewals.end(made["b"])
    thread.join(20)
    assert not thread.is_alive()
    assert renewals._thread is None
    renewals.add(Lease(tmp_path / "a", -1, "a", clock.now))  # a new one
    renewals.forget()


def test_a_lease_that_cannot_be_renewed_now_does_not_end_the_thread(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewals, calls, twice = Renewals(), [], threading.Event()

    def renew(lease: Lease) -> None:
        calls.append(lease)
        if len(calls) > 1:
            twice.set()
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(leases, "RENEW", 0.001)
    monkeypatch.setattr(Lease, "renew", renew)
    lease = Lease(tmp_path / "a", -1, "a", clock.now)
    renewals.add(lease)
    assert twice.wait(20)
    renewals.end(lease)
