"""Set up before any test: JAX as the command line has it, but for a compiler in a hurry, and what it made kept.

Most of a test is compiling. The settings are those of the environment, so that commands started by tests have them too,
and share what was compiled.
"""

import os
from pathlib import Path

import jax

from action_balance.agent.seeds import use_all_cores

#: Half the time of compiling, for programs that are run a few times; results differ by rounding only.
HURRY = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
# A folder for each process, which git ignores: one could read what another has half written.
CACHE = Path(__file__).parents[1] / ".jax_cache" / os.environ.get("PYTEST_XDIST_WORKER", "alone")

os.environ["XLA_FLAGS"] = " ".join((*HURRY, os.environ.get("XLA_FLAGS", "")))  # read when a first program is compiled
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(CACHE)
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
jax.config.update("jax_compilation_cache_dir", str(CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
use_all_cores()
