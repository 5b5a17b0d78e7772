"""The probability of random actions: by environment, and over the updates of a run."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from small_agent import SMALL, algorithm

from action_balance.config.exploration import ExplorationConfig
from action_balance.errors import UserError
from action_balance.exploration.schedules import scheduled


def epsilon(updates: int, envs: int = 4, **settings: Any) -> Any:
    # 101 updates of 64 steps, or fewer.
    config = replace(SMALL, method="ppo", envs=envs, steps=101 * 16 * envs, exploration=ExplorationConfig(**settings))
    return algorithm(config).epsilon(jnp.asarray(updates))


def test_it_is_a_constant_unless_it_changes() -> None:
    assert epsilon(50, epsilon=0.3) is None


def test_it_falls_linearly_over_a_share_of_the_updates() -> None:
    settings: dict[str, Any] = {"epsilon": 0.5, "epsilon_end": 0.1, "epsilon_decay": 0.5}
    found = [float(epsilon(updates, **settings)[0]) for updates in (0, 25, 50, 100)]
    np.testing.assert_allclose(found, [0.5, 0.3, 0.1, 0.1], atol=1e-6)
    config = replace(SMALL, method="ppo", steps=101 * 64, exploration=ExplorationConfig(**settings))
    assert scheduled(config, 25) == {"--epsilon-end": pytest.approx(0.3)}


def test_it_is_spread_over_the_environments_from_zero_unless_there_is_only_one() -> None:
    np.testing.assert_allclose(epsilon(0, epsilon=0.6, epsilon_spread=True), [0, 0.2, 0.4, 0.6], atol=1e-6)
    np.testing.assert_allclose(epsilon(0, 2, epsilon=0.6, epsilon_spread=True), [0, 0.6], atol=1e-6)


def test_what_has_no_effect_or_is_in_conflict_is_refused() -> None:
    for method, settings, message in (
        ("ppo", {"epsilon_spread": True}, "--epsilon-spread needs random actions"),
        ("ppo", {"epsilon": 0.1, "epsilon_decay": 0.5}, "--epsilon-decay needs --epsilon-end"),
        ("action-balance-hash", {"epsilon_end": 0.1}, "--action-coef auto and --epsilon both change"),
    ):
        with pytest.raises(UserError, match=message):
            replace(SMALL, method=method, exploration=ExplorationConfig(**settings))
