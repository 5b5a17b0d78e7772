"""Continuous actions, and mixed ones, by hand and by numerical integration."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy import stats

from action_balance.distributions import Balanced, Candidates, GaussianActions
from action_balance.envs.actions import for_agent, for_environment
from action_balance.envs.spec import EnvSpec

#: Two bounded numbers, then a discrete component of two choices with a number that is bounded below.
TWO = GaussianActions(((-1.0, 1.0), (-1.0, 1.0)))
MIXED = GaussianActions(((0.0, math.inf),), nvec=(2,))
SQUASHED = GaussianActions(((-1.0, 1.0), (-math.inf, math.inf)), squashed=True)
#: Means 0.5 and -1, standard deviations 1 and e.
PREFERENCES = jnp.array([0.5, -1.0, 0.0, 1.0])
#: Probabilities 1/4 and 3/4, mean 2, standard deviation 1/2.
OF_MIXED = jnp.array([0.0, math.log(3), 2.0, math.log(0.5)])


def test_sizes_of_continuous_and_mixed_actions() -> None:
    sizes = [(one.action_shape, one.outputs, one.preferences, one.size, one.draws) for one in (TWO, MIXED)]
    assert sizes == [((2,), 2, 4, 2, 2), ((2,), 3, 4, 3, 3)]


def test_log_probabilities_are_summed_over_numbers_and_choices() -> None:
    found = TWO.log_prob(PREFERENCES, jnp.array([1.5, 0.0]))
    assert float(found) == pytest.approx(stats.norm.logpdf(1.5, 0.5, 1) + stats.norm.logpdf(0, -1, math.e), rel=1e-5)
    found = MIXED.log_prob(OF_MIXED, jnp.array([1.0, 3.0]))
    assert float(found) == pytest.approx(math.log(0.75) + stats.norm.logpdf(3, 2, 0.5), rel=1e-5)


def test_entropies_and_divergences_are_summed_over_numbers_and_choices() -> None:
    assert float(TWO.entropy(PREFERENCES)) == pytest.approx(2 * 0.5 * math.log(2 * math.pi * math.e) + 1, rel=1e-5)
    choices = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert float(MIXED.entropy(OF_MIXED)) == pytest.approx(choices + stats.norm.entropy(2, 0.5), rel=1e-5)
    # log 2 + (1/4 + (2 - 1)^2) / 2 - 1/2, and that of the choices from (1/2, 1/2)
    other = jnp.array([0.0, 0.0, 1.0, 0.0])
    assert float(MIXED.kl(OF_MIXED, other)) == pytest.approx(math.log(2) - choices + math.log(2) + 0.125, rel=1e-5)


def test_squashed_numbers_have_the_density_of_what_the_environment_gets() -> None:
    def density(executed: np.ndarray) -> np.ndarray:
        actions = jnp.stack([jnp.arctanh(executed), jnp.zeros(len(executed))], axis=1)
        preferences = jnp.array([0.5, 0.0, math.log(0.7), 0.0])
        log_probs = jax.vmap(lambda one: SQUASHED.log_prob(preferences, one))(actions)
        return np.exp(np.asarray(log_probs, float) - stats.norm.logpdf(0))

    places = np.linspace(-0.9999, 0.9999, 20_001)
    found = density(places)
    width = places[1] - places[0]
    assert float(found.sum() * width) == pytest.approx(1, abs=2e-3)
    # Its entropy by integration, and by the quadrature.
    entropy = -(found * np.log(found)).sum() * width + stats.norm.entropy()
    quadrature = SQUASHED.entropy(jnp.array([0.5, 0.0, math.log(0.7), 0.0]))
    assert float(quadrature) == pytest.approx(float(entropy), abs=5e-3)


def test_the_environment_gets_numbers_within_their_bounds() -> None:
    assert TWO.executed(jnp.array([1.7, -0.3])).tolist() == pytest.approx([1, -0.3])
    assert SQUASHED.executed(jnp.array([1.0, 3.0])).tolist() == pytest.approx([math.tanh(1), 3])
    assert MIXED.executed(jnp.array([1.0, -2.0])).tolist() == [1, 0]
    assert MIXED.vector(jnp.array([1.0, 2.5])).tolist() == [0, 1, 2.5]


def test_deviations_and_the_share_of_clipped_numbers_are_logged() -> None:
    action, preferences = jnp.array([[[1.5, 0.0]], [[-1.0, -7.0]]]), jnp.broadcast_to(PREFERENCES, (2, 1, 4))
    found = TWO.metrics(action, preferences)
    assert {name: float(one) for name, one in found.items()} == pytest.approx(
        {"action_std": (1 + math.e) / 2, "action_clipped": 0.5}
    )


def test_the_mode_has_the_best_choice_and_the_mean() -> None:
    assert MIXED.mode(OF_MIXED).tolist() == [1, 2]


def test_samples_have_the_probabilities_means_and_deviations_of_the_preferences() -> None:
    drawn = np.asarray(jax.vmap(lambda one: MIXED.sample(OF_MIXED, one))(MIXED.noise(jax.random.key(0), (20_000,))))
    np.testing.assert_allclose([drawn[:, 0].mean(), drawn[:, 1].mean(), drawn[:, 1].std()], [0.75, 2, 0.5], atol=0.015)


def test_uniform_actions_fill_their_bounds_evenly() -> None:
    for one in (TWO, SQUASHED):
        drawn = jax.vmap(one.executed)(one.uniform(jax.random.key(1), 20_000))[:, 0]
        shares = np.histogram(drawn, 4, (-1, 1))[0] / 20_000
        np.testing.assert_allclose(shares, 0.25, atol=0.015)


def test_a_mask_forbids_choices_and_leaves_numbers_alone() -> None:
    found = MIXED.masked(OF_MIXED, jnp.array([True, False]))
    assert int(MIXED.mode(found)[0]) == 0
    np.testing.assert_allclose(found[2:], OF_MIXED[2:])


def test_an_inverse_model_regresses_numbers_and_classifies_choices() -> None:
    outputs, action = jnp.array([0.0, math.log(3), 2.5]), jnp.array([1.0, 2.45])
    assert float(MIXED.prediction_loss(outputs, action)) == pytest.approx(-math.log(0.75) + 0.5 * 0.05**2, rel=1e-4)
    assert MIXED.predicts(outputs, action).tolist() == [True, True]
    assert MIXED.predicts(outputs, jnp.array([0.0, 2.2])).tolist() == [False, False]
    # What the environment got counts: a number below its bound was clipped.
    assert float(MIXED.prediction_loss(jnp.array([0.0, 0.0, 0.0]), jnp.array([0.0, -7.0]))) == pytest.approx(
        math.log(2)
    )


#: Candidates of a state, and what the bonus says of them.
PAIRS = GaussianActions(((-1.0, 1.0),), candidates=3)
PI = jnp.array([0.0, 0.0])


def candidates() -> Candidates:
    noise = PAIRS.noise(jax.random.key(3))
    return PAIRS.score(PI, noise, None, lambda: jnp.zeros(0), lambda actions: jnp.abs(actions[:, 0]))


def test_candidates_are_draws_of_the_policy_scored_as_the_environment_gets_them() -> None:
    made = candidates()
    noise = PAIRS.noise(jax.random.key(3))
    np.testing.assert_allclose(made.actions[:, 0], noise[:3])
    np.testing.assert_allclose(made.scores, np.minimum(np.abs(noise[:3]), 1))
    np.testing.assert_allclose(made.log_probs, stats.norm.logpdf(np.asarray(noise[:3])), rtol=1e-5)
    kept = PAIRS.unflat(ravel_pytree(made)[0])
    jax.tree.map(np.testing.assert_array_equal, kept, made)


def test_the_behaviour_policy_draws_one_of_the_candidates_and_knows_its_density() -> None:
    made = candidates()
    beta = PAIRS.shift(PI, made, 2.0, "raw", None)
    assert isinstance(beta, Balanced)
    weights = np.exp(2 * np.asarray(made.scores))
    weights /= weights.sum()
    noise = jax.vmap(PAIRS.noise)(jax.random.split(jax.random.key(5), 5_000))
    drawn = np.asarray(jax.vmap(lambda one: PAIRS.sample(beta, one))(noise))[:, 0]
    shares = [(drawn == float(one)).mean() for one in made.actions[:, 0]]
    np.testing.assert_allclose(shares, weights, atol=0.02)
    found = [float(PAIRS.log_prob(beta, one)) for one in made.actions]
    np.testing.assert_allclose(found, np.asarray(made.log_probs) + np.log(3 * weights), rtol=1e-5)
    assert float(PAIRS.kl(beta, PI)) == pytest.approx(float((weights * np.log(3 * weights)).sum()), rel=1e-4)


def test_a_coefficient_of_zero_leaves_the_policy_as_it_is() -> None:
    beta = PAIRS.shift(PI, candidates(), 0.0, "l2", None)
    action = beta.candidates.actions[1]
    found = [PAIRS.log_prob(beta, action), PAIRS.entropy(beta), PAIRS.kl(beta, PI)]
    expected = [PAIRS.log_prob(PI, action), PAIRS.entropy(PI), 0.0]
    np.testing.assert_allclose(jnp.stack(found), np.array(expected), atol=1e-6)


def test_the_environment_gets_numbers_in_its_units_and_never_beyond_its_bounds() -> None:
    spec = EnvSpec("vector", (1,), (2,), bounds=((-1.4, 2.3), (0.0, None)))
    found = [for_environment(spec, jnp.array([1.0, end, 5.0])) for end in (-1.0, 0.0, 1.0)]
    np.testing.assert_allclose(found, [[1, -1.4, 5], [1, 0.45, 5], [1, 2.3, 5]], rtol=1e-6)
    assert found[0][1] >= np.float32(-1.4)
    assert found[2][1] <= np.float32(2.3)
    back = for_agent(spec, np.array([[1, 2.3, -3.0]]))  # below the bound of the last
    assert back.tolist() == [[1, 1, 0]]
