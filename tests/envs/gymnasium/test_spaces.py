"""Frames of observations, by hand."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from action_balance.envs.gymnasium.spaces import BadObservation, Layout
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


def test_parts_of_a_dictionary_stand_one_after_the_other() -> None:
    space = spaces.Dict(
        {
            "image": spaces.Box(0, 255, (2, 1, 1), np.uint8),
            "direction": spaces.Discrete(4, start=-1),
            "more": spaces.Tuple((spaces.MultiBinary(2), spaces.MultiDiscrete([2, 3], start=[5, 0]))),
            "mission": spaces.Text(9),
        }
    )
    layout = Layout.of(space)
    assert not layout.plain
    assert layout.describe() == (
        "vectors of 13 numbers: direction 0-3, image 4-5, more.0 6-7, more.1 8-12; left out: mission (text)"
    )
    pair = (np.array([0, 1], np.int8), np.array([6, 0]))
    seen = {"image": np.array([[[9]], [[7]]], np.uint8), "direction": 1, "more": pair, "mission": "go"}
    assert layout.frame(seen).tolist() == [0, 0, 1, 0, 9, 7, 0, 1, 0, 1, 1, 0, 0]


def test_images_of_other_numbers_are_scaled_to_their_bounds() -> None:
    layout = Layout.of(spaces.Box(-1, 1, (44, 44), np.float32))
    image = np.full((1, 44, 44), -1, np.float32)
    image[0, 0, :3] = 0, 0.5, 1
    assert layout.encoding.encode([image])[0, 0, :4].tolist() == [128, 191, 255, 0]
    few = Layout.of(spaces.Box(0, 10, (44, 44), np.uint8))
    assert few.encoding.encode([np.full((1, 44, 44), 4, np.uint8)])[0, 0, 0] == 102
    with pytest.raises(UserError, match=r"need bounds.*--layout vector"):
        Layout.of(spaces.Box(-np.inf, np.inf, (44, 44), np.float32))


def test_the_specification_has_the_stack_and_the_parts() -> None:
    vector = Layout.of(spaces.Dict(a=spaces.Box(0, 1, (2,)), b=spaces.Discrete(3)))
    parts = (("a", 2), ("b", 3))
    assert vector.spec(4, (2, 3)) == EnvSpec("vector-stack", (4, 5), (2, 3), parts=parts, normalize_obs=True)
    image = Layout.of(spaces.Box(0, 255, (3, 50, 60), np.uint8))
    assert image.spec(1, (6,)) == EnvSpec("image-stack", (1, 50, 60, 3), (6,), dtype="uint8")


@pytest.mark.parametrize(
    ("space", "seen", "message"),
    [
        (spaces.Box(0, 1, (2,)), np.array([0, 1.5]), r"it has 1.5 at index \(1,\), but the space is from 0 to 1"),
        (spaces.Box(0, 1, (2,)), np.array([0, np.nan]), "has NaN: fix"),
        (spaces.Box(0, 1, (2,)), np.zeros(3), r"has shape \(3,\), but the space has \(2,\)"),
        (spaces.Box(0, 255, (2,), np.uint8), np.zeros(2), "is float64, but the space is uint8"),
        (spaces.Discrete(3, start=1), 4, "is 4, but the space has the integers from 1 to 3"),
        (spaces.Dict(a=spaces.Discrete(3)), {"b": 1}, "it has no 'a'"),
        (spaces.Box(0, 1, (2,)), "text", "not a number type"),
    ],
)
def test_an_observation_outside_its_space_is_refused(space: Any, seen: Any, message: str) -> None:
    with pytest.raises(BadObservation, match=message):
        Layout.of(space).check(seen)
    Layout.of(spaces.Box(0, 1, (2,), np.float32)).check(np.array([0.0, 1.0], np.float64))
