"""Where a run came from: versions, hardware, commit, command, times."""

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata

from action_balance import __version__
from action_balance.files import Data

#: What the numbers of a run may depend on.
PACKAGES = ("jax", "jaxlib", "equinox", "optax", "orbax-checkpoint", "numpy")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def versions(besides: Sequence[str] = ()) -> Data:
    """The versions of what the numbers may depend on, and of packages besides; None where it is not installed."""
    return {
        "action-balance": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in (*PACKAGES, *besides)},
    }


def hardware() -> Data:
    """What the run is computed on."""
    import jax

    return {
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "backend": jax.default_backend(),
        "devices": [device.device_kind for device in jax.devices()],
    }


def commit() -> str | None:
    """The commit of the working folder, with ``-dirty`` where files differ from it; None where there is none."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def now() -> str:
    """The time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def describe_start(command: Sequence[str], besides: Sequence[str] = ()) -> Data:
    """What is recorded whenever a run that needs packages besides is started or resumed."""
    return {
        "time": now(),
        "command": list(command),
        "versions": versions(besides),
        "hardware": hardware(),
        "commit": commit(),
    }


def changes(before: Data, after: Data) -> list[str]:
    """What is other than at an earlier start and may change the numbers, one line each."""
    old, new = before["versions"], after["versions"]
    # what older runs have not recorded may be the same
    lines = [f"{name} is {new[name]} now and was {old[name]}" for name in new if name in old and new[name] != old[name]]
    old_devices, new_devices = before["hardware"]["devices"], after["hardware"]["devices"]
    if old_devices != new_devices:
        lines.append(f"it now runs on {', '.join(new_devices)} and ran on {', '.join(old_devices)}")
    return [f"{line}: the run may not continue bit for bit" for line in lines]
