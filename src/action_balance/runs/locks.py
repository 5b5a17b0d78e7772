"""A lock between processes: a file that one process at a time has locked with ``flock``.

The system unlocks it when the process ends. Two machines can share a folder if ``flock`` works on its storage.
"""

import contextlib
import os
import weakref
from pathlib import Path

from action_balance.files import open_own


class FileLock:
    """Held by one object at a time. The file exists while the lock is held, or after its process was killed."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # the current folder may change while it is held
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take the lock, unless another process has it, or another object of this one."""
        try:
            import fcntl
        except ImportError:  # on Windows, where nothing is locked
            return True
        while self._descriptor is None:
            descriptor = open_own(self.path, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_file(descriptor):  # and not one that its holder has deleted meanwhile
                    self._descriptor = descriptor
                    _HELD.add(self)
            except (BlockingIOError, PermissionError):
                return False
            except OSError as error:
                raise OSError(error.errno, f"{error.strerror}; the storage must support flock") from None
            finally:
                if self._descriptor is None:
                    os.close(descriptor)
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                if self._is_file(self._descriptor):  # deleted while it is held; who has opened it makes a new one
                    self.path.unlink()
            self._close()

    def __del__(self) -> None:
        """A lock that was forgotten, such as in an interactive session after an error, is not held."""
        self._close()

    def _is_file(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.lstat())
        except FileNotFoundError:
            return False

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


_HELD: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _forget() -> None:
    """In a process that was forked, which would otherwise keep the locks of a parent that is killed."""
    for lock in _HELD:
        lock._close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
