"""The parts of an observation, and how each becomes pixels or numbers; for the trainer and for foreign loops alike.

Spaces are recognised by the names of their classes, so that nothing here imports Gymnasium.
Axes: B observations, H, W pixels, C channels, n numbers or components of a part.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from jaxtyping import Float32, Integer, Shaped, UInt8

from action_balance.envs.gymnasium.layouts import AUTO, LayoutSettings, ObsLayout
from action_balance.errors import UserError, check_name

#: The smallest height and width for the kernels and strides of RND; smaller arrays are vectors unless the layout says
#: that they are images.
LEAST_PIXELS = 44
#: The most values of a discrete observation that is one-hot; one with more values is a code.
MAX_ONE_HOT = 4096
#: Numbers of the code of one large discrete observation; a multiple of 64.
CODE = 256

#: Classes of Gymnasium's spaces.
KINDS = ("Box", "Discrete", "MultiDiscrete", "MultiBinary", "Dict", "Tuple", "Text", "Graph", "Sequence", "OneOf")


def kind_of(space: Any) -> str:
    """Name of the Gymnasium space that an object is an instance of, directly or by inheritance; empty if of none."""
    return next((one.__name__ for one in type(space).__mro__ if one.__name__ in KINDS), "")


def short(thing: Any) -> str:
    """A space, or anything else, on one line, shortened."""
    text = " ".join(str(thing).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass(frozen=True)
class Leaf:
    """One array of an observation. It is plain data, so that it can be saved."""

    name: str  # its keys in a Dict or Tuple, with dots between them; empty where the observation is the array itself
    path: tuple[str | int, ...]  # its keys
    shape: tuple[int, ...]  # of the array, as the environment returns it

    # Of an image: its axes in the order H, W, others; whether only the last along the first axis counts, which is not
    # in this order; the numbers that become 0 and 255, if they are known; the side of the blocks that are averaged.
    order: tuple[int, ...] = ()
    newest: bool = False
    bounds: tuple[float, float] | None = (0.0, 255.0)
    shrink: int = 1

    # Of discrete numbers, for each component: the smallest, how many values there are, and numbers as networks see it,
    # as many as values where it is one-hot.
    starts: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()

    @property
    def is_image(self) -> bool:
        return bool(self.order)

    @property
    def is_one_hot(self) -> bool:
        """Whether it consists of discrete numbers, all of which are one-hot."""
        return bool(self.counts) and self.counts == self.widths

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """H, W and C of an image as networks see it."""
        height, width, *others = (self.shape[axis] for axis in self.order)
        return height // self.shrink, width // self.shrink, math.prod(others)

    @property
    def size(self) -> int:
        if self.is_image:
            return math.prod(self.image_shape)
        return sum(self.widths) if self.counts else math.prod(self.shape)

    def pixels(self, arrays: Shaped[np.ndarray, "B ..."]) -> Shaped[np.ndarray, "B H W C"]:
        """Images with channels last: bytes, or float32 where the bounds of other numbers are not known."""
        arrays = arrays[:, -1] if self.newest else arrays
        axes = (0, *(axis + 1 - self.newest for axis in self.order))
        height, width = (self.shape[axis] for axis in self.order[:2])
        images = np.transpose(arrays, axes).reshape(len(arrays), height, width, -1)
        if self.shrink > 1:
            images = _averaged(images, self.shrink)
        if images.dtype == np.uint8 and self.bounds in (None, (0, 255)):
            return images
        if self.bounds is None:
            return images.astype(np.float32)
        low, high = self.bounds
        scaled = (images.astype(np.float32) - np.float32(low)) * np.float32(255 / max(high - low, 1e-12))
        return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)

    def numbers(self, arrays: Shaped[np.ndarray, "B ..."]) -> Float32[np.ndarray, "B n"]:
        """Numbers as networks see them: discrete ones are one-hot, or codes where there are many values."""
        if not self.counts:
            return np.array(arrays, np.float32).reshape(len(arrays), -1)
        digits = np.asarray(arrays).reshape(len(arrays), -1).astype(np.int64) - np.array(self.starts)
        if not self.is_one_hot:
            code = _signs if len(self.counts) == 1 else _bits
            return np.concatenate([code(digits[:, place], width) for place, width in enumerate(self.widths)], axis=1)
        found = np.zeros((len(arrays), self.size), np.float32)
        begins = np.cumsum((0, *self.widths[:-1]))
        found[np.arange(len(arrays))[:, None], begins + digits] = 1
        return found


def _averaged(images: Shaped[np.ndarray, "B H W C"], side: int) -> Shaped[np.ndarray, "B h w C"]:
    """Means of blocks of pixels; those at the right and at the bottom that fill no block are ignored."""
    height, width = (size // side * side for size in images.shape[1:3])
    total: Any = np.uint32(0) if images.dtype == np.uint8 else np.float32(0)
    for row in range(side):
        for column in range(side):
            total = total + images[:, row:height:side, column:width:side]
    means = total / side**2
    return np.rint(means).astype(np.uint8) if images.dtype == np.uint8 else means.astype(np.float32)


def _signs(numbers: Integer[np.ndarray, " B"], width: int) -> Float32[np.ndarray, "B n"]:
    """A fixed random code of -1 and +1 for every number: bits of a hash (the finaliser of SplitMix64)."""
    words = np.arange(width // 64, dtype=np.uint64)
    mixed = (numbers.astype(np.uint64)[:, None] * np.uint64(width // 64) + words + np.uint64(1)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    bits: UInt8[np.ndarray, "B n"] = np.unpackbits(mixed.astype("<u8").view(np.uint8), axis=1)
    return 2 * bits.astype(np.float32) - 1


def _bits(numbers: Integer[np.ndarray, " B"], width: int) -> Float32[np.ndarray, "B n"]:
    return (2 * (numbers[:, None] >> np.arange(width) & 1) - 1).astype(np.float32)


def find_leaves(space: Any, settings: LayoutSettings = AUTO) -> tuple[list[Leaf], list[str]]:
    layout = settings.layout
    check_name("layout", layout, get_args(ObsLayout))
    leaves, texts = list[Leaf](), list[str]()
    for path, inner in arrays_in(space):
        name, kind = ".".join(str(key) for key in path), kind_of(inner)
        if kind == "Box":
            leaves.append(_box(inner, name, path, settings))
        elif kind == "MultiBinary":
            leaves.append(Leaf(name, path, tuple(inner.shape)))
        elif kind in ("Discrete", "MultiDiscrete"):
            leaves.append(_discrete(inner, kind, name, path, layout))
        elif inner.dtype is not None and np.dtype(inner.dtype).kind == "U":
            texts.append(name or "observation")
        else:
            raise UserError(
                f"observations in {short(inner)} are not supported: use Box, Discrete, MultiDiscrete, MultiBinary, or "
                f"Dict and Tuple of them, e.g. with a wrapper (--wrapper MODULE:NAME)"
            )
    if layout in ("hwc", "chw", "stack") and not any(leaf.is_image for leaf in leaves):
        shapes = {"hwc": "(H, W) or (H, W, C)", "chw": "(H, W) or (C, H, W)", "stack": "(K, H, W) or (K, H, W, C)"}
        raise UserError(f"layout {layout} needs an image, {shapes[layout]}, but there is none in {short(space)}")
    return leaves, texts


def array_leaf(shape: Sequence[int], settings: LayoutSettings = AUTO) -> Leaf:
    """The part of an observation that is one array of any numbers."""
    layout = settings.layout
    check_name("layout", layout, get_args(ObsLayout))
    given = tuple(int(size) for size in shape)
    order, newest = _image_axes(given, layout, "", inside=False)
    if layout in ("hwc", "chw", "stack") and not order:
        raise UserError(f"layout {layout} does not fit observations of shape {given}: use another layout, e.g. vector")
    return Leaf("", (), given, order, newest, None, _block(given, order, settings))


def arrays_in(space: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Spaces that are neither Dict nor Tuple, with their keys."""
    kind = kind_of(space)
    if kind not in ("Dict", "Tuple"):
        yield path, space
        return
    for key, inner in space.spaces.items() if kind == "Dict" else enumerate(space.spaces):
        yield from arrays_in(inner, (*path, key))


def _box(space: Any, name: str, path: tuple[str | int, ...], settings: LayoutSettings) -> Leaf:
    shape = tuple(int(size) for size in space.shape)
    order, newest = _image_axes(shape, settings.layout, name, inside=bool(path))
    if not order:
        return Leaf(name, path, shape)
    low, high = float(np.min(space.low)), float(np.max(space.high))
    if space.dtype != np.uint8 and not (math.isfinite(low) and math.isfinite(high)):
        raise UserError(
            f"images of {space.dtype}{f' ({name})' if name else ''} need bounds: give the observation_space a low and "
            f"a high, or make it uint8; if they are not images, use the layout vector (--layout vector)"
        )
    return Leaf(name, path, shape, order, newest, (low, high), _block(shape, order, settings))


def _block(shape: tuple[int, ...], order: tuple[int, ...], settings: LayoutSettings) -> int:
    """Side of the blocks of pixels that are averaged so that an image is small enough."""
    longest = max((shape[axis] for axis in order[:2]), default=1)
    return -(-longest // settings.max_side) if settings.max_side else 1


def _image_axes(shape: tuple[int, ...], layout: ObsLayout, name: str, inside: bool) -> tuple[tuple[int, ...], bool]:
    """The axes of an image in the order H, W, others, and whether it is a stack of which the newest one counts."""
    axes = len(shape)
    if layout == "vector" or (layout == "flat" and inside) or axes < 2:
        return (), False
    if layout == "hwc":
        return ((0, 1, 2)[:axes], False) if axes <= 3 else ((), False)
    if layout == "chw":
        return ((1, 2, 0) if axes == 3 else (0, 1), False) if axes <= 3 else ((), False)
    if layout == "stack":
        return (tuple(range(1, axes)), True) if axes in (3, 4) else ((), False)
    large = [axis for axis, size in enumerate(shape) if size >= LEAST_PIXELS]
    if axes <= 4 and len(large) == 2 and large[1] == large[0] + 1:
        return (*large, *(axis for axis in range(axes) if axis not in large)), False
    if len(large) >= 2 and layout == "auto":
        raise UserError(
            f"observations{f' ({name})' if name else ''} of shape {shape} are ambiguous: choose a layout (--layout): "
            f"hwc for images with channels last, chw with channels first, stack for stacks of images, or vector"
        )
    return (), False


def _discrete(space: Any, kind: str, name: str, path: tuple[str | int, ...], layout: ObsLayout) -> Leaf:
    nvec = np.asarray(space.n if kind == "Discrete" else space.nvec)
    begins = np.asarray(getattr(space, "start", np.zeros_like(nvec)))
    counts, starts = (tuple(int(number) for number in numbers.ravel()) for numbers in (nvec, begins))
    widths = counts
    if layout != "flat" and sum(counts) > MAX_ONE_HOT:
        widths = (CODE,) if len(counts) == 1 else tuple(max(1, (count - 1).bit_length()) for count in counts)
    return Leaf(name, path, nvec.shape, starts=starts, counts=counts, widths=widths)
