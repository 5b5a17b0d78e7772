"""Every bonus of the library, and a user's own, in a foreign loop."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from own_bonus import CellCounts
from small_bonus import RANDOM

from action_balance import RND, ActionBalance, IntrinsicBonus
from action_balance.bonuses.hashing import HashedPairs
from action_balance.bonuses.rnd import RND as RNDBonus
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES
from action_balance.errors import UserError
from action_balance.interop.inputs import parts_of

#: Settings that make bonuses small.
SMALL: dict[Any, dict[str, Any]] = {
    "hash": {"table_bits": 8},
    "ucb": {"table_bits": 8},  # of its counter
    "coin-flip": {"coin_memory": 32, "coins": 4},
    "elliptical": {"dimensions": 8},
    "ngu": {"episodic_memory": 8, "neighbours": 2},
}
#: Four states of three numbers with mean 0 and deviation 1 that, with a constant 1, are at right angles.
STATES = np.array([[1, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1]], np.float32)
#: Features that are the observation itself.
PLAIN = {"features": "observation"}
ROLLOUT = RANDOM.normal(size=(5, 2, 3)).astype(np.float32)
#: What else a bonus that rewards transitions needs of a rollout.
BEFORE: dict[str, Any] = {
    "obs": np.roll(ROLLOUT, 1, axis=0),
    "actions": RANDOM.integers(0, 3, (5, 2)),
    "ended": RANDOM.random((5, 2)) < 0.3,
}


def pairs(name: Any = "hash", space: Any = (3,), **settings: Any) -> ActionBalance:
    given = {"settings": SMALL.get(name), "width": 8, "learning_rate": 3e-3, **settings}
    return ActionBalance.create(space, 3, action_bonus=name, **given)


def rewarding(name: Any = "hash", space: Any = (3,), **settings: Any) -> IntrinsicBonus:
    given = {"settings": SMALL.get(name), "width": 8, "learning_rate": 3e-3, "environments": 2, **settings}
    return IntrinsicBonus.create(space, 3, intrinsic=name, **given)


# --- Counts -------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 12])
def test_a_batch_is_cut_into_powers_of_two_and_every_sample_is_in_one_part(size: int) -> None:
    parts = [np.arange(size)[part] for part in parts_of(size)]
    assert np.concatenate(parts).tolist() == list(range(size))
    assert all(len(part).bit_count() == 1 for part in parts)


@pytest.mark.parametrize(("name", "settings"), [("hash", SMALL["hash"]), ("elliptical", PLAIN)])
def test_pairs_are_counted_exactly_whatever_the_size_of_a_batch(name: str, settings: dict[str, Any]) -> None:
    module, visits = pairs(name, settings=settings), np.zeros((4, 3))
    module.observe(STATES)
    for size in (1, 6, 7):
        states, taken, valid = RANDOM.integers(0, 4, size), RANDOM.integers(0, 3, size), np.arange(size) != 2
        assert module.learn(STATES[states], taken, epochs=4, valid=valid) == 0
        np.add.at(visits, (states[valid], taken[valid]), 1)
    np.testing.assert_allclose(module.bonus(STATES), 1 / np.sqrt(1 + visits), rtol=1e-4)
    assert not module.has_loss


@pytest.mark.parametrize(("name", "settings"), [("hash", SMALL["hash"]), ("elliptical", PLAIN)])
def test_states_are_counted_exactly_and_only_when_they_are_learned(name: str, settings: dict[str, Any]) -> None:
    module, visits = rewarding(name, settings=settings, gamma=0.0), np.zeros(4)
    module.observe(STATES)
    for steps in (1, 3):
        states, valid = RANDOM.integers(0, 4, (steps, 2)), RANDOM.random((steps, 2)) < 0.8
        for _ in range(2):
            module.reward(STATES[states], valid)
        module.learn(STATES[states], valid=valid)
        np.add.at(visits, states[valid], 1)
    np.testing.assert_allclose(module.bonus(STATES), 1 / np.sqrt(1 + visits), rtol=1e-4)


def test_discrete_observations_have_exact_counts() -> None:
    module = pairs("count", spaces.Discrete(4, start=1))
    module.learn(np.array([1, 4, 4]), np.array([0, 2, 2]))
    np.testing.assert_allclose(module.bonus(4), [1, 1, 3**-0.5], rtol=1e-6)


# --- Statistics that bonuses keep ---------------------------------------------


def kept(module: ActionBalance) -> Any:
    """The mean that observations are hashed with."""
    return module._current().state.projections.stats.mean


def test_observations_of_a_warm_up_make_the_bonus_and_later_ones_do_not() -> None:
    module = pairs()
    for part in (ROLLOUT[:2], ROLLOUT[2:]):
        module.observe(part)
        module.shift(ROLLOUT)
    np.testing.assert_allclose(kept(module), ROLLOUT.mean(axis=(0, 1)), rtol=1e-5)
    module.learn(3 + ROLLOUT, BEFORE["actions"])
    module.observe(3 + ROLLOUT)
    np.testing.assert_allclose(kept(module), ROLLOUT.mean(axis=(0, 1)), rtol=1e-5)
    assert float(module._learner.obs_stats.count) == 30


def test_without_a_warm_up_the_first_batch_makes_the_bonus() -> None:
    module = pairs()
    module.learn(3 + ROLLOUT, BEFORE["actions"])
    np.testing.assert_allclose(kept(module), 3 + ROLLOUT.mean(axis=(0, 1)), rtol=1e-5)
    assert float(module._learner.obs_stats.count) == 10
    assert module._learner.state.counts.sum() == 10


# --- Every bonus --------------------------------------------------------------


@pytest.mark.parametrize("name", ACTION_BONUSES)
def test_every_action_bonus_acts_learns_and_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    space, obs = ((3,), ROLLOUT) if name != "count" else (spaces.Discrete(9), RANDOM.integers(0, 9, (5, 2)))
    module = pairs(name, space, seed=1)
    module.observe(obs)
    first = module.shift(obs)
    module.learn(obs, BEFORE["actions"], 2, 2)
    assert (module.shift(obs) != first).any()
    module.save(tmp_path / "bonus")
    again = ActionBalance.load(tmp_path / "bonus")
    for one in (module, again):
        one.learn(obs[:3], BEFORE["actions"][:3])
    np.testing.assert_array_equal(again.shift(obs), module.shift(obs))
    assert again.learn(obs, BEFORE["actions"]) == module.learn(obs, BEFORE["actions"])


@pytest.mark.parametrize("name", INTRINSIC_BONUSES)
def test_every_next_state_bonus_rewards_learns_and_goes_on_bit_for_bit(name: str, tmp_path: Path) -> None:
    space, obs = ((3,), ROLLOUT) if name != "count" else (spaces.Discrete(9), RANDOM.integers(0, 9, (5, 2)))
    before = BEFORE if name != "count" else {}
    module = rewarding(name, space, seed=1)
    module.observe(obs)
    assert (module.reward(obs, **before) > 0).any()
    module.learn(obs, 2, 2, **before)
    module.save(tmp_path / "bonus")
    again = IntrinsicBonus.load(tmp_path / "bonus")
    for one in (module, again):
        one.learn(obs, **before)
    np.testing.assert_array_equal(again.reward(obs, **before), module.reward(obs, **before))
    assert again.learn(obs, **before) == module.learn(obs, **before)


def test_rnd_is_the_intrinsic_bonus_without_a_name() -> None:
    assert isinstance(RND.create((3,)), IntrinsicBonus)
    np.testing.assert_array_equal(RND.create((3,)).bonus(STATES), rewarding("rnd", width=None).bonus(STATES))


def test_an_action_bonus_has_its_own_normalisation_and_settings() -> None:
    assert pairs("ucb")._settings.normalize == "raw"
    assert pairs("hash")._settings.normalize == "l2"
    assert pairs("ucb", settings={"counter": "hash", "table_bits": 4})._learner.state.counts.shape == (16, 3)


# --- Episodes -----------------------------------------------------------------


def test_an_episode_continues_from_rollout_to_rollout() -> None:
    # Both halves have the same observations, so that their statistics stay the same.
    halves = np.stack([np.repeat(STATES, 2, axis=0), np.roll(np.repeat(STATES[::-1], 2, axis=0), 3, axis=0)])
    reached = halves.reshape(8, 2, 3)
    ended = np.arange(16).reshape(8, 2) == 2
    whole: dict[str, Any] = {"obs": np.roll(reached, 1, axis=0), "actions": np.tile([0, 1], (8, 1)), "ended": ended}
    together, apart, cleared = (rewarding("e3b", learning_rate=0.0) for _ in range(3))
    for module in (together, apart, cleared):
        module.observe(STATES)
    expected = together.reward(reached, **whole)
    for module in (apart, cleared):
        first = {key: value[:4] for key, value in whole.items()}
        module.reward(reached[:4], **first)
        module.learn(reached[:4], **first)
    cleared.new_episodes()
    second = {key: value[4:] for key, value in whole.items()}
    np.testing.assert_allclose(apart.reward(reached[4:], **second), expected[4:], rtol=1e-3)
    assert (np.abs(cleared.reward(reached[4:], **second)[0] - expected[4]) > 0.01).all()


# --- A bonus of a user --------------------------------------------------------


@pytest.mark.parametrize("given", [CellCounts, "own_bonus:CellCounts"])
def test_a_users_own_bonus_works_in_both_uses_and_is_stored_by_its_name(given: Any, tmp_path: Path) -> None:
    balance = pairs(given, (2,), settings={"cells": 4})
    intrinsic = rewarding(given, (2,), settings={"cells": 4}, gamma=0.0)
    spots = np.array([[1.0, 1.0], [-1.0, -1.0]], np.float32)
    for module in (balance, intrinsic):
        module.observe(spots)
    balance.learn(spots, [0, 1])
    expected = [[0.5**0.5, 1, 1], [1, 0.5**0.5, 1]]
    np.testing.assert_allclose(balance.bonus(spots), expected)
    steps: dict[str, Any] = {"obs": spots, "actions": np.array([0, 1]), "ended": np.zeros(2, bool)}
    intrinsic.learn(spots, **steps)
    intrinsic.reward(spots, **steps)
    balance.save(tmp_path / "balance")
    intrinsic.save(tmp_path / "intrinsic")
    again = ActionBalance.load(tmp_path / "balance", action_bonus=given)
    np.testing.assert_allclose(again.bonus(spots), expected)
    assert IntrinsicBonus.load(tmp_path / "intrinsic", given).reward(spots, **steps).shape == (2,)
    assert balance.state_dict(tensors=False)["settings"]["bonus"] == "own_bonus:CellCounts"


def test_nothing_that_a_file_names_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs(CellCounts, (2,)).save(tmp_path / "file")
    monkeypatch.delitem(sys.modules, "own_bonus")
    with pytest.raises(UserError, match="contains the bonus own_bonus:CellCounts, which is not built in: pass its"):
        ActionBalance.load(tmp_path / "file")
    assert "own_bonus" not in sys.modules


def test_a_built_in_class_is_stored_as_its_name(tmp_path: Path) -> None:
    pairs(HashedPairs, settings=SMALL["hash"]).save(tmp_path / "file")
    assert ActionBalance.load(tmp_path / "file")._settings.bonus == "hash"


# --- What can be wrong --------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pairs("has"), "^unknown action_bonus 'has': did you mean hash?"),
        (lambda: rewarding("ucb"), "^unknown intrinsic 'ucb'"),
        (lambda: pairs("hash", settings={"bits": 3}), "^unknown setting of hash 'bits': did you mean hash_bits"),
        (lambda: rewarding("rnd", settings={"bits": 3}), "^rnd has no settings: leave out 'bits'$"),
        (lambda: pairs("hash", settings={"table_bits": 99}), "^'table_bits' must be at most 28, not 99"),
        (lambda: pairs("ucb", settings={"table_bits": 99}), "'table_bits' must be at most 28, not 99"),
        (lambda: rewarding("elliptical", (20_000,), settings=PLAIN), "1.6 GB .*: use 'features' network$"),
        (lambda: pairs(RNDBonus), "has no method scores, so it cannot be used with 'action_bonus'$"),
        (lambda: pairs(dict), "^action_bonus must be the name of a bonus or a subclass of Bonus, not <class 'dict'>$"),
        (lambda: pairs("count"), "the states of this environment cannot be enumerated"),
        (lambda: IntrinsicBonus.create((3,), intrinsic="e3b"), "^e3b rewards transitions.*pass action_space$"),
        (
            lambda: rewarding("icm").reward(ROLLOUT, obs=ROLLOUT),
            "^icm rewards transitions: pass actions, ended as well",
        ),
        (lambda: rewarding("icm").reward(ROLLOUT, **{**BEFORE, "obs": ROLLOUT[0]}), "obs has the leading axes"),
        (lambda: rewarding("icm").learn(ROLLOUT[:, :1], **only(BEFORE, 1)), "pass .2,. for one step or .T, 2. for a"),
        (
            lambda: rewarding("e3b").learn(ROLLOUT, valid=ROLLOUT[..., 0] > 0, **BEFORE),
            "e3b follows episodes.*SAME_STEP",
        ),
        (
            lambda: rewarding("e3b").bonus(ROLLOUT),
            "^e3b rewards transitions, and a state alone has no bonus: use reward",
        ),
    ],
)
def test_a_mistake_is_one_line(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


def only(steps: dict[str, Any], environments: int) -> dict[str, Any]:
    return {name: part[:, :environments] for name, part in steps.items()}
