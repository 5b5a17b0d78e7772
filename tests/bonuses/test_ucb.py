"""UCB1 over counts, by hand."""

import math

import jax
import jax.numpy as jnp
import pytest
from known_features import STATS, transitions

from action_balance.bonuses.base import ACTION, Bonus, BonusObs, make_bonus
from action_balance.bonuses.counts import PairCounts
from action_balance.bonuses.hashing import HashedPairs
from action_balance.bonuses.ucb import UCB
from action_balance.config.agent import AgentConfig
from action_balance.config.frozen import FrozenDict
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

KEY = jax.random.key(0)


def make(spec: EnvSpec, counter: str, **settings: dict[str, int]) -> Bonus:
    agent = AgentConfig(
        method="ppo", action_bonus="ucb", bonus_settings=FrozenDict(ucb={"counter": counter}, **settings)
    )
    bonus = make_bonus("ucb", ACTION, agent, spec)
    assert isinstance(bonus, UCB)
    return bonus


def look(index: int) -> BonusObs:
    return BonusObs(jnp.zeros(2), jnp.int32(index), STATS, 5.0)


def test_the_bound_is_the_root_of_twice_the_logarithm_of_the_visits_over_those_of_the_action() -> None:
    bonus = make(EnvSpec("vector", (2,), (3,), states=2), "count")
    counts = jnp.array([[0, 0, 0], [4, 3, 0]])
    # N(s) = 7, and the added ones: sqrt(2 ln 8 / 5), sqrt(2 ln 8 / 4), sqrt(2 ln 8).
    expected = [math.sqrt(2 * math.log(8) / (1 + n)) for n in (4, 3, 0)]
    assert bonus.scores(None, counts, look(1)).tolist() == pytest.approx(expected)
    assert expected == pytest.approx([0.9120, 1.0197, 2.0393], abs=1e-4)
    assert bonus.scores(None, counts, look(0)).tolist() == [0, 0, 0]


def test_every_action_component_has_visits_of_its_own() -> None:
    bonus = make(EnvSpec("vector", (2,), (2, 3), states=1), "count")
    counts = jnp.array([[4, 3, 2, 0, 1]])  # not from the same visits, so that the sums differ
    expected = [math.sqrt(2 * math.log(8) / (1 + n)) for n in (4, 3)]
    expected += [math.sqrt(2 * math.log(4) / (1 + n)) for n in (2, 0, 1)]
    assert bonus.scores(None, counts, look(0)).tolist() == pytest.approx(expected)


def test_the_counter_has_its_own_settings_and_does_the_rest() -> None:
    bonus = make(EnvSpec("vector", (2,), (3,)), "hash", hash={"table_bits": 4})
    assert isinstance(bonus, UCB)
    assert isinstance(bonus.counter, HashedPairs)
    assert bonus.uses_obs_stats
    params, state = bonus.init(KEY, STATS)
    assert params is None
    assert state.counts.shape == (16, 3)
    batch = transitions(jnp.zeros((3, 1, 2)), action=[[2], [0], [2]])
    reward, state = bonus.reward(None, state, batch)
    assert reward.tolist() == [[1], [1], [1]]
    expected = [math.sqrt(2 * math.log(4) / (1 + n)) for n in (1, 0, 2)]
    assert bonus.scores(None, bonus.acting_state(state), look(0)).tolist() == pytest.approx(expected)
    assert bonus.metrics(None, state) == {"action_hash_states": 1, "action_hash_collisions": 0}


def test_a_counter_that_does_not_fit_the_environment_is_refused_at_once() -> None:
    exact = make(EnvSpec("vector", (2,), (3,), states=2), "count")
    assert isinstance(exact, UCB)
    assert isinstance(exact.counter, PairCounts)
    assert not exact.uses_obs_stats
    with pytest.raises(UserError, match="enumerated"):
        make(EnvSpec("vector", (2,), (3,)), "count")
