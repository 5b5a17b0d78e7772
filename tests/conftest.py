"""Compiled programs are kept between test runs, in a folder that git ignores."""

from pathlib import Path

import jax

jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parents[1] / ".jax_cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
