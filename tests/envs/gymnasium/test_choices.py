"""Choices of the agent become actions of a space, by hand."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from action_balance.envs.gymnasium.choices import ActionPart, Choices
from action_balance.errors import UserError

INF = np.inf
CRANE = spaces.Dict(
    arm=spaces.Tuple(
        (spaces.Box(np.array([-1, 0], np.float32), np.array([1, INF], np.float32)), spaces.Discrete(3, start=1))
    ),
    tools=spaces.MultiDiscrete([2, 3], start=[0, 5]),
    winch=spaces.Box(0, 4, (1,), np.int32),
)


def test_choices_become_actions() -> None:
    plain = Choices.of(spaces.Discrete(3, start=2))
    assert plain.nvec == (3,)
    assert plain(np.array([0, 2], np.int32)).tolist() == [2, 4]
    several = Choices.of(spaces.MultiDiscrete(np.array([[2, 3], [4, 5]]), start=np.array([[0, 1], [0, 0]])))
    assert several.nvec == (2, 3, 4, 5)
    assert several(np.array([[1, 2, 3, 4]], np.int32)).tolist() == [[[1, 3], [3, 4]]]
    assert Choices.of(spaces.MultiBinary(2)).nvec == (2, 2)


@pytest.mark.parametrize(
    ("space", "action"),
    [
        (spaces.MultiDiscrete([5], start=[2]), [6]),
        (spaces.MultiBinary(1), [4]),
        (spaces.Discrete(5), 4),
    ],
)
def test_one_component_is_chosen_by_a_scalar_and_becomes_an_action_of_its_space(space: Any, action: Any) -> None:
    choices = Choices.of(space)
    assert len(choices.nvec) == 1
    made = choices(np.array([0, 4, 0], np.int32))
    assert made.shape == (3, *space.shape)
    assert made[1].tolist() == action


def test_continuous_numbers_keep_their_units_and_get_shape_type_and_bounds_of_their_space() -> None:
    low = np.array([[-2, -INF, 0.1], [-2, 0, -1e16]])
    space = spaces.Box(low, np.array([[2, INF, INF], [2, 1, 1]]), dtype=np.float64)
    choices = Choices.of(space)
    assert choices.nvec == ()
    assert choices.bounds == ((-2, 2), (None, None), (0.1, None), (-2, 2), (0, 1), (None, 1))
    made = choices(np.array([[1.5, 9, 0.1, 2.0000005, -3, -7], [0, 0, 1, 0, 0, 0]], np.float32))
    assert made.tolist() == [[[1.5, 9, float(np.float32(0.1))], [2, 0, -7]], [[0, 0, 1], [0, 0, 0]]]
    assert space.contains(made[0])


@pytest.mark.parametrize(
    ("dtype", "chosen", "expected"),
    [
        (np.uint8, [-0.1, 2.6, 9], [0, 3, 5]),
        (np.int64, [-0.1, 2.6, 9], [0, 3, 5]),
        (np.float16, [0.25, 6, 1], [0.25, 5, 1]),
    ],
)
def test_numbers_of_any_type_are_rounded_where_they_are_integers(dtype: Any, chosen: Any, expected: Any) -> None:
    space = spaces.Box(0, 5, (3,), dtype)
    (made,) = Choices.of(space).each(np.array([chosen], np.float32))
    assert made.tolist() == expected
    assert space.contains(made)


def test_discrete_components_of_all_parts_come_before_continuous_numbers() -> None:
    choices = Choices.of(CRANE)
    assert choices.nvec == (3, 2, 3)
    assert choices.bounds == ((-1, 1), (0, None), (0, 4))
    chosen = np.array([[1, 1, 2, 0.5, 7, 2.6], [2, 0, 0, -1, 0, 0]], np.float32)

    made = choices(chosen)

    assert made["arm"][0].tolist() == [[0.5, 7], [-1, 0]]
    assert made["arm"][1].tolist() == [2, 3]
    assert made["tools"].tolist() == [[1, 7], [0, 5]]
    assert made["winch"].tolist() == [[3], [0]]
    first, second = choices.each(chosen)
    assert CRANE.contains(first)
    assert CRANE.contains(second)
    assert (first["arm"][0].tolist(), first["arm"][1], first["winch"].tolist()) == ([0.5, 7], 2, [3])


def test_a_tuple_of_discrete_spaces_is_chosen_by_integers() -> None:
    choices = Choices.of(spaces.Tuple((spaces.Discrete(2), spaces.MultiBinary(2))))
    first, second = choices(np.array([[1, 0, 1]], np.int32))
    assert (first.tolist(), second.tolist()) == ([1], [[0, 1]])


def test_an_action_is_a_part_for_each_array() -> None:
    arm, grip, _, winch = Choices.of(CRANE).parts
    assert arm == ActionPart(("arm", 0), (2,), "float32", bounds=((-1, 1), (0, None)))
    assert grip == ActionPart(("arm", 1), (), "int64", (1,), (3,))
    assert (winch.name, winch.dtype) == ("winch", "int32")


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Text(3), "only Box, Discrete, MultiDiscrete, MultiBinary, and Dict and Tuple"),
        (spaces.Dict(a=spaces.Sequence(spaces.Discrete(2))), "its actions are Sequence"),
        (spaces.Discrete(1), "only one action"),
        (spaces.Tuple((spaces.Discrete(1), spaces.Discrete(1))), "only one action"),
        (
            spaces.Box(np.array([0, 1], np.float32), np.array([1, 1], np.float32)),
            "number 1 can only be 1: leave it out with a wrapper",
        ),
    ],
)
def test_actions_that_cannot_be_chosen_are_refused(space: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Choices.of(space)
