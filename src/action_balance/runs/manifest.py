"""Where a run came from: versions, hardware, commit, command and times."""

import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from action_balance import __version__
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.reading import exists, read_text

#: Packages that the numbers of a run may depend on.
PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def versions(packages: Sequence[str]) -> Data:
    """Versions of this package, of Python and of other packages; None for one that is not installed."""
    return {
        "action-balance": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
    }


def hardware() -> Data:
    import jax

    return {
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "backend": jax.default_backend(),
        "devices": [device.device_kind for device in jax.devices()],
    }


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def commit(folder: Path | None = None) -> str | None:
    """The commit of a folder, by default the current one; files that differ from it are not noticed.

    Git itself is not called: the settings of a repository, which may be a stranger's, name programs that Git runs.
    """

    def text(path: Path) -> str:
        return read_text(path, "a file of a Git repository").strip()

    try:
        where = (folder or Path.cwd()).resolve()
        git = next(one / ".git" for one in (where, *where.parents) if exists(one / ".git"))
        if not git.is_dir():  # of a worktree or a submodule
            git = git.parent / text(git).removeprefix("gitdir:").strip()
        found = text(git / "HEAD")
        if found.startswith("ref:"):
            branch = found.removeprefix("ref:").strip()
            common = git / text(git / "commondir") if exists(git / "commondir") else git
            if exists(common / branch):
                found = text(common / branch)
            else:
                packed = (line.partition(" ") for line in text(common / "packed-refs").splitlines())
                found = next(one for one, _, name in packed if name == branch)
        return found if re.fullmatch("[0-9a-f]{40}([0-9a-f]{24})?", found) else None
    except (UserError, OSError, ValueError, StopIteration):
        return None


def describe_start(command: Sequence[str], packages: Sequence[str] = ()) -> Data:
    """What is recorded whenever a run is started or resumed."""
    return {
        "time": now(),
        "command": list(command),
        "versions": versions((*PACKAGES, *packages)),
        "hardware": hardware(),
        "commit": commit(),
    }


def changes(before: Data, after: Data) -> list[str]:
    """What has changed since an earlier start and may change the numbers, one line each."""
    old, new = before["versions"], after["versions"]
    # a package that the earlier start did not record may be the same
    lines = [f"{name} is now {new[name]}, was {old[name]}" for name in new if name in old and new[name] != old[name]]
    old_devices, new_devices = before["hardware"]["devices"], after["hardware"]["devices"]
    if old_devices != new_devices:
        lines.append(f"it now runs on {', '.join(new_devices)}, not on {', '.join(old_devices)}")
    return [f"{line}: the resumed run may not be bit-for-bit identical" for line in lines]
