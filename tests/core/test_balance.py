from functools import partial
from inspect import unwrap
from typing import cast, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from action_balance.core.balance import FORBIDDEN, balance, mask_logits, mix_uniform, normalize
from action_balance.core.options import Normalization
from action_balance.errors import UserError

KINDS: tuple[Normalization, ...] = get_args(Normalization)

#: Compiled once for each kind, over a batch of states.
NORMALIZED = {kind: jax.jit(jax.vmap(partial(normalize, kind=kind))) for kind in KINDS}
BALANCED = {kind: jax.jit(jax.vmap(partial(balance, kind=kind), in_axes=(0, 0, None))) for kind in KINDS}

every_kind = pytest.mark.parametrize("kind", KINDS)
scale_free = pytest.mark.parametrize("kind", ["l2", "standard"])

#: Bonus vectors of multiples of 1/8, which floats hold exactly.
eighths = st.lists(st.integers(0, 8000), min_size=3, max_size=3).map(lambda eighth: jnp.array([eighth]) / 8)


def check(actual: jax.Array, expected: list[list[float]]) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6)


def test_l2_divides_by_the_euclidean_norm() -> None:
    # 1 + 4 + 4 = 9 and 4 + 9 + 36 = 49
    actual = NORMALIZED["l2"](jnp.array([[1.0, 2.0, 2.0], [2.0, 3.0, 6.0]]))
    check(actual, [[1 / 3, 2 / 3, 2 / 3], [2 / 7, 3 / 7, 6 / 7]])


def test_standard_subtracts_the_mean_and_divides_by_the_deviation() -> None:
    # Means 1 and 4; variances (1 + 1 + 4) / 3 = 2 and (9 + 0 + 9) / 3 = 6.
    actual = NORMALIZED["standard"](jnp.array([[0.0, 0.0, 3.0], [1.0, 4.0, 7.0]]))
    check(actual, [[-(0.5**0.5), -(0.5**0.5), 2**0.5], [-(1.5**0.5), 0.0, 1.5**0.5]])


def test_behaviour_logits_add_the_coefficient_times_the_normalised_bonus() -> None:
    logits = jnp.array([[0.0, 1.0, -1.0], [5.0, 5.0, 5.0]])
    bonus = jnp.array([[1.0, 2.0, 2.0], [0.0, 0.0, 3.0]])
    check(BALANCED["l2"](logits, bonus, 3.0), [[1.0, 3.0, 1.0], [5.0, 5.0, 8.0]])
    check(BALANCED["raw"](logits, bonus, 3.0), [[3.0, 7.0, 5.0], [5.0, 5.0, 14.0]])
    root = 2**0.5  # the first bonus has mean 5/3 and deviation sqrt(2)/3
    check(
        BALANCED["standard"](logits, bonus, 2.0), [[-2 * root, 1 + root, root - 1], [5 - root, 5 - root, 5 + 2 * root]]
    )


@every_kind
def test_a_zero_coefficient_leaves_the_logits_bit_for_bit(kind: Normalization) -> None:
    random = np.random.default_rng(0)
    logits = jnp.asarray(random.normal(size=(500, 3)) * 10.0 ** random.integers(-20, 20, (500, 1)), jnp.float32)
    bonus = jnp.asarray(random.exponential(size=(500, 3)), jnp.float32)
    actual = np.asarray(BALANCED[kind](logits, bonus, 0.0))
    np.testing.assert_array_equal(actual.view(np.int32), np.asarray(logits).view(np.int32))


@scale_free
@given(bonus=eighths, scale=st.floats(1e-25, 1e25))
@settings(deadline=None)
def test_a_factor_on_the_bonus_changes_nothing_under_l2_and_standard(
    kind: Normalization, bonus: jax.Array, scale: float
) -> None:
    # Rounding after the product is as large as the differences of close entries under `standard` allow.
    normalized = NORMALIZED[kind]
    np.testing.assert_allclose(normalized(bonus * scale), normalized(bonus), rtol=1e-6, atol=5e-3)
    np.testing.assert_array_equal(normalized(bonus * 2.0**-70), normalized(bonus))


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 1e-7, 1e7])
def test_equal_entries_give_zeros_under_standard_whatever_the_rounding(value: float) -> None:
    np.testing.assert_array_equal(NORMALIZED["standard"](jnp.full((1, 3), value)), np.zeros((1, 3)))


@every_kind
def test_the_bonus_gets_no_gradient_and_the_logits_get_it_whole(kind: Normalization) -> None:
    jacobian = jax.jit(jax.jacobian(partial(balance, kind=kind), argnums=(0, 1, 2)))
    to_logits, to_bonus, to_coef = jacobian(jnp.array([1.0, 0.0, 2.0]), jnp.array([1.0, 2.0, 2.0]), 0.5)
    np.testing.assert_array_equal(to_logits, np.eye(3))
    np.testing.assert_array_equal(to_bonus, np.zeros((3, 3)))
    check(to_coef[None], NORMALIZED[kind](jnp.array([[1.0, 2.0, 2.0]])).tolist())


def test_an_unknown_normalisation_is_named_with_the_nearest() -> None:
    with pytest.raises(UserError, match="unknown normalisation 'standart': did you mean standard\\?"):
        unwrap(normalize)(jnp.ones(2), cast(Normalization, "standart"))  # without the tests' own checks


def test_epsilon_mixes_a_policy_with_a_uniform_one() -> None:
    """Of softmax(0, ln 3) = (1/4, 3/4), half uniform is (3/8, 5/8)."""
    logits = jnp.log(jnp.array([1.0, 3.0]))
    for epsilon, expected in ((0.5, [3 / 8, 5 / 8]), (1.0, [0.5, 0.5]), (0.0, [0.25, 0.75])):
        check(jnp.exp(mix_uniform(logits, epsilon))[None], [expected])
    # An action that the policy never takes keeps its share of epsilon, and gradients are finite.
    check(mix_uniform(jnp.array([0.0, -1e30]), 0.1)[None], [[float(np.log(0.95)), float(np.log(0.05))]])
    for epsilon in (0.1, 1.0):
        assert jnp.isfinite(jax.jacobian(mix_uniform)(jnp.array([0.0, -200.0]), epsilon)).all()


def test_forbidden_actions_have_no_part_in_the_normalised_bonus() -> None:
    bonus, mask = jnp.array([3.0, 100.0, 4.0, 7.0]), jnp.array([True, False, True, False])
    np.testing.assert_array_equal(normalize(bonus, "raw", mask), [3, 0, 4, 0])
    check(normalize(bonus, "l2", mask)[None], [[0.6, 0, 0.8, 0]])  # 9 + 16 = 25
    check(normalize(bonus, "standard", mask)[None], [[-1, 0, 1, 0]])  # mean 3.5, deviation 0.5
    alone = jnp.array([False, False, False, True])
    assert normalize(bonus, "l2", alone).tolist() == [0, 0, 0, 1]
    assert normalize(bonus, "standard", alone).tolist() == [0, 0, 0, 0]


def test_the_behaviour_policy_is_balanced_over_allowed_actions_only() -> None:
    logits, bonus = jnp.log(jnp.array([1.0, 5.0, 3.0])), jnp.array([4.0, 9.0, 3.0])
    found = balance(logits, bonus, 5.0, "l2", jnp.array([True, False, True]))
    np.testing.assert_allclose(found[jnp.array([0, 2])], [4, np.log(3) + 3], rtol=1e-6)
    probabilities = jax.nn.softmax(found)
    assert probabilities[1] == 0
    # exp(4) : 3 exp(3)
    np.testing.assert_allclose(probabilities[0], np.e / (np.e + 3), rtol=1e-6)


def test_the_uniform_part_of_a_mixture_is_shared_by_the_allowed_actions() -> None:
    mask = jnp.array([True, True, False, False])
    mixed = mix_uniform(jnp.log(jnp.array([1.0, 3.0, 8.0, 8.0])), 0.2, mask)
    np.testing.assert_allclose(jnp.exp(mixed), [0.8 / 4 + 0.1, 0.8 * 3 / 4 + 0.1, 0, 0], rtol=1e-6)
    assert mixed[2:].tolist() == [FORBIDDEN, FORBIDDEN]


def test_forbidden_actions_get_no_gradient() -> None:
    mask = jnp.array([True, False, True])

    def chosen(logits: jax.Array) -> jax.Array:
        return jax.nn.log_softmax(mix_uniform(mask_logits(logits, mask), 0.5, mask))[0]

    gradient = jax.grad(chosen)(jnp.zeros(3))
    # p = 0.5 sigma(x - y) + 0.25, so d log p = 0.125 / 0.5
    np.testing.assert_allclose(gradient, [0.25, 0, -0.25], rtol=1e-6)
