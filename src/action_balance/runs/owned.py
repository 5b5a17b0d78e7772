"""A folder in which a program owns some files and leaves all others alone: what run and result folders share."""

import contextlib
import errno
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path

from action_balance.errors import UserError
from action_balance.files import Content, reason, write_atomically

LOCK = ".lock"


class OwnedFolder(ABC):
    """Writes files whole or not at all, deletes its own files only, and can keep other processes from writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @abstractmethod
    def contents(self) -> Iterable[str]:
        """Names of the files and folders that it owns; the one that marks the folder as ours comes last."""

    def write(self, name: str, content: Content) -> None:
        """Write one file, whole or not at all."""
        write_atomically(self.path / name, content)

    def make(self) -> list[Path]:
        """Make the folder.

        Returns:
            The folders that did not exist before, the deepest first.
        """
        missing = [parent for parent in (self.path, *self.path.parents) if not parent.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise UserError(f"a file is in the way of the folder {self.path}: choose another --out") from None
        except OSError as error:
            remove_empty([parent for parent in missing if parent.exists()])
            raise UserError(f"cannot write to {self.path}: {reason(error)}; choose another --out") from None
        return missing

    def clear(self) -> None:
        """Delete the contents; all other files stay."""
        folders = []
        try:
            for name in self.contents():
                target = self.path / name
                if not target.parent.resolve().is_relative_to(self.path.resolve()):
                    continue  # somebody else may have written the list of names
                if target.is_dir() and not target.is_symlink():
                    shutil.rmtree(target)
                else:
                    target.unlink(missing_ok=True)
                if target.parent != self.path:
                    folders.append(target.parent)
        except OSError as error:
            raise UserError(f"cannot delete the files in {self.path}: {reason(error)}") from None
        remove_empty(dict.fromkeys(folders))

    def acquire(self) -> None:
        """Make this process the only one that writes to the folder; the system ends that with the process."""
        if self._lock is not None:
            return
        try:
            import fcntl
        except ImportError:  # on Windows
            return
        try:
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN) and self._lock is not None:
                self.release()
                raise UserError(f"another process is writing to {self.path}: wait for it, or stop it") from None
            if self._lock is None:
                raise UserError(f"cannot write to {self.path}: {reason(error)}") from None

    def release(self) -> None:
        """Let other processes write to the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders that are empty; all others stay."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
