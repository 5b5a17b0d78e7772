"""Eq. 5 by candidates, by hand and against its limit."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.core.candidates import divergence, entropy_difference, log_weight, normalize_candidates

#: A policy over four actions, and what Eq. 5 adds to them.
PI = np.array([0.4, 0.3, 0.2, 0.1])
SHIFT = np.array([0.0, 0.5, 1.0, 2.0])
#: ``beta ~ pi exp(s)``.
BETA = PI * np.exp(SHIFT) / (PI * np.exp(SHIFT)).sum()


def test_the_bonus_of_candidates_does_not_shrink_with_their_number() -> None:
    np.testing.assert_allclose(
        normalize_candidates(jnp.array([3.0, 4.0])), np.array([3, 4]) / math.sqrt(12.5), rtol=1e-6
    )
    twice = normalize_candidates(jnp.array([3.0, 4.0, 3.0, 4.0]))
    np.testing.assert_allclose(twice, np.array([3, 4, 3, 4]) / math.sqrt(12.5), rtol=1e-6)
    np.testing.assert_allclose(normalize_candidates(jnp.array([3.0, 5.0]), "standard"), [-1, 1], rtol=1e-6)
    assert normalize_candidates(jnp.array([3.0, 5.0]), "raw").tolist() == [3, 5]


def test_the_weight_of_a_candidate_is_that_of_the_softmax_times_their_number() -> None:
    shift = jnp.log(jnp.array([1.0, 2.0, 5.0]))
    found = log_weight(shift, jnp.zeros(3), jnp.array([False, True, False]))
    assert math.exp(found) == pytest.approx(3 * 2 / 8)


def test_what_a_policy_that_has_changed_adds_to_the_other_candidates_is_weighted_by_the_odds_of_each() -> None:
    shift, drift = jnp.log(jnp.array([1.0, 2.0, 5.0])), jnp.log(jnp.array([4.0, 3.0, 0.5]))
    found = log_weight(shift, drift, jnp.array([False, True, False]))
    odds = 1 / 7, 5 / 3
    mean = (odds[0] * 4 + odds[1] * 0.5) / sum(odds)
    assert math.exp(found) == pytest.approx(3 * 2 / 8 / mean ** sum(odds))


def test_an_advantage_that_all_actions_share_leaves_the_policy_as_it_is() -> None:
    """For every set of candidates, the gradient of log q has the mean 0 over the action that is drawn."""
    shift, identity = jnp.array([0.3, -1.0, 1.2, 0.0]), jnp.eye(4)
    each = jax.vmap(jax.grad(lambda drift, mine: drift @ mine + log_weight(shift, drift, mine > 0)), in_axes=(None, 0))
    gradients = each(jnp.zeros(4), identity)
    np.testing.assert_allclose(jax.nn.softmax(shift) @ gradients, jnp.zeros(4), atol=1e-6)


@pytest.mark.parametrize("count", [2, 4, 16])
def test_the_gradient_is_that_of_what_the_procedure_draws(count: int) -> None:
    """The gradient of the share of action 0 by the logits of pi, for any number of candidates, in a small world."""
    actions, chosen = drawn(count, 100_000, seed=2)
    scores = np.eye(4)[actions] - PI  # grad log pi of every candidate
    is_first = np.take_along_axis(actions, chosen[:, None], 1) == 0
    exact = (is_first * scores.sum(axis=1)).mean(axis=0)

    def score(actions: jax.Array, chosen: jax.Array) -> jax.Array:
        mine = jnp.arange(count) == chosen
        return jax.grad(lambda drift: (drift * mine).sum() + log_weight(jnp.asarray(SHIFT)[actions], drift, mine))(
            jnp.zeros(count)
        )

    weights = jax.jit(jax.vmap(score))(jnp.asarray(actions), jnp.asarray(chosen))
    found = (is_first * (np.asarray(weights)[..., None] * scores).sum(axis=1)).mean(axis=0)
    np.testing.assert_allclose(found, exact, atol=0.012)


def test_a_shift_beyond_what_float32_can_tell_has_a_finite_weight_and_gradient() -> None:
    shift, mine = jnp.array([0.0, 1000.0]), jnp.array([False, True])
    value, gradient = jax.value_and_grad(lambda drift: log_weight(shift, drift, mine))(jnp.zeros(2))
    assert float(value) == pytest.approx(math.log(2), rel=1e-3)
    np.testing.assert_allclose(gradient, [0, 0], atol=1e-6)


def test_a_single_candidate_is_drawn_from_the_policy_itself() -> None:
    gradient = jax.grad(lambda drift: log_weight(jnp.ones(1), drift, jnp.array([True])))(jnp.zeros(1))
    assert (float(log_weight(jnp.ones(1), jnp.zeros(1), jnp.array([True]))), gradient.tolist()) == (0.0, [0.0])


def test_divergence_and_entropy_are_those_of_the_weights_among_equally_likely_candidates() -> None:
    shift, drift, log_probs = jnp.log(jnp.array([1.0, 3.0])), jnp.zeros(2), jnp.array([-1.0, -2.0])
    kl = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    assert float(divergence(shift, drift)) == pytest.approx(kl)
    # E_pi[log pi] - E_beta[log pi] - KL
    assert float(entropy_difference(shift, drift, log_probs)) == pytest.approx(-1.5 + 1.75 - kl)


def test_without_a_shift_beta_is_the_policy_however_it_has_changed() -> None:
    drift, log_probs = jnp.array([0.3, -1.0, 2.0]), jnp.array([-1.0, -2.0, -3.0])
    assert float(divergence(jnp.zeros(3), drift)) == pytest.approx(0, abs=1e-6)
    assert float(entropy_difference(jnp.zeros(3), drift, log_probs)) == pytest.approx(0, abs=1e-6)


def drawn(count: int, number: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Candidates of the discrete policy, (number, count), and which of them the procedure draws."""
    generator = np.random.default_rng(seed)
    actions = generator.choice(4, (number, count), p=PI)
    return actions, (SHIFT[actions] + generator.gumbel(size=actions.shape)).argmax(axis=1)


@pytest.mark.parametrize(("count", "error"), [(2, 0.25), (8, 0.07), (64, 0.012)])
def test_what_is_drawn_converges_to_eq_5_as_candidates_grow(count: int, error: float) -> None:
    actions, chosen = drawn(count, 200_000)
    shares = np.bincount(np.take_along_axis(actions, chosen[:, None], 1)[:, 0], minlength=4) / 200_000
    distance = np.abs(shares - BETA).sum() / 2
    assert distance < error
    assert distance > error / 2  # that it is smaller is not luck


@pytest.mark.parametrize("count", [2, 16])
def test_the_density_is_that_of_the_procedure_for_any_number_of_candidates(count: int) -> None:
    """``q(a) = pi(a) E[weight]``, where the other candidates are drawn from pi, sums to 1 and has the right shares."""
    actions, chosen = drawn(count, 200_000)
    shares = np.bincount(np.take_along_axis(actions, chosen[:, None], 1)[:, 0], minlength=4) / 200_000
    others = drawn(count, 50_000, seed=1)[0]
    mine = jnp.arange(count) == 0

    def density(action: int) -> float:
        shift = jnp.asarray(SHIFT[others]).at[:, 0].set(SHIFT[action])
        weights = jax.vmap(lambda one: jnp.exp(log_weight(one, jnp.zeros(count), mine)))(shift)
        return float(PI[action] * weights.mean())

    np.testing.assert_allclose([density(action) for action in range(4)], shares, atol=5e-3)


def test_its_gradient_is_the_score_of_eq_5() -> None:
    """With many candidates: ``grad log beta(a) = grad log pi(a) - E_beta[grad log pi]``, by the logits of pi."""
    actions, chosen = drawn(512, 64)

    def log_density(logits: jax.Array, actions: jax.Array, mine: jax.Array) -> jax.Array:
        log_probs = jax.nn.log_softmax(logits)
        drift = log_probs[actions] - jax.lax.stop_gradient(log_probs[actions])
        taken = (log_probs[actions] * mine).sum()
        return taken + log_weight(jnp.asarray(SHIFT)[actions], drift, mine)

    logits = jnp.log(jnp.asarray(PI))
    mine = np.arange(512) == chosen[:, None]
    found = jax.vmap(jax.grad(log_density), in_axes=(None, 0, 0))(logits, jnp.asarray(actions), jnp.asarray(mine))
    expected = np.eye(4)[np.take_along_axis(actions, chosen[:, None], 1)[:, 0]] - BETA
    assert np.abs(np.asarray(found) - expected).mean() < 0.03
