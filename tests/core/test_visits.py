import jax.numpy as jnp
import numpy as np

from action_balance.core.visits import FULL, add_visits


def test_rows_are_counted_as_often_as_they_are_visited() -> None:
    assert add_visits(jnp.array([5, 0, 1]), jnp.array([[2, 0], [2, 2]])).tolist() == [6, 0, 4]


def test_a_count_that_is_full_stays_as_it_is_and_never_becomes_negative() -> None:
    counts = jnp.array([[FULL - 1, 7], [FULL + 3, 0]], jnp.int32)
    rows, visits = jnp.array([0, 0, 1]), jnp.array([[1, 0], [1, 2], [9, 1]])
    np.testing.assert_array_equal(add_visits(counts, rows, visits), [[FULL + 1, 9], [FULL + 3, 1]])
