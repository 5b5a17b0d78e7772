"""Options of the compiler for programs that run too rarely for their speed to matter."""

from typing import Any

#: For a CPU, programs are compiled in half the time with a simpler code generator, and run about a seventh longer:
#: compiling took most of the time of short loops.
LEAN: dict[str, Any] = {"xla_cpu_use_fusion_emitters": False, "xla_cpu_parallel_codegen_split_count": 1}

#: A program that runs once needs no optimisation. It rounds differently.
QUICK: dict[str, Any] = {"xla_backend_optimization_level": 0, **LEAN}
