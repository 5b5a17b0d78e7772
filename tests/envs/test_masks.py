"""Action masks as vectors over the choices of all components, and random actions that they allow."""

from typing import Any

import numpy as np
import pytest

from action_balance.envs.masks import BadMask, check_allowed, flat_mask, sample_allowed


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
    assert flat_mask(given, (2, 3)).tolist() == [True, False, False, True, True]


def test_a_mask_of_equal_components_may_be_a_matrix() -> None:
    assert flat_mask(np.array([[1, 0], [0, 1]]), (2, 2)).tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones(3), "3 entries, and the action_space has 4 actions"),
        (None, "1 entries"),
        (np.array([1, 0, 2, 1]), "other entries than 0 and 1"),
        (np.array([0.0, 1.0, np.nan, 0.0]), "other entries than 0 and 1"),
        ("yes!", "1 entries"),
    ],
)
def test_what_is_no_mask_is_refused(given: Any, message: str) -> None:
    with pytest.raises(BadMask, match=message):
        flat_mask(given, (4,))


def test_every_component_needs_an_allowed_choice() -> None:
    check_allowed(np.array([[False, True, True, False]]), (2, 2))
    with pytest.raises(BadMask, match="component 1"):
        check_allowed(np.array([[True, True, True, False], [False, True, False, False]]), (2, 2))
    with pytest.raises(BadMask, match="no action"):
        check_allowed(np.array([[True, False], [False, False]]), (2,))


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
