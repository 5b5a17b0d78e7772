"""Compiled programs on the disk: what one process has compiled, the next one reads, so that its second start is fast.

JAX can keep programs in a folder itself, but writes them in place: a process that is killed while it writes, or a full
disk, leaves a damaged file that is reported at every later start and never replaced. `ProgramCache` takes the place of
that storage. JAX still decides which program is which.
"""

import contextlib
import hashlib
import os
import platform
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jaxlib.version

from action_balance.machine import processor_features

#: Environment variable: ``off``, or the folder to use.
SETTING = "ACTION_BALANCE_CACHE"

#: Bytes in the folder above which the programs that were not used for longest are removed, and the share that is kept.
LIMIT, KEPT_SHARE = 10**9, 0.8

#: Names of programs, and of what is being written.
SUFFIX, PARTIAL = ".program", ".partial"

#: Seconds after which a partial file was left by a process that was killed.
ABANDONED = 3600.0

#: The size is checked after this many programs, and after the first.
CHECK_EVERY = 100


@dataclass(frozen=True)
class Status:
    """Whether programs are cached, and where."""

    folder: Path | None
    """The folder; None if there is none."""
    problem: str = ""
    """Why it is not used; empty if it is."""


class ProgramCache:
    """A folder of programs that several processes and machines may use at once.

    No error reaches the caller: a program that cannot be read is compiled, and one that cannot be written is not kept.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        """Use a folder, which exists."""
        self._path, self._limit = folder, limit  # JAX reads `_path`
        self._written, self._failed = 0, False

    def file(self, key: str) -> Path:
        """The file of a program."""
        python = ".".join(map(str, sys.version_info[:2]))  # which decides how JAX compresses programs
        made_for = f"{key}\n{jaxlib.version.__version__}\n{python}\n{processor_features()}"
        return self._path / (hashlib.sha256(made_for.encode()).hexdigest()[:40] + SUFFIX)

    def get(self, key: str) -> bytes | None:
        """Read a program."""
        file = self.file(key)
        try:
            content = file.read_bytes()
        except OSError:
            return None
        digest, program = content[:32], content[32:]
        if hashlib.sha256(program).digest() != digest:
            _remove(file)
            return None
        with contextlib.suppress(OSError):
            os.utime(file)  # what was used last is kept
        return program

    def put(self, key: str, value: bytes) -> None:
        """Keep a program; after the first failure, such as a full disk, none is written any more."""
        if self._failed or len(value) > self._limit:
            return
        partial = None
        try:
            handle, partial = tempfile.mkstemp(PARTIAL, dir=self._path)
            with open(handle, "wb") as writer:
                writer.write(hashlib.sha256(value).digest() + value)
            os.replace(partial, self.file(key))
        except OSError:
            self._failed = True
            if partial is not None:
                _remove(Path(partial))
            return
        if self._written % CHECK_EVERY == 0:
            self.evict()
        self._written += 1

    def evict(self) -> None:
        """Remove what was left half-written, and the programs that were not used for longest if there are too many."""
        found, total = [], 0
        for file, size, used in _files(self._path):
            if file.suffix == PARTIAL:
                if time.time() - used > ABANDONED:
                    _remove(file)
                continue
            found.append((used, size, file))
            total += size
        if total <= self._limit:
            return
        for _, size, file in sorted(found):
            _remove(file)
            total -= size
            if total <= KEPT_SHARE * self._limit:
                return


def use_program_cache() -> Status:
    """Keep compiled programs from now on, unless the user has decided otherwise; calling it again changes nothing.

    No error reaches the caller, because the place in JAX is private and may change: then programs are compiled anew.
    """
    status = Status(None)
    try:
        if chosen := _chosen_for_jax():
            return chosen
        status = prepared_folder()
        if status.folder is None or status.problem or _install(ProgramCache(status.folder)):
            return status
        problem = f"JAX {jax.__version__} has no place for it"
    except Exception as error:
        problem = f"JAX {jax.__version__} does not support it ({type(error).__name__}: {error})"
    return Status(status.folder, problem)


def prepared_folder() -> Status:
    """Make the folder, and check that only this user can write to it: programs in it are run."""
    try:
        folder = default_folder()
        if folder is None:
            return Status(None, f"{SETTING}=off")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except (OSError, RuntimeError) as error:  # a RuntimeError where there is no home
        return Status(None, f"the folder cannot be created: {error}")
    if not os.access(folder, os.W_OK | os.X_OK):
        return Status(folder, "it is not writable")
    if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
        return Status(folder, "other users can write to it")
    return Status(folder)


def default_folder() -> Path | None:
    """The folder in the user's cache directory, or the one that `SETTING` names."""
    chosen = os.environ.get(SETTING, "")
    if chosen.lower() in ("off", "0", "no", "false"):
        return None
    if chosen:
        return Path(chosen).absolute()
    return _user_cache() / "action-balance" / "programs"


def _user_cache() -> Path:
    """Where the system keeps what can be made again."""
    if platform.system() == "Darwin":
        return Path.home() / "Library" / "Caches"
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    named = Path(os.environ.get(variable, ""))
    if named.is_absolute():
        return named
    return Path.home() / ("AppData/Local" if sys.platform == "win32" else ".cache")


def size_of(folder: Path) -> int:
    """Bytes that all programs in a folder take."""
    return sum(size for _, size, _ in _files(folder))


def _files(folder: Path) -> list[tuple[Path, int, float]]:
    """Programs and partial files, each with its size and when it was used."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((SUFFIX, PARTIAL)):
                with contextlib.suppress(OSError):  # removed by another process
                    about = entry.stat(follow_symlinks=False)
                    found.append((Path(entry.path), about.st_size, about.st_mtime))
    return found


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()


def _chosen_for_jax() -> Status | None:
    """What the user, or an earlier call, has set in JAX; None if nothing."""
    if not jax.config.values["jax_enable_compilation_cache"]:
        return Status(None, "JAX_ENABLE_COMPILATION_CACHE is off")
    if folder := jax.config.values["jax_compilation_cache_dir"]:
        return Status(Path(folder))
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return Status(None, "JAX_COMPILATION_CACHE_DIR is empty")
    return None


def _install(cache: ProgramCache) -> bool:
    """Let JAX use the cache; whether its version has the place for it."""
    from jax._src import compilation_cache as place

    if getattr(place, "_cache", place) is not None or not hasattr(place, "_cache_initialized"):
        return False
    _set("jax_persistent_cache_min_compile_time_secs", 0.0)  # small programs are many
    # Files of XLA for a GPU: an error if they cannot be written. The programs hold what they hold.
    _set("jax_persistent_cache_enable_xla_caches", "none")
    _set("jax_compilation_cache_dir", str(cache._path))  # last: a version without the settings above has no cache
    storage: Any = place
    storage._cache, storage._cache_initialized = cache, True
    return True


def _set(name: str, value: str | float) -> None:
    """Change a setting of JAX, unless the user's environment has it."""
    if name.upper() not in os.environ:
        jax.config.update(name, value)
