"""Options of the compiler."""

import jax
import jax.numpy as jnp

from action_balance.core.compiling import LEAN, QUICK, lean_options


def test_this_version_knows_its_options() -> None:
    for options in (LEAN, QUICK):
        assert jax.jit(lambda x: 2 * x, compiler_options=options)(jnp.float32(3)) == 6


def test_only_options_that_were_tried_are_used() -> None:
    assert "xla_cpu_use_fusion_emitters" in lean_options("0.10.2")
    assert lean_options("0.11.0") == {"xla_cpu_parallel_codegen_split_count": 1}
    assert lean_options("0.99.0") == lean_options("1.0") == lean_options("dev") == {}
