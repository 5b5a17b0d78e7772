"""Memory in use, which is logged because it must not grow during a run of hours."""

import os
from pathlib import Path

import jax

GIB = 2**30
STATUS = Path("/proc/self/statm")


def memory() -> dict[str, float]:
    """GiB in use on the host, and the peak on the device, each only where the system reports it."""
    sizes = {}
    if STATUS.exists():  # on Linux
        sizes["host_memory"] = int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    stats = jax.local_devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in stats:
        sizes["device_memory"] = stats["peak_bytes_in_use"]
    return {name: round(size / GIB, 4) for name, size in sizes.items()}
