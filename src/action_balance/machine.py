"""The machine that the program runs on: its CPU cores and its memory."""

import os
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from action_balance.errors import UserError, as_size

#: Share of the memory from which on a part is named.
NAMED_FROM = 0.01

#: What errors of the runtime say when memory runs out.
OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "out of memory", "bad_alloc", "failed to allocate")

#: Characters of an error of the runtime that are shown.
SHOWN = 160

#: Where Linux describes processes and control groups.
PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def cores() -> int:
    """The number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Need:
    """Memory that something needs."""

    what: str  # needs it, such as "its networks"
    size: int  # in bytes, at least
    change: str  # reduces it, such as "a smaller --hidden"
    how: str = ""  # it is computed, such as "8 environments x 128 steps x 28,224 bytes"


def check_memory(what: str, needs: Sequence[Need], available: int | None) -> None:
    total, largest = sum(need.size for need in needs), max(needs, key=lambda need: need.size)
    if available is None or total <= available:
        return
    parts = [
        f"{as_size(need.size)} for {need.what}{f' ({need.how})' if need.how else ''}"
        for need in sorted(needs, key=lambda need: -need.size)
        if need is largest or need.size > NAMED_FROM * total
    ]
    part, rest = (f" for {largest.what}", "") if len(needs) == 1 else ("", f"{', '.join(parts)}; ")
    raise UserError(
        f"{what} needs at least {as_size(total)} of memory{part}, but only {as_size(available)} is available: "
        f"{rest}use {largest.change}"
    )


def failure(error: BaseException) -> str | None:
    """Why the machine could not carry out a computation."""
    of_runtime = type(error).__name__ in ("JaxRuntimeError", "XlaRuntimeError")
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError) or (of_runtime and any(sign.lower() in text.lower() for sign in OUT_OF_MEMORY)):
        return "not enough memory"
    if isinstance(error, OverflowError):
        return f"a number is too large ({textwrap.shorten(text, SHOWN)})"
    return f"the device failed to run the program ({textwrap.shorten(text, SHOWN)})" if of_runtime else None


def available_memory() -> int | None:
    """Bytes that this process can still allocate; None where the system does not say.

    On Linux it is the least of: what the kernel can free for a program, with swap; what the limits of the control
    groups leave, which is how containers are limited; and what the process may map (``ulimit -v``).
    """
    found = [*_of_system(), *_of_groups(), *_of_process()]
    return max(0, min(found)) if found else None


def _of_system() -> Iterator[int]:
    sizes = _numbers(PROC / "meminfo")
    if "MemAvailable:" in sizes:
        yield 1024 * (sizes["MemAvailable:"] + sizes.get("SwapFree:", 0))


def _of_groups() -> Iterator[int]:
    """What the control group of the process, and those around it, can still use."""
    for line in _read(PROC / "self" / "cgroup").splitlines():
        number, _, rest = line.partition(":")
        kinds, _, path = rest.partition(":")
        if number == "0" and not kinds:
            names = CGROUPS, "memory.max", "anon"
        elif "memory" in kinds.split(","):
            names = CGROUPS / "memory", "memory.limit_in_bytes", "total_rss"
        else:
            continue
        root, limit, used = names
        group = root / path.strip("/")
        for folder in (group, *group.parents):
            text = _read(folder / limit).strip()
            if text.isdigit():  # and not "max"
                yield int(text) - _numbers(folder / "memory.stat").get(used, 0)
            if folder == root:
                break


def _of_process() -> Iterator[int]:
    try:
        import resource
    except ImportError:  # on Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    mapped = _read(PROC / "self" / "statm").split()
    if limit != resource.RLIM_INFINITY and mapped:
        yield limit - int(mapped[0]) * os.sysconf("SC_PAGE_SIZE")


def _numbers(file: Path) -> dict[str, int]:
    """A file of lines that begin with a name and a number."""
    words = [line.split() for line in _read(file).splitlines()]
    return {word[0]: int(word[1]) for word in words if len(word) > 1 and word[1].isdigit()}


def _read(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
