"""Actions of two components, with two and three choices, by hand; and plain discrete actions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.core.balance import balance, mask_logits
from action_balance.distributions import Categorical, MultiCategorical

TWO = MultiCategorical((2, 3))
PLAIN = MultiCategorical((5,))
# Probabilities 1/4, 3/4 and 1/2, 1/4, 1/4.
LOGITS = jnp.log(jnp.array([1.0, 3.0, 2.0, 1.0, 1.0]))


#: Logits whose softmax is (1/8, 3/8, 4/8) and (1/3, 1/3, 1/3), the second shifted.
ROWS = jnp.array([[0.0, np.log(3.0), np.log(4.0)], [50.0, 50.0, 50.0]])
PROBABILITIES = np.array([[0.125, 0.375, 0.5], [1 / 3, 1 / 3, 1 / 3]])

THREE = Categorical(3)


def test_choices_are_counted_over_all_components_and_one_component_has_scalar_actions() -> None:
    assert (TWO.choices, TWO.action_shape) == (5, (2,))
    assert (PLAIN.choices, PLAIN.action_shape) == (5, ())


def test_log_probabilities_are_summed_over_components() -> None:
    found = jax.jit(lambda action: TWO.log_prob(LOGITS, action))(jnp.array([1, 2]))
    assert float(found) == pytest.approx(math.log(3 / 4 * 1 / 4))


def test_entropies_and_divergences_are_summed_over_components() -> None:
    first = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    second = -(0.5 * math.log(0.5) + 0.5 * math.log(0.25))
    assert float(TWO.entropy(LOGITS)) == pytest.approx(first + second)
    uniform = TWO.kl(LOGITS, jnp.zeros(5))
    assert float(uniform) == pytest.approx(math.log(2) - first + math.log(3) - second)


def test_a_function_is_applied_to_each_component_alone() -> None:
    bonus = jnp.array([3.0, 4.0, 0.0, 0.0, 7.0])  # of lengths 5 and 7
    found = TWO.per_component(lambda x, y: balance(x, y, 2.0), LOGITS, bonus)
    np.testing.assert_allclose(found - LOGITS, [1.2, 1.6, 0, 0, 2], atol=1e-6)
    # A thousand times the bonus of one component changes nothing.
    more = TWO.per_component(lambda x, y: balance(x, y, 2.0), LOGITS, bonus.at[2:].multiply(1000))
    np.testing.assert_allclose(more, found, rtol=1e-6)
    assert [part.tolist() for part in TWO.split(bonus)] == [[3, 4], [0, 0, 7]]


def test_the_mode_is_the_largest_logit_of_each_component() -> None:
    logits = jnp.array([0.1, 0.0, 9.0, 1.0, 9.5])
    assert TWO.mode(logits).tolist() == [0, 2]
    assert int(PLAIN.mode(logits)) == 4
    assert PLAIN.mode(logits).dtype == jnp.int32


def test_noise_decides_a_sample_where_logits_are_equal() -> None:
    noise = jnp.array([0.0, 1.0, 5.0, 0.0, 0.0])
    assert TWO.sample(jnp.zeros(5), noise).tolist() == [1, 0]
    assert int(PLAIN.sample(jnp.zeros(5), noise)) == 2


def test_uniform_actions_have_the_range_of_each_component() -> None:
    key = jax.random.key(0)
    drawn = np.asarray(TWO.uniform(key, 200))
    assert drawn.shape == (200, 2)
    assert [set(column) for column in drawn.T.tolist()] == [{0, 1}, {0, 1, 2}]
    assert set(np.asarray(PLAIN.uniform(key, 200)).tolist()) == set(range(5))


def test_entries_of_an_action_and_its_one_hot_vector() -> None:
    values = jnp.array([10.0, 11.0, 20.0, 21.0, 22.0])
    assert TWO.chosen(values, jnp.array([1, 2])).tolist() == [11, 22]
    assert PLAIN.chosen(values, jnp.int32(3)).tolist() == [21]
    assert TWO.vector(jnp.array([1, 2])).tolist() == [0, 1, 0, 0, 1]
    assert PLAIN.vector(jnp.int32(1)).tolist() == [0, 1, 0, 0, 0]


def test_log_prob_is_that_of_the_action_under_the_softmax() -> None:
    actual = jax.jit(jax.vmap(THREE.log_prob))(ROWS, jnp.array([1, 2]))
    np.testing.assert_allclose(actual, np.log([0.375, 1 / 3]), rtol=1e-6)


def test_entropy_by_hand() -> None:
    # 1/8 ln 8 + 3/8 ln(8/3) + 1/2 ln 2 and ln 3
    actual = jax.jit(jax.vmap(THREE.entropy))(ROWS)
    by_hand = 3 / 8 * np.log(2) + 3 / 8 * np.log(8 / 3) + np.log(2) / 2
    np.testing.assert_allclose(actual, [by_hand, np.log(3)], rtol=1e-6)


def test_kl_divergence_by_hand_and_in_the_order_of_its_arguments() -> None:
    divergence = jax.jit(jax.vmap(THREE.kl))
    forward = (PROBABILITIES[0] * np.log(PROBABILITIES[0] * 3)).sum()
    backward = -(np.log(PROBABILITIES[0] * 3) / 3).sum()
    np.testing.assert_allclose(divergence(ROWS, ROWS[::-1]), [forward, backward], rtol=1e-5)
    assert forward == pytest.approx(0.1243, abs=1e-4)
    assert backward == pytest.approx(0.1525, abs=1e-4)


def test_forbidden_choices_have_no_part_in_log_probabilities_entropies_and_divergences() -> None:
    """Left are 1/4, 3/4 of the first component, and 2/3, 1/3 of the second."""
    mask = jnp.array([True, True, True, False, True])
    masked = mask_logits(LOGITS, mask)
    assert float(TWO.log_prob(masked, jnp.array([1, 2]))) == pytest.approx(math.log(3 / 4 * 1 / 3))
    first, second = (-sum(p * math.log(p) for p in one) for one in ((1 / 4, 3 / 4), (2 / 3, 1 / 3)))
    assert float(TWO.entropy(masked)) == pytest.approx(first + second)
    uniform = TWO.kl(masked, mask_logits(jnp.zeros(5), mask))
    assert float(uniform) == pytest.approx(2 * math.log(2) - first - second)
    noise = jnp.array([0.0, 0.0, 0.0, 1e6, 0.0])
    assert TWO.sample(masked, noise).tolist() == [1, 0]


def test_a_missing_vector_is_passed_to_the_function_of_each_component() -> None:
    seen = TWO.per_component(lambda x, m: x if m is None else -x, LOGITS, None)
    np.testing.assert_array_equal(seen, LOGITS)
