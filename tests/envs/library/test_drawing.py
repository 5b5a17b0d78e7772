"""Pictures of observations that were chosen by hand."""

import numpy as np

from action_balance.envs.library.drawing import BAR, CHANNELS, GROUND, HALF, LABEL, MAX_BARS, SQUARE, draw_observation
from action_balance.envs.picture import AGENT, FREE, TRAIL
from action_balance.envs.spec import EnvSpec

NOTHING = np.zeros(0)


def test_numbers_of_a_vector_are_bars_from_the_middle() -> None:
    spec = EnvSpec("vector", (2,), (2,))
    picture = draw_observation(np.array([1.0, -2.0], np.float32), spec, np.array([2.0, 2.0]))
    zero, first, second = LABEL + HALF, BAR // 2 + 5, BAR // 2 + BAR + 5
    half = HALF // 2
    assert tuple(picture[first, zero + half - 3]) == TRAIL
    assert tuple(picture[first, zero + half + 3]) == tuple(picture[first, zero - 3]) == FREE
    assert tuple(picture[second, LABEL + 3]) == AGENT
    assert tuple(picture[second, zero + 3]) == FREE


def test_of_many_numbers_each_is_a_square() -> None:
    count = MAX_BARS + 1  # five rows of five
    values = np.zeros(count, np.float32)
    values[6] = 3.0
    picture = draw_observation(values, EnvSpec("vector", (count,), (2,)), np.full(count, 3.0))
    assert picture.shape == (5 * SQUARE, 5 * SQUARE, 3)
    assert tuple(picture[SQUARE + 2, SQUARE + 2]) == TRAIL
    assert tuple(picture[2, 2]) == FREE


def test_channels_have_colours_and_pictures_stay_as_they_are() -> None:
    planes = np.zeros((2, 3, 2), bool)
    planes[0, 1] = True
    planes[1, 2, 1] = True
    picture = draw_observation(planes, EnvSpec("image", (2, 3, 2), (2,), "bool"), NOTHING)
    assert [tuple(picture[place]) for place in ((0, 0), (0, 1), (1, 2))] == [GROUND, CHANNELS[0], CHANNELS[1]]
    pixels = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert (draw_observation(pixels, EnvSpec("image", (2, 2, 3), (2,), "uint8"), NOTHING) == pixels).all()
