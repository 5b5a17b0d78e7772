"""The parts of observation spaces, and their numbers, by hand."""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from action_balance.envs.gymnasium.layouts import LayoutSettings
from action_balance.envs.gymnasium.leaves import CODE, Leaf, array_leaf, find_leaves
from action_balance.errors import UserError


def only(space: Any, view: LayoutSettings | None = None) -> Leaf:
    (leaf,), _ = find_leaves(space, view or LayoutSettings())
    return leaf


@pytest.mark.parametrize(
    ("shape", "layout", "seen"),
    [
        ((84, 84, 3), "auto", (84, 84, 3)),
        ((4, 84, 84), "auto", (84, 84, 4)),
        ((4, 84, 84), "stack", (84, 84, 1)),
        ((4, 84, 84, 3), "stack", (84, 84, 3)),
        ((7, 7, 3), "hwc", (7, 7, 3)),
        ((3, 7, 7), "chw", (7, 7, 3)),
    ],
)
def test_a_layout_says_which_axes_are_channels(shape: tuple[int, ...], layout: Any, seen: tuple[int, ...]) -> None:
    leaf = only(spaces.Box(0, 255, shape, np.uint8), LayoutSettings(layout))
    assert leaf.image_shape == seen
    assert array_leaf(shape, LayoutSettings(layout)).image_shape == seen


def test_all_colours_count_and_of_a_stack_the_newest_image() -> None:
    images = np.random.default_rng(0).integers(255, size=(2, 3, 84, 84), dtype=np.uint8)
    space = spaces.Box(0, 255, (3, 84, 84), np.uint8)
    np.testing.assert_array_equal(only(space).pixels(images), images.transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(only(space, LayoutSettings("stack")).pixels(images)[..., 0], images[:, 2])


@pytest.mark.parametrize(
    ("shape", "layout", "message"),
    [
        ((64, 64, 64), "auto", "are ambiguous: choose a layout.*hwc.*chw.*stack.*or vector"),
        ((8,), "hwc", r"layout hwc needs an image, \(H, W\) or \(H, W, C\), but there is none in Box"),
        ((84, 84), "stack", r"layout stack needs an image, \(K, H, W\)"),
        ((84, 84), "hwx", "unknown layout 'hwx'"),
    ],
)
def test_what_is_ambiguous_or_does_not_fit_is_refused(shape: tuple[int, ...], layout: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        find_leaves(spaces.Box(0, 255, shape, np.uint8), LayoutSettings(layout))


def test_large_images_become_means_of_blocks() -> None:
    leaf = only(spaces.Box(0, 255, (45, 90), np.uint8), LayoutSettings("hwc", max_side=30))
    assert (leaf.shrink, leaf.image_shape) == (3, (15, 30, 1))
    image = np.zeros((1, 45, 90), np.uint8)
    image[0, :3, :3] = [[0, 10, 20], [30, 40, 50], [60, 70, 86]]  # whose mean is 40 + 2 / 3
    image[0, 44, 89] = 255  # whose mean is 28 + 1 / 3
    found = leaf.pixels(image)[0, :, :, 0]
    assert (found[0, 0], found[14, 29], found.sum(dtype=int)) == (41, 28, 69)
    odd = only(spaces.Box(0, 255, (44, 46), np.uint8), LayoutSettings("hwc", max_side=23))
    assert odd.pixels(np.full((1, 44, 46), 7, np.uint8)).shape == (1, 22, 23, 1)


def test_discrete_numbers_are_one_hot_while_they_are_few() -> None:
    leaf = only(spaces.MultiDiscrete([2, 3], start=[5, 0]))
    assert leaf.numbers(np.array([[6, 0], [5, 2]])).tolist() == [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
    taxi = only(spaces.Discrete(500))
    assert (taxi.size, taxi.is_one_hot) == (500, True)


def test_a_million_values_have_codes_of_fixed_size_that_all_differ() -> None:
    leaf = only(spaces.Discrete(1_000_000, start=-3))
    assert (leaf.size, leaf.is_one_hot) == (CODE, False)
    codes = leaf.numbers(np.arange(-3, 5000))
    assert set(np.unique(codes)) == {-1, 1}
    assert len(np.unique(codes, axis=0)) == 5003
    assert abs(codes.mean()) < 0.01
    # Two codes agree in about half of their numbers.
    assert np.abs(codes[:200] @ codes[:200].T - CODE * np.eye(200)).max() < 0.4 * CODE
    np.testing.assert_array_equal(codes[7], leaf.numbers(np.array([4]))[0])
    assert only(spaces.Discrete(1_000_000), LayoutSettings("flat")).size == 1_000_000


def test_many_components_are_binary_digits() -> None:
    leaf = only(spaces.MultiDiscrete([5000, 3]))
    assert leaf.widths == (13, 2)
    assert leaf.numbers(np.array([[5, 2]])).tolist() == [[1, -1, 1] + [-1] * 10 + [-1, 1]]


def test_text_is_left_out_and_other_spaces_are_refused() -> None:
    leaves, texts = find_leaves(spaces.Dict(a=spaces.Text(3), b=spaces.Tuple((spaces.MultiBinary(2),))))
    assert ([leaf.name for leaf in leaves], texts) == (["b.0"], ["a"])
    assert leaves[0].path == ("b", 0)
    with pytest.raises(UserError, match=r"Sequence.*are not supported: use Box"):
        find_leaves(spaces.Sequence(spaces.Discrete(3)))
