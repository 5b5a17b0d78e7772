"""A lock between processes: a file that one process at a time may hold, on this machine and on others.

On one machine, the system keeps two processes from locking the file (``flock``), and ends that with the process. On
storage that several machines share, this may hold for each machine alone, or not at all. The file therefore also names
its holder, with a lease that the holder renews (`action_balance.runs.leases`): a lock that was held on another machine
is free once its lease has ended.
"""

import contextlib
import os
import time
from pathlib import Path

from action_balance.errors import UserError
from action_balance.files import open_own
from action_balance.runs import leases
from action_balance.runs.leases import RENEWALS, Lease, LockFile, Owner, is_fresh, read_lock, write_lock

#: Times that taking the lock is tried while other processes take and release it.
ATTEMPTS = 20

#: Seconds for which an old lease of another machine is watched before it is ended, because clocks may be wrong: longer
#: than its holder, if it lives, takes to renew it.
WATCH = 15.0


class _Held(Exception):
    """A lock that cannot be taken, because a process holds it."""

    def __init__(self, owner: Owner | None) -> None:
        super().__init__()
        self.owner = owner


class LockLost(UserError):
    """The lock is no longer held: its lease has ended, and another process has taken it, or may have."""


class FileLock:
    """Held by one object at a time. The file exists while the lock is held, or after its process was killed."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # the current folder may change while it is held
        self.holder: Owner | None = None
        """The process that had the lock when `acquire` failed, if the file says so."""
        self._lease: Lease | None = None
        self._lost = ""

    def acquire(self) -> bool:
        """Take the lock, if no other process has it, and no other thread of this one.

        A lock that a process of this machine left when it was killed is free at once. One of another machine is free
        when its lease has ended; this process then watches it for `WATCH` seconds before it takes it.
        """
        try:
            import fcntl
        except ImportError:  # on Windows, where nothing is locked
            return True
        del fcntl
        if self._is_held:
            return True
        self.holder, self._lost = None, ""
        try:
            for _ in range(ATTEMPTS):
                self._lease = self._try()
                if self._lease is not None:
                    RENEWALS.add(self._lease)
                    return True
        except _Held as held:
            self.holder = held.owner
        return False

    def check(self) -> None:
        """Raise a `LockLost` if this object had the lock and has lost it; to be called before anything is written.

        This compares two times. Only if the lease could not be renewed for a while is the file read.
        """
        if not self._lost and self._lease is not None and not self._lease.ended:
            self._lost = self._lease.why_lost()
        if self._lost:
            raise LockLost(self._lost)

    @property
    def is_lost(self) -> bool:
        """Whether `check` has found that the lock is lost; until it is acquired again."""
        return bool(self._lost)

    def release(self) -> None:
        """Let other processes have the lock."""
        lease, self._lease = self._lease, None
        if lease is None or lease.ended:
            return
        RENEWALS.end(lease)
        # Deleted while it is held; who has opened it meanwhile notices, and makes a new one.
        with contextlib.suppress(OSError):
            if lease.token == _token(read_lock(self.path)):
                self.path.unlink()
        os.close(lease.descriptor)

    def __del__(self) -> None:
        """A lock that was forgotten, such as in an interactive session after an error, is not held."""
        if self._lease is not None and not self._lease.ended:
            self._lease.ended = True
            os.close(self._lease.descriptor)

    @property
    def _is_held(self) -> bool:
        return self._lease is not None and not self._lease.ended

    def _try(self) -> Lease | None:
        """Take the lock; None if the file has changed meanwhile, a `_Held` if another process has it."""
        try:
            descriptor, is_new = open_own(self.path, os.O_RDWR | os.O_EXCL), True  # by one process only
        except FileExistsError:
            descriptor, is_new = open_own(self.path, os.O_RDWR), False
        taken = None
        try:
            has_flock = _flock(descriptor)
            if has_flock is False:
                found = read_lock(self.path)
                raise _Held(found.owner if found else None)
            is_contested = not is_new and self._is_contested(has_flock is True)
            if not is_new and os.fstat(descriptor).st_nlink > 1:  # what else has this name is not overwritten
                self.path.unlink()
                return None
            now, owner = leases.clock(), Owner.this_process(has_flock is True)
            write_lock(descriptor, owner)
            if is_contested:
                time.sleep(leases.MOMENT)
            if owner.token == _token(read_lock(self.path)):  # and not in a file that was deleted meanwhile
                taken = Lease(self.path, descriptor, owner.token, now)
        except OSError:
            if is_new:
                with contextlib.suppress(OSError):
                    self.path.unlink()
            raise
        finally:
            if taken is None:
                os.close(descriptor)
        return taken

    def _is_contested(self, has_flock: bool) -> bool:
        """Whether processes on other machines may be taking the lock now, too; a `_Held` if its owner is alive."""
        found = read_lock(self.path)
        if found is not None and found.owner is None:  # who has made it may be about to write
            time.sleep(leases.MOMENT)
            found = read_lock(self.path)
        if found is None or found.owner is None:  # released, or of an earlier version
            return found is not None
        owner, fresh = found.owner, is_fresh(self.path, found)
        if owner.is_here and owner.has_flock and has_flock:  # it would have the system's lock if it were alive
            return not fresh
        may_live = not owner.is_here or owner.is_running
        if may_live and (fresh or self._is_renewed(found)):
            raise _Held(owner)
        return True

    def _is_renewed(self, found: LockFile) -> bool:
        """Whether a lease that seems to have ended is renewed after all."""
        time.sleep(WATCH)
        return read_lock(self.path) not in (None, found)


def _token(found: LockFile | None) -> str | None:
    return found.owner.token if found and found.owner else None


def _flock(descriptor: int) -> bool | None:
    """Whether this process now has the system's lock on a file; None on file systems without locks."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True
