"""Memory that a run takes: a run of hours must not grow."""

import os
from pathlib import Path

import jax

GIB = 2**30
STATUS = Path("/proc/self/statm")


def memory() -> dict[str, float]:
    """GiB of the host now, and the most of the device so far; each only where the system tells."""
    told = {}
    if STATUS.exists():  # on Linux
        told["host_memory"] = int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    stats = jax.devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in stats:
        told["device_memory"] = stats["peak_bytes_in_use"]
    return {name: round(size / GIB, 4) for name, size in told.items()}
