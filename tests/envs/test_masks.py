"""Action masks as vectors over the choices of all components, and random actions that they allow."""

from typing import Any

import numpy as np
import pytest

from action_balance.envs.masks import BadMask, allowed, mask_rows, mask_vector, sample_allowed


@pytest.mark.parametrize(
    "given",
    [
        np.array([1, 0, 0, 1, 1], np.int8),
        [True, False, False, True, True],
        (np.array([1, 0], np.int8), np.array([0, 1, 1], np.int8)),
        ([1, 0], [0, 1, 1]),
        np.array([1.0, 0.0, 0.0, 1.0, 1.0]),
    ],
)
def test_masks_of_gymnasium_and_of_stable_baselines_become_one_vector(given: Any) -> None:
    assert mask_vector(given, (2, 3)).tolist() == [1, 0, 0, 1, 1]


@pytest.mark.parametrize("given", [np.ones(3), None, "yes!", (), [[1, 1], [1]]])
def test_a_mask_of_another_size_is_refused(given: Any) -> None:
    with pytest.raises(BadMask, match=r"[013] entries, but there are 4 actions"):
        mask_vector(given, (4,))


@pytest.mark.parametrize("entry", [2, -1, 0.5, np.nan, "1"])
def test_entries_other_than_zero_and_one_are_refused(entry: Any) -> None:
    with pytest.raises(BadMask, match="entries other than 0 and 1"):
        allowed(np.array([[1, entry]]), (2,))


def test_every_component_needs_an_allowed_choice() -> None:
    assert allowed(np.array([[0, 1, 1, 0]]), (2, 2)).tolist() == [[False, True, True, False]]
    with pytest.raises(BadMask, match="no choice for action component 1"):
        allowed(np.array([[True, True, True, False], [False, True, False, False]]), (2, 2))
    with pytest.raises(BadMask, match="no action"):
        allowed(np.array([[True, False], [False, False]]), (2,))


def test_masks_of_a_group_come_as_one_array_as_components_or_one_by_one() -> None:
    rows = [[1, 0, 0, 1, 1], [0, 1, 1, 0, 0]]
    first, second = np.array([[1, 0], [0, 1]]), np.array([[0, 1, 1], [1, 0, 0]])
    single = np.empty(2, object)
    single[:] = [(first[0], second[0]), (first[1], second[1])]
    for given in (np.array(rows), (first, second), single, [np.array(row) for row in rows]):
        assert mask_rows(given, 2, (2, 3)).tolist() == rows
    with pytest.raises(BadMask, match="2 action masks for 3 environments"):
        mask_rows(np.array(rows), 3, (2, 3))
    with pytest.raises(BadMask, match="5 entries, but there are action components of 2, 2 choices"):
        mask_rows(np.array(rows), 2, (2, 2))


def test_random_actions_are_uniform_over_what_is_allowed() -> None:
    generator = np.random.default_rng(0)
    mask = np.tile([True, False, True, False, True, True], (3000, 1))
    single = sample_allowed(generator, mask, (6,))
    assert single.shape == (3000,)
    counts = np.bincount(single, minlength=6)
    assert counts[[1, 3]].sum() == 0
    # 750 each, with a deviation of 24.
    assert (np.abs(counts[[0, 2, 4, 5]] - 750) < 100).all()
    both = sample_allowed(generator, mask, (2, 4))
    assert both.shape == (3000, 2)
    assert set(both[:, 0]) == {0}
    assert (np.abs(np.bincount(both[:, 1], minlength=4) - [1000, 0, 1000, 1000]) < 110).all()
