"""What `benchmarks/bonuses.py` computes from its measurements."""

import bonuses
import jax.numpy as jnp
import pytest


def test_the_cost_of_one_action_is_extrapolated_from_two_and_eighteen() -> None:
    # 3 s, and 0.5 s for every action.
    assert bonuses.one_action([4.0], [12.0]) == pytest.approx([3.5])


def test_memory_is_that_of_all_arrays() -> None:
    assert bonuses.mebibytes({"counts": jnp.zeros((2**18, 2), jnp.int32), "none": None}) == 2
