"""What the policy and the bonuses see of an observation, and how logits are balanced."""

import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.algorithms.base import make_algorithm
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.core.balance import FORBIDDEN
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec

STACK = jnp.array([[3.0, 0.5, 100.0], [1.0, -9.0, 101.0]])
STATS = RunningMeanStd(
    jnp.float32(4.0), jnp.array([1.0, 0.0, 100.0]), jnp.array([16.0, 4.0, 4.0])
)  # deviations 2, 1, 1
ALGORITHM = make_algorithm(AgentConfig(), EnvSpec("vector-stack", (2, 3), (2, 3), normalize_obs=True))


def test_the_policy_sees_vectors_of_unknown_scale_normalised() -> None:
    seen = ALGORITHM.policy_obs(STACK, STATS)
    np.testing.assert_allclose(seen, [[1.0, 0.5, 0.0], [0.0, -5.0, 1.0]], atol=1e-6)
    with pytest.raises(ValueError, match="statistics"):
        ALGORITHM.policy_obs(STACK, None)


def test_the_policy_sees_other_observations_as_they_are_and_an_image_as_a_stack() -> None:
    plain = make_algorithm(AgentConfig(), EnvSpec("vector-stack", (2, 3), (2,)))
    np.testing.assert_array_equal(plain.policy_obs(STACK, None), STACK)
    image = make_algorithm(AgentConfig(), EnvSpec("image", (2, 3), (2,)))
    assert image.policy_obs(STACK, None).shape == (1, 2, 3)
    normalised = make_algorithm(AgentConfig(), EnvSpec("image", (2, 3), (2,), normalize_obs=True))
    np.testing.assert_allclose(normalised.policy_obs(STACK, STATS), [[[1.0, 0.5, 0.0], [0.0, -5.0, 1.0]]], atol=1e-6)


def test_a_bonus_sees_the_newest_frame_of_a_stack() -> None:
    obs = ALGORITHM.bonus_obs(STACK, jnp.asarray(0), STATS)
    np.testing.assert_array_equal(obs.frame, STACK[1])


def test_logits_are_balanced_in_each_component() -> None:
    """Bonuses (3, 4) and (0, 0, 2) have lengths 5 and 2."""
    logits, scores = jnp.array([0.0, 1.0, 2.0, 3.0, 4.0]), jnp.array([3.0, 4.0, 0.0, 0.0, 2.0])
    found = ALGORITHM.behaviour_logits(logits, scores, jnp.asarray(10.0))
    np.testing.assert_allclose(found, [6, 9, 2, 3, 14], rtol=1e-6)
    mixed = make_algorithm(AgentConfig(exploration=ExplorationConfig(epsilon=1.0)), ALGORITHM.spec)
    uniform = np.log([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(mixed.behaviour_logits(logits, scores, jnp.asarray(10.0)), uniform, rtol=1e-6)
    plain = make_algorithm(AgentConfig(method="rnd"), ALGORITHM.spec)
    np.testing.assert_array_equal(plain.behaviour_logits(logits, scores, jnp.asarray(10.0)), logits)


def test_logits_are_balanced_and_mixed_over_the_allowed_choices_of_each_component() -> None:
    """The allowed bonuses (3) and (6, 8) have lengths 3 and 10."""
    logits, scores = jnp.array([0.0, 1.0, 2.0, 3.0, 4.0]), jnp.array([3.0, 4.0, 6.0, 7.0, 8.0])
    mask = jnp.array([True, False, True, False, True])
    found = ALGORITHM.behaviour_logits(logits, scores, jnp.asarray(10.0), mask)
    np.testing.assert_allclose(found, [10, FORBIDDEN, 8, FORBIDDEN, 12], rtol=1e-6)
    mixed = make_algorithm(AgentConfig(exploration=ExplorationConfig(epsilon=1.0)), ALGORITHM.spec)
    uniform = mixed.behaviour_logits(logits, scores, jnp.asarray(10.0), mask)
    np.testing.assert_allclose(jnp.exp(uniform), [1, 0, 0.5, 0, 0.5], rtol=1e-6)
    plain = make_algorithm(AgentConfig(method="rnd"), ALGORITHM.spec)
    np.testing.assert_array_equal(
        plain.behaviour_logits(logits, scores, jnp.asarray(10.0), mask), [0, FORBIDDEN, 2, FORBIDDEN, 4]
    )
