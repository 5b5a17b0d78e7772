from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.core import returns

Transform = Callable[[Callable[..., jax.Array]], Callable[..., jax.Array]]


def plain(function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    return function


def second_of_three(function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """``function`` under jit and vmap, on the arguments in the middle of two other streams."""

    def call(*args: jax.Array | float) -> jax.Array:
        lanes = [jnp.stack([jnp.full_like(arg, 7.0), jnp.asarray(arg), jnp.full_like(arg, -3.0)]) for arg in args]
        return jax.jit(jax.vmap(function))(*lanes)[1]

    return call


transforms = pytest.mark.parametrize("transform", [plain, jax.jit, second_of_three])

# Four steps: A_3 = 4, A_2 = -2 + 4d, A_1 = 3 - 2d + 4d^2, A_0 = 1 + 3d - 2d^2 + 4d^3 for a decay d.
DELTAS = jnp.array([1.0, 3.0, -2.0, 4.0])


def check(actual: jax.Array, expected: list[float]) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@transforms
def test_td_errors_are_reward_plus_discounted_next_value_less_value(transform: Transform) -> None:
    rewards, values = jnp.array([1.0, 0.0, -2.0]), jnp.array([0.5, 2.0, -1.0])
    next_values = jnp.array([2.0, -1.0, 0.0])
    # 1 + 0.9 * 2 - 0.5,  0 + 0.9 * (-1) - 2,  -2 + 0 + 1
    check(transform(returns.td_errors)(rewards, values, next_values, 0.9), [2.3, -2.9, -1.0])


@transforms
def test_td_errors_take_one_discount_per_step(transform: Transform) -> None:
    rewards, values = jnp.array([1.0, 1.0, 1.0]), jnp.array([4.0, 4.0, 4.0])
    discounts = jnp.array([1.0, 0.5, 0.0])
    check(transform(returns.td_errors)(rewards, values, jnp.full(3, 2.0), discounts), [-1.0, -2.0, -3.0])


@transforms
def test_advantages_with_lambda_0_are_the_one_step_errors(transform: Transform) -> None:
    check(transform(returns.advantages)(DELTAS, 0.99 * 0.0), [1.0, 3.0, -2.0, 4.0])


@transforms
def test_advantages_with_decay_1_are_the_sums_of_what_follows(transform: Transform) -> None:
    check(transform(returns.advantages)(DELTAS, 1.0), [6.0, 5.0, 2.0, 4.0])


@transforms
def test_advantages_decay_backwards(transform: Transform) -> None:
    # d = 0.5: 4, -2 + 2 = 0, 3 + 0 = 3, 1 + 1.5 = 2.5
    check(transform(returns.advantages)(DELTAS, 0.5), [2.5, 3.0, 0.0, 4.0])


@transforms
def test_advantages_are_cut_where_the_decay_is_0(transform: Transform) -> None:
    # Nothing passes from step 2 back to step 1: 4, -2 + 4 = 2, then 3 (not 5), 1 + 3 = 4 (not 6).
    check(transform(returns.advantages)(DELTAS, jnp.array([1.0, 0.0, 1.0, 1.0])), [4.0, 3.0, 2.0, 4.0])


@transforms
def test_nothing_follows_the_last_step_whatever_its_decay(transform: Transform) -> None:
    check(transform(returns.advantages)(DELTAS, jnp.array([0.0, 0.0, 0.0, 100.0])), [1.0, 3.0, -2.0, 4.0])


@transforms
def test_lambda_1_gives_the_discounted_return_less_the_value(transform: Transform) -> None:
    rewards, values = jnp.array([1.0, 2.0, 3.0]), jnp.array([10.0, 20.0, 30.0])
    deltas = returns.td_errors(rewards, values, jnp.array([20.0, 30.0, 0.0]), 0.5)
    # Returns by hand: 3, 2 + 1.5 = 3.5, 1 + 1.75 = 2.75; the values inside the sum cancel.
    check(transform(returns.advantages)(deltas, 0.5 * 1.0), [2.75 - 10, 3.5 - 20, 3.0 - 30])


def test_advantages_keep_the_type_of_the_errors() -> None:
    assert returns.advantages(DELTAS.astype(jnp.bfloat16), 0.5).dtype == jnp.bfloat16


def test_gradients_flow_to_every_earlier_advantage() -> None:
    jacobian = jax.jacobian(returns.advantages)(DELTAS, 0.5)
    expected = [[1.0, 0.5, 0.25, 0.125], [0.0, 1.0, 0.5, 0.25], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.0, 1.0]]
    np.testing.assert_allclose(jacobian, expected)
