"""A lock between processes: a file that one process at a time may hold. The system ends that with the process."""

import contextlib
import os
from pathlib import Path

from action_balance.files import open_own

#: Times that a file is opened which seems to be another one when it is locked. On some file systems it always does.
ATTEMPTS = 20


class FileLock:
    """Held by one object at a time. The file exists while the lock is held, or after its process was killed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take the lock, if no other process has it, and no other thread of this one.

        Returns:
            Whether this object has it now. It also has it, in name, on file systems without locks.

        Raises:
            OSError: if the file cannot be written.
        """
        try:
            import fcntl
        except ImportError:  # on Windows, where nothing is locked
            return True
        if self._descriptor is not None:
            return True
        for left in reversed(range(ATTEMPTS)):
            descriptor = open_own(self.path, os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError):
                os.close(descriptor)
                return False
            except OSError:  # no locks here: better to work without than not at all
                pass
            if self._is_current(descriptor) or not left:
                self._descriptor = descriptor
                break
            os.close(descriptor)  # whoever held it has deleted the file meanwhile
        return True

    def release(self) -> None:
        """Let other processes have the lock."""
        if self._descriptor is not None:
            # Deleted while it is held; who has opened it meanwhile notices, and makes a new one.
            if self._is_current(self._descriptor):
                with contextlib.suppress(OSError):
                    self.path.unlink()
            os.close(self._descriptor)
            self._descriptor = None

    def __del__(self) -> None:
        """A lock that was forgotten, such as in an interactive session after an error, is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.lstat())
        except OSError:
            return False
