"""Actions of two components, with two and three choices, by hand."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance import distributions as components
from action_balance.core import ppo
from action_balance.core.balance import balance, normalize

PARTS = (2, 3)
# Probabilities 1/4, 3/4 and 1/2, 1/4, 1/4.
LOGITS = jnp.log(jnp.array([1.0, 3.0, 2.0, 1.0, 1.0]))


def test_choices_are_counted_together_or_as_they_are() -> None:
    assert components.choices(4) == (4, None)
    assert components.choices((2, 3)) == (5, (2, 3))


def test_log_probabilities_are_summed_over_components() -> None:
    found = jax.jit(lambda action: components.log_prob(LOGITS, action, PARTS))(jnp.array([1, 2]))
    assert float(found) == pytest.approx(math.log(3 / 4 * 1 / 4))


def test_the_probabilities_of_all_actions_sum_to_one() -> None:
    every = [math.exp(components.log_prob(LOGITS, jnp.array([i, j]), PARTS)) for i in range(2) for j in range(3)]
    assert sum(every) == pytest.approx(1)


def test_entropies_and_divergences_are_summed_over_components() -> None:
    first = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    second = -(0.5 * math.log(0.5) + 0.5 * math.log(0.25))
    assert float(components.entropy(LOGITS, PARTS)) == pytest.approx(first + second)
    uniform = components.kl_divergence(LOGITS, jnp.zeros(5), PARTS)
    assert float(uniform) == pytest.approx(math.log(2) - first + math.log(3) - second)


def test_each_component_is_balanced_alone() -> None:
    bonus = jnp.array([3.0, 4.0, 0.0, 0.0, 7.0])  # of lengths 5 and 7
    found = components.balanced(LOGITS, bonus, jnp.float32(2.0), "l2", PARTS)
    np.testing.assert_allclose(found - LOGITS, [1.2, 1.6, 0, 0, 2], atol=1e-6)
    # A thousand times the bonus of one component changes nothing.
    more = components.balanced(LOGITS, bonus.at[2:].multiply(1000), jnp.float32(2.0), "l2", PARTS)
    np.testing.assert_allclose(more, found, rtol=1e-6)
    shares = components.normalized(bonus, lambda one: one / one.sum(), PARTS)
    np.testing.assert_allclose(shares, [3 / 7, 4 / 7, 0, 0, 1], rtol=1e-6)


def test_the_largest_score_of_each_component_is_chosen() -> None:
    scores = jnp.array([0.1, 0.0, 9.0, 1.0, 9.5])
    assert components.choose(scores, PARTS).tolist() == [0, 2]
    assert int(components.choose(scores, None)) == 4
    assert components.places(jnp.array([1, 2]), PARTS).tolist() == [1, 4]
    assert components.frequency(jnp.array([1, 2]), 5, PARTS).tolist() == [0, 1, 0, 0, 1]


def test_actions_without_components_are_as_ever() -> None:
    bonus, action = jnp.array([3.0, 4.0, 0.0, 0.0, 7.0]), jnp.int32(1)
    assert components.log_prob(LOGITS, action, None) == ppo.log_prob(LOGITS, action)
    assert components.entropy(LOGITS, None) == ppo.entropy(LOGITS)
    np.testing.assert_array_equal(
        components.balanced(LOGITS, bonus, jnp.float32(2), "l2", None), balance(LOGITS, bonus, 2.0)
    )
    np.testing.assert_array_equal(components.normalized(bonus, normalize, None), normalize(bonus))
    assert components.frequency(action, 3, None).tolist() == [0, 1, 0]
