from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.core.embedding import action_channel, one_hot
from action_balance.errors import UserError


def channels(actions: int, rows: int, columns: int, value: float) -> np.ndarray:
    """The channels of all actions in order, (A, rows, columns), under jit and vmap."""
    channel = partial(action_channel, actions=actions, rows=rows, columns=columns, value=value)
    return np.asarray(jax.jit(jax.vmap(channel))(jnp.arange(actions)))


def test_one_hot_has_a_one_in_the_place_of_the_action() -> None:
    actual = jax.jit(jax.vmap(partial(one_hot, actions=3)))(jnp.array([2, 0, 1]))
    np.testing.assert_array_equal(actual, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def test_an_action_channel_by_hand() -> None:
    # 4 rows for 2 actions: 2 rows each.
    first = [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_array_equal(channels(2, 4, 3, 0.5), [first, first[::-1]])


def test_left_over_rows_stay_zero() -> None:
    # 8 rows for 3 actions: rows 0-1, 2-3 and 4-5; rows 6 and 7 belong to no action.
    actual = channels(3, 8, 1, 1.0)[:, :, 0]
    np.testing.assert_array_equal(actual, np.array([list("11000000"), list("00110000"), list("00001100")], float))


def test_small_integer_types_do_not_overflow() -> None:
    # Rows 200 to 399 of 400 for the second of two actions; 200 * 2 is more than eight bits hold.
    actual = action_channel(jnp.uint8(1), actions=2, rows=400, columns=1, value=1.0)[:, 0]
    np.testing.assert_array_equal(actual, np.arange(400) >= 200)


def test_fewer_rows_than_actions_is_a_clear_error() -> None:
    with pytest.raises(UserError, match="action channel of 3 rows is too small for 4 actions: use at least 4 rows"):
        action_channel(jnp.int32(0), actions=4, rows=3, columns=84)
