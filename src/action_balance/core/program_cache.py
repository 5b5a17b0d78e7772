"""Compiled programs on the disk, in JAX's persistent cache: a later process starts faster."""

import os
import warnings
from contextlib import suppress
from pathlib import Path

import jax

#: Environment variable: ``off``, or the folder to use.
SETTING = "ACTION_BALANCE_CACHE"

#: Bytes in the folder above which the programs that were not used for longest are removed.
LIMIT = 10**9

#: Programs that are compiled faster than this are not kept: they would be many.
MIN_SECONDS = 0.1


def use_program_cache() -> Path | None:
    """Keep compiled programs from now on, in the folder returned, unless the user has decided otherwise."""
    chosen, in_jax = os.environ.get(SETTING, ""), jax.config.values["jax_compilation_cache_dir"]
    if in_jax:
        return Path(in_jax)
    if chosen.lower() in ("off", "0", "no", "false") or "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return None
    try:
        folder = Path(chosen or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "action-balance/programs"))
        folder = folder.expanduser().absolute()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK) or folder.stat().st_mode & 0o022:  # others could write what is run here
            return None
    except (OSError, RuntimeError):  # a RuntimeError where there is no home
        return None
    _remove_unfinished(folder)
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")  # it is only slower
    settings: dict[str, str | float] = {
        "jax_compilation_cache_dir": str(folder),
        "jax_compilation_cache_max_size": LIMIT,
        "jax_persistent_cache_min_compile_time_secs": MIN_SECONDS,
        "jax_persistent_cache_enable_xla_caches": "none",  # files of XLA for a GPU, without a limit
    }
    for name, value in settings.items():
        if name.upper() not in os.environ:
            jax.config.update(name, value)
    return folder


def _remove_unfinished(folder: Path) -> None:
    """Remove programs that were being written when a process was killed: JAX would fail to find the oldest."""
    with suppress(OSError):
        names = set(os.listdir(folder))
        for name in names:
            if name.endswith("-cache") and name.removesuffix("-cache") + "-atime" not in names:
                (folder / name).unlink()
