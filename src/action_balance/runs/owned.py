"""A folder in which a program owns some files and leaves all others alone: what run and result folders share."""

import contextlib
import os
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path, PurePath
from types import TracebackType
from typing import Self

from action_balance.errors import UserError
from action_balance.files import (
    Content,
    cannot_write,
    check_inside,
    leads_out,
    reason,
    remove_partial,
    write_atomically,
)
from action_balance.reading import exists
from action_balance.runs.locks import FileLock

LOCK = ".lock"

#: Seconds to wait for another process that writes what takes seconds: an evaluation, or a report.
PATIENCE = 30.0


class FolderBusy(UserError):
    """Another process is writing to a folder. The same may work later, so a caller may wait and try again."""


class OwnedFolder(ABC):
    """Writes files whole or not at all, deletes its own files only, and can keep other processes from writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path / LOCK)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    @abstractmethod
    def contents(self) -> Iterable[str]:
        """Names of the files and folders that it owns; the one that marks the folder as ours comes last."""

    def write(self, name: str, content: Content) -> None:
        """Write one file, whole or not at all; a `UserError` if a link leads out of the folder on the way to it."""
        target = self.path / name
        check_inside(self.path, target.parent)
        write_atomically(target, content)

    def make(self) -> list[Path]:
        missing = [parent for parent in (self.path, *self.path.parents) if not exists(parent)]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise UserError(f"{self.path} is a file, not a folder: choose another --out") from None
        except OSError as error:
            remove_empty(missing)
            raise UserError(f"cannot write to {self.path}: {reason(error)}; choose another --out") from None
        return missing

    def clear(self) -> None:
        """Delete the contents; all other files stay."""
        folders = []
        try:
            for target in self._owned():
                if target.is_dir() and not target.is_symlink():
                    shutil.rmtree(target)
                else:
                    target.unlink(missing_ok=True)
                if target.parent != self.path:
                    folders.append(target.parent)
        except OSError as error:
            raise UserError(f"cannot delete the files in {self.path}: {reason(error)}") from None
        remove_empty(dict.fromkeys(folders))

    def acquire(self, patience: float = 0.0) -> None:
        """Make this process the only one that writes to the folder; the system ends that with the process."""
        give_up = time.monotonic() + patience
        try:
            while not self._lock.acquire():
                if time.monotonic() >= give_up:
                    raise FolderBusy(f"another process is writing to {self.path}: wait for it to finish, or stop it")
                time.sleep(0.1)
        except OSError as error:
            raise cannot_write(self._lock.path, error) from None
        self.sweep()

    def sweep(self) -> None:
        """Delete what killed processes have left of the files that they wrote; only while the lock is held."""
        for target in self._owned():
            remove_partial(target)

    def release(self) -> None:
        self._lock.release()

    def _owned(self) -> list[Path]:
        """What it owns, whether it exists or not, and nothing outside: somebody else may have written the names."""
        targets = [self.path / name for name in self.contents() if is_below(name)]
        return [target for target in targets if not leads_out(self.path, target.parent)]


def is_below(name: str) -> bool:
    """Whether a name can be that of a file below a folder, and not of the folder itself or of one outside."""
    try:
        fine = b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False
    path = PurePath(name)
    return fine and path.parts != () and not path.is_absolute() and ".." not in path.parts


def remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
