"""Lock files as processes on other machines, or other processes of this one, write them."""

import os
from pathlib import Path

from action_balance.runs.leases import Owner, here

#: A process on another machine.
FAR = Owner("node-7", "another boot", 17, "their token", has_flock=True)


def neighbour(pid: int, has_flock: bool = True) -> Owner:
    """A process on this machine."""
    return Owner(*here(), pid, "its token", has_flock)


def hold(path: Path, owner: Owner = FAR, age: float = 0.0) -> None:
    """Write a lock file in place of any other, as if it had been renewed some seconds ago."""
    path.write_bytes(owner.to_bytes())
    renewed = path.stat().st_mtime_ns - int(age * 1e9)
    os.utime(path, ns=(renewed, renewed))
