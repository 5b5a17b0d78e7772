"""Leases: the file of a lock names the process that holds it, which renews the file while it lives.

A process on another machine cannot ask the system whether the holder is alive. It looks at the age of the file instead,
on the clock that gives files their times. A holder that was stopped for a while looks into the file before it goes on:
its lease may have ended, and the lock may be another's.
"""

import contextlib
import errno
import json
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from action_balance.errors import MAX, as_duration
from action_balance.files import reason

#: Seconds after its last renewal for which a lease is valid.
LEASE = 60.0
#: Seconds between two renewals.
RENEW = 10.0
#: Seconds after which a process that has written its name reads it again. Of processes that take a lock at the same
#: time, the last to write its name has it, unless one needs longer than this from reading the file to writing it.
MOMENT = 0.5

#: Bytes of a lock file. It is always written as a whole, so that nobody reads half of it.
SIZE = 1024

#: Errors of file systems that do not set the times of files.
_NO_TIMES = (errno.ENOSYS, errno.ENOTSUP, errno.EPERM, errno.EINVAL)

_FLAGS = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))


def clock() -> float:
    """Seconds that also pass while the machine is suspended, where the system can count them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@cache
def here() -> tuple[str, str]:
    """The name of this machine, and an identity under which its processes know each other by their ids."""
    boot, processes = "", ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    with contextlib.suppress(OSError):
        processes = os.readlink("/proc/self/ns/pid")
    return os.uname().nodename[:64], f"{boot} {processes}".strip()


@dataclass(frozen=True)
class Owner:
    """The process that holds a lock."""

    host: str
    """Name of its machine."""
    machine: str
    """Identity of its machine; see `here`."""
    pid: int
    """Its process id there."""
    token: str
    """A random name, different for each time that a lock is taken."""
    has_flock: bool
    """Whether it also has the system's own lock on the file, which ends with the process."""

    @classmethod
    def this_process(cls, has_flock: bool) -> Self:
        """This process, as the owner of a lock that it is about to take."""
        return cls(*here(), os.getpid(), secrets.token_hex(16), has_flock)

    @property
    def is_here(self) -> bool:
        """Whether it runs, or ran, on this machine."""
        return (self.host, self.machine) == here()

    @property
    def is_running(self) -> bool:
        """Whether a process on this machine holds the lock, as far as its id can say."""
        if self.pid == os.getpid():
            return RENEWALS.has(self.token)
        try:
            os.kill(self.pid, 0)
        except OSError as error:
            return error.errno == errno.EPERM  # of another user
        return True

    def to_bytes(self) -> bytes:
        """The content of the lock file."""
        return json.dumps(asdict(self)).ljust(SIZE - 1).encode() + b"\n"

    @classmethod
    def from_bytes(cls, content: bytes) -> Self | None:
        """The owner that a lock file names; None for anything else, such as the empty file of earlier versions."""
        try:
            owner = cls(**json.loads(content))
        except (ValueError, TypeError, RecursionError):
            return None
        texts = (owner.host, owner.machine, owner.token)
        fine = all(isinstance(text, str) for text in texts) and isinstance(owner.has_flock, bool)
        return owner if fine and isinstance(owner.pid, int) and 0 < owner.pid <= MAX else None


@dataclass(frozen=True)
class LockFile:
    """What a lock file says."""

    owner: Owner | None
    """The process that holds the lock, or held it; None if the file does not say."""
    renewed: int
    """When the file was written or renewed, in nanoseconds of the clock of its file system."""


def read_lock(path: Path) -> LockFile | None:
    """Read a lock file. It is opened anew, which makes a network file system ask its server."""
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    try:
        return LockFile(Owner.from_bytes(os.read(descriptor, SIZE)), os.fstat(descriptor).st_mtime_ns)
    finally:
        os.close(descriptor)


def write_lock(descriptor: int, owner: Owner) -> None:
    """Write an owner into an open lock file, in place of an earlier one."""
    if os.pwrite(descriptor, owner.to_bytes(), 0) != SIZE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.ftruncate(descriptor, SIZE)
    os.fsync(descriptor)


def file_time(folder: Path) -> int:
    """Now, in nanoseconds of the clock that gives files in a folder their times, which may be that of a server."""
    with tempfile.TemporaryFile(dir=folder) as probe:
        probe.write(b"\n")
        probe.flush()
        os.fsync(probe.fileno())
        return os.fstat(probe.fileno()).st_mtime_ns


def is_fresh(path: Path, found: LockFile) -> bool:
    """Whether a lease seems to be valid. It does not if its time is far in the future, where a clock was wrong."""
    return abs(file_time(path.parent) - found.renewed) < LEASE * 1e9


class Lease:
    """A lock that this process has taken."""

    def __init__(self, path: Path, descriptor: int, token: str, renewed: float) -> None:
        """Begin a lease."""
        self.path, self.descriptor, self.token = path, descriptor, token
        self.renewed = renewed
        self.ended = False
        self._lost = ""

    def renew(self) -> None:
        """Renew the lease, or find out that the lock is lost. If the file cannot be reached, nothing changes."""
        now = clock()
        was_valid = now - self.renewed < LEASE
        if not self._is_ours():
            return
        try:
            os.utime(self.path)
        except OSError as error:
            if error.errno not in _NO_TIMES:
                raise
        if not was_valid:  # another process may have seen that it was not, and may be writing its own name
            time.sleep(MOMENT)
            if not self._is_ours():
                return
        self.renewed = now

    def _is_ours(self) -> bool:
        found = read_lock(self.path)
        if found is not None and found.owner is not None and found.owner.token == self.token:
            return True
        folder = self.path.parent
        if found is None:
            self._lost = f"{self.path} was deleted, so that other processes may write to {folder}: this one stops"
        else:
            where = f" on {found.owner.host}" if found.owner and not found.owner.is_here else ""
            self._lost = f"another process{where} has taken over {folder}: this one stops"
        return False

    def why_lost(self) -> str:
        """Why the lock is no longer this process's, in one line; empty while it is.

        The file is read only if it has not been renewed for half of a lease.
        """
        failed = ""
        if not self._lost and clock() - self.renewed > LEASE / 2:
            try:
                self.renew()
            except OSError as error:
                failed = reason(error)
        age = clock() - self.renewed
        if failed and not self._lost and age > LEASE:
            return (
                f"{self.path} could not be renewed for {as_duration(age)} ({failed}), so that other processes may "
                f"write to {self.path.parent}: this one stops"
            )
        return self._lost


class Renewals:
    """Renews all leases of this process, in one thread that ends with the last of them."""

    def __init__(self) -> None:
        self._leases: list[Lease] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, lease: Lease) -> None:
        """Renew a lease from now on."""
        with self._changed:
            self._leases.append(lease)
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="leases", daemon=True)
                # Without a thread, such as while the interpreter ends, a lease is renewed when it is checked.
                with contextlib.suppress(RuntimeError):
                    thread.start()
                    self._thread = thread

    def end(self, lease: Lease) -> None:
        """Do not renew a lease any more."""
        with self._changed:
            lease.ended = True
            self._drop_ended()
            self._changed.notify_all()

    def has(self, token: str) -> bool:
        """Whether this process has the lease with a token."""
        with self._changed:
            return any(lease.token == token and not lease.ended for lease in self._leases)

    def forget(self) -> None:
        """End all leases in a process that was forked, without a trace: they are those of its parent."""
        leases, self._leases = self._leases, []
        self._changed, self._thread = threading.Condition(), None
        for lease in leases:
            if not lease.ended:
                lease.ended = True
                with contextlib.suppress(OSError):
                    os.close(lease.descriptor)

    def _drop_ended(self) -> None:
        self._leases = [lease for lease in self._leases if not lease.ended]

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._leases, RENEW)
                self._drop_ended()
                if not self._leases:
                    self._thread = None
                    return
                leases = list(self._leases)
            for lease in leases:
                with contextlib.suppress(OSError):
                    lease.renew()


RENEWALS = Renewals()

_at_fork: Callable[..., Any] | None = getattr(os, "register_at_fork", None)
if _at_fork is not None:
    _at_fork(after_in_child=RENEWALS.forget)
