"""The memory of visits: which visits it keeps, with which probability, and what is drawn from it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.bonuses.memory import Memory

NONE = -np.inf


def memory(keys: list[float], weights: list[float] | None = None, threshold: float = NONE) -> Memory:
    """A memory of the visits 0, 1, ... with these keys."""
    empty = Memory.empty(len(keys), {"name": jnp.int32(0)}, threshold)
    given = jnp.ones(len(keys)) if weights is None else jnp.array(weights)
    return Memory({"name": jnp.arange(len(keys))}, given, jnp.array(keys), empty.threshold, empty.turn)


def merged(before: Memory, keys: list[float]) -> Memory:
    """The memory after visits 10, 11, ... with these keys and the weights 0.1, 0.2, ..."""
    names = 10 + jnp.arange(len(keys))
    return before.merge({"name": names}, 0.1 * (1.0 + jnp.arange(len(keys))), jnp.array(keys))


def test_the_largest_keys_of_all_visits_stay_and_the_others_keep_their_places() -> None:
    after = merged(memory([-5.0, -1.0, -3.0]), [-4.0, -2.0])
    # Of -5, -1, -3, -4 and -2, the three largest are -1, -2 and -3; -2 takes the place of -5.
    assert after.visits["name"].tolist() == [11, 1, 2]
    assert after.keys.tolist() == [-2, -1, -3]
    assert after.weights.tolist() == pytest.approx([0.2, 1, 1])
    assert float(after.threshold) == -4


def test_more_visits_than_places_compete_as_well() -> None:
    after = merged(memory([-5.0, NONE]), [-9.0, -1.0, -7.0, -2.0])
    assert sorted(after.visits["name"].tolist()) == [11, 13]
    assert float(after.threshold) == -5  # of -5, -9 and -7, which are not kept


def test_free_places_are_filled_first_and_all_is_kept_as_long_as_there_is_room() -> None:
    empty = memory([NONE, NONE, NONE])
    after = merged(merged(empty, [-8.0]), [-9.0])
    assert sorted(after.keys.tolist()) == [NONE, -9, -8]
    assert float(empty.filled) == 0
    assert float(after.filled) == 2
    assert float(after.threshold) == NONE
    assert after.kept.tolist() == [1, 1, 1]


def test_a_visit_is_kept_with_the_probability_that_its_key_exceeds_the_threshold() -> None:
    half = memory([-0.1, -0.2], [1.0, 0.5], threshold=-2 * np.log(2))
    # P(log(u) / w > kappa) = 1 - exp(kappa w): 1 - 1/4 and 1 - 1/2
    assert half.kept.tolist() == pytest.approx([0.75, 0.5])
    weights = jnp.full(4000, 0.5)
    many = Memory.empty(4000, {"name": jnp.int32(0)}, -2 * np.log(2))
    after = many.insert(jax.random.key(0), {"name": jnp.arange(4000)}, weights)
    assert float(after.filled) == pytest.approx(2000, abs=100)  # three standard deviations
    assert float((1 / after.kept[jnp.isfinite(after.keys)]).sum()) == pytest.approx(4000, abs=200)


def test_a_lower_weight_gives_the_key_of_the_same_draw_and_forgets_what_it_would_not_have_kept() -> None:
    before = memory([-1.0, -2.0, -3.0], [1.0, 0.5, 0.5], threshold=-4.0)
    after = before.lower(jnp.array([0.5, 0.1]))
    # log(u) is -1 and -1: the keys become -2 and -10, which is below the threshold.
    assert after.keys.tolist() == [-2, NONE, -3]
    assert after.weights.tolist() == pytest.approx([0.5, 0.1, 0.5])
    assert int(after.turn) == 2
    # The next turn begins at the third place and continues with the first; a higher weight changes nothing.
    assert after.oldest(2).tolist() == [2, 0]
    again = after.lower(jnp.array([0.9, 0.25]))
    assert again.keys.tolist() == [NONE, NONE, -3]  # -4 is not above the threshold
    assert again.weights.tolist() == pytest.approx([0.25, 0.1, 0.5])
    # A place that is free again takes no visit whose key is below the threshold.
    assert merged(after, [-5.0]).visits["name"].tolist() == [0, 1, 2]
    assert merged(after, [-3.5]).visits["name"].tolist() == [0, 10, 2]


def test_visits_are_drawn_in_proportion_to_weight_over_probability_of_being_kept() -> None:
    # Shares: 1 / 0.75 = 4/3, 0.5 / 0.5 = 1, and nothing for a free place.
    held = memory([-0.1, NONE, -0.2], [1.0, 1.0, 0.5], threshold=-2 * np.log(2))
    visits, weights, kept = held.draw(jax.random.key(1), 7000)
    counts = np.bincount(np.asarray(visits["name"]), minlength=3)
    assert counts[1] == 0
    assert counts[0] == pytest.approx(4000, abs=130)
    first = int(visits["name"][0])
    assert float(weights[0]) == float(held.weights[first])
    assert float(kept[0]) == float(held.kept[first])
