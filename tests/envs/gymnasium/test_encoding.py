"""Frames of images and vectors together, byte by byte."""

import numpy as np
import pytest
from gymnasium import spaces

from action_balance.envs.gymnasium.encoding import Encoding
from action_balance.envs.gymnasium.layouts import LayoutSettings
from action_balance.envs.gymnasium.leaves import find_leaves
from action_balance.envs.gymnasium.spaces import Layout
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

SEEN = spaces.Dict(
    {
        "a_speed": spaces.Box(-9, 9, (2,), np.float64),
        "depth": spaces.Box(0.0, 1.0, (44, 44), np.float32),
        "gate": spaces.Discrete(2),
        "left": spaces.Box(0, 255, (44, 44, 3), np.uint8),
        "map": spaces.Box(0, 255, (50, 44), np.uint8),
    }
)


def test_images_come_first_and_those_of_equal_size_are_channels_of_one() -> None:
    layout = Layout.of(SEEN)
    assert layout.encoding.images == ((44, 44, 4), (50, 44, 1))
    pixels = 44 * 44 * 4 + 50 * 44
    assert (layout.encoding.shape, layout.encoding.dtype) == ((pixels + 4 * 4,), "uint8")
    assert layout.describe() == (
        "images of 44 x 44 pixels with 4 channels (depth, left) and images of 50 x 44 pixels (map) and "
        "vectors of 4 numbers: a_speed 0-1, gate 2-3"
    )
    observation = {
        "a_speed": np.array([1.5, -2.0]),
        "depth": np.full((44, 44), 0.2, np.float32),
        "gate": 1,
        "left": np.full((44, 44, 3), [1, 2, 3], np.uint8),
        "map": np.full((50, 44), 9, np.uint8),
    }
    frame = layout.frame(observation)
    assert frame[:8].tolist() == [51, 1, 2, 3, 51, 1, 2, 3]
    assert frame[44 * 44 * 4 : pixels].tolist() == [9] * (50 * 44)
    assert frame[pixels:].view(np.float32).tolist() == [1.5, -2, 0, 1]
    np.testing.assert_array_equal(layout.encoding.numbers(frame[None]), [[1.5, -2, 0, 1]])
    low, high = layout.limits()
    assert (low.tolist(), high.tolist()) == ([-9, -9, -1, -1], [9, 9, 1, 1])


def test_the_specification_says_where_everything_is() -> None:
    spec = Layout.of(SEEN).spec(2, (3,))
    places = (("depth", 1936), ("left", 5808), ("map", 2200), ("a_speed", 2), ("gate", 2))
    assert spec == EnvSpec("mixed-stack", (2, 9960), (3,), "uint8", 0, places, True, images=((44, 44, 4), (50, 44, 1)))
    assert (spec.pixels, spec.vector, spec.stats_shape, spec.frame_shape) == (9944, 4, (9948,), (9960,))


def test_discrete_observations_are_known_to_be_discrete() -> None:
    leaves, _ = find_leaves(spaces.Tuple((spaces.Discrete(3), spaces.MultiDiscrete([2, 5]))))
    encoding = Encoding(tuple(leaves))
    assert encoding.spec((2,)).discrete == (3, 2, 5)
    assert encoding.spec((2,)).countable == 30
    assert encoding.spec((2,), exact=False).discrete == ()
    assert Layout.of(spaces.Discrete(10**6)).spec(1, (2,)).discrete == ()


def test_a_stack_of_the_environment_is_one_of_the_agent() -> None:
    stacked = Layout.of(spaces.Box(0, 255, (4, 84, 84), np.uint8), LayoutSettings("stack"))
    assert stacked.spec(1, (6,)) == EnvSpec("image-stack", (4, 84, 84), (6,), dtype="uint8")
    frames = stacked.encoding.encode(
        [np.arange(4, dtype=np.uint8)[None, :, None, None] * np.ones((1, 1, 84, 84), np.uint8)]
    )
    assert (frames.shape, np.unique(frames).tolist()) == ((1, 84, 84), [3])
    with pytest.raises(UserError, match="leave out --stack"):
        stacked.spec(2, (6,))
