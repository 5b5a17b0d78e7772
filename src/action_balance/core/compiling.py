"""Options of the compiler for programs that run too rarely for their speed to matter.

Options come and go with the versions of XLA, and one that is unknown is an error: each is used with the versions of
jaxlib that it was tried with.
"""

from typing import Any

import jaxlib.version

#: Options by the version of jaxlib, (major, minor).
_TRIED: dict[tuple[int, ...], dict[str, Any]] = {
    (0, 10): {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1},
    (0, 11): {"xla_cpu_parallel_codegen_split_count": 1},
}


def lean_options(version: str = jaxlib.version.__version__) -> dict[str, Any]:
    """Options for a CPU with which programs are compiled in half the time, and run about a seventh longer; none for a
    version of jaxlib that they were not tried with."""
    return _TRIED.get(tuple(int(part) for part in version.split(".")[:2] if part.isdigit()), {})


LEAN = lean_options()

#: A program that runs once needs no optimisation. It rounds differently.
QUICK: dict[str, Any] = {"xla_backend_optimization_level": 0, **LEAN} if LEAN else {}
