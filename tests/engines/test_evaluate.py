"""Action modes, and decisions whose logits and bonuses are chosen by hand."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.learner import init_agent
from action_balance.algorithms.rollout import make_actor
from action_balance.config.agent import AgentConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.engines import evaluate as module
from action_balance.engines.evaluate import ACTION_MODES, ActionMode, Decision, action_modes, decide
from action_balance.envs.spec import EnvSpec

ALGORITHM = make_algorithm(AgentConfig(), EnvSpec("vector", (1,), (3, 2)))
LOGITS = jnp.array([0.0, 1.0, 0.5, 3.0, 2.0])
BONUS = jnp.array([3.0, 0.0, 4.0, 0.0, 1.0])


@cache
def program(with_bonus: bool) -> Callable[..., Decision]:
    """A decision of an agent with these logits and bonuses, and c = 10."""
    state = jax.eval_shape(lambda: init_agent(ALGORITHM, RunningMeanStd.empty((1,)), jax.random.key(0)))
    shapes = jax.eval_shape(lambda state: make_actor(state, ALGORITHM), state)
    actor = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    actor = replace(actor, coef=jnp.asarray(10.0))
    return jax.jit(lambda key, mode: decide(actor, jnp.zeros(1), 0, key, mode, ALGORITHM, with_bonus)[0])


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "act", lambda *_: (LOGITS, jnp.zeros(2), BONUS, None))


def decided(mode: ActionMode, seed: int = 0, with_bonus: bool = True) -> Decision:
    return program(with_bonus)(jax.random.key(seed), jnp.asarray(ACTION_MODES.index(mode)))


def test_the_action_modes_are_those_that_a_method_has() -> None:
    assert action_modes(AgentConfig()) == ("greedy", "sampled", "behaviour")
    assert action_modes(AgentConfig(method="rnd")) == ("greedy", "sampled")
    assert action_modes(AgentConfig(method="epsilon-greedy")) == ("greedy", "sampled", "behaviour")
    assert action_modes(AgentConfig(method="random")) == ("sampled",)


def test_greedy_takes_the_largest_logit_of_each_component() -> None:
    assert {tuple(decided("greedy", seed).action.tolist()) for seed in range(5)} == {(1, 0)}


def test_behaviour_adds_the_bonus_normalised_in_each_component() -> None:
    """Bonuses (3, 0, 4) and (0, 1) have lengths 5 and 1."""
    expected = LOGITS + 10 * np.array([0.6, 0.0, 0.8, 0.0, 1.0])
    made = decided("behaviour")
    np.testing.assert_allclose(made.beta, expected, rtol=1e-6)
    np.testing.assert_array_equal(made.action_bonus, BONUS)


def test_samples_are_the_largest_sums_of_logit_and_gumbel_noise() -> None:
    for seed in range(5):
        noise = jax.random.gumbel(jax.random.key(seed), (5,))
        for mode, logits in (("sampled", LOGITS), ("behaviour", decided("behaviour").beta)):
            sums = np.asarray(logits + noise)
            expected = [int(sums[:3].argmax()), int(sums[3:].argmax())]
            assert decided("sampled" if mode == "sampled" else "behaviour", seed).action.tolist() == expected


def test_without_a_bonus_beta_is_pi() -> None:
    made = decided("behaviour", with_bonus=False)
    np.testing.assert_array_equal(made.beta, LOGITS)
    np.testing.assert_array_equal(made.action_bonus, np.zeros(5))
