"""What the agent makes of Gymnasium's spaces: a frame of every observation, and choices of every action.

Axes: M environments, D numbers of a vector, H, W pixels, C channels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from action_balance.errors import UserError

#: The smallest height and width that the convolutions see; smaller images are vectors.
LEAST_PIXELS = 44
#: Beyond this, squares of deviations would leave the range of float32.
LARGEST = 1e15
#: The most numbers of a vector: networks of more would not fit.
MOST_NUMBERS = 1_000_000


class BadObservation(Exception):
    """An observation that cannot be used; the message is a part of a line that says what to do."""


def _outside(what: str) -> BadObservation:
    return BadObservation(f"an observation is not in its observation_space: {what}; mend one of them")


@dataclass(frozen=True)
class Layout:
    """How observations become frames: vectors of float32, (D,), or images of uint8, (H, W) or (H, W, C)."""

    space: Space[Any]
    shape: tuple[int, ...]
    """Of a frame."""
    places: tuple[tuple[str, int], ...]
    """Names of the parts of a vector in their order, and how many numbers each has."""
    left_out: tuple[str, ...] = ()
    """Names of what is text."""
    order: tuple[int, ...] | None = None
    """Axes of an image in the order H, W, others; None for vectors."""
    bounds: tuple[float, float] = (0.0, 255.0)
    """The lowest and the highest number of an image, which become 0 and 255."""

    @classmethod
    def of(cls, space: Space[Any]) -> "Layout":
        """The layout of a space; a `UserError` for one that has none."""
        if isinstance(space, spaces.Box) and (order := _image_axes(space.shape)) is not None:
            sizes = [space.shape[axis] for axis in order]
            channels = int(np.prod(sizes[2:], dtype=int))
            shape = (sizes[0], sizes[1], channels) if channels > 1 else (sizes[0], sizes[1])
            if space.dtype != np.uint8 and not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
                raise UserError(
                    f"an image of {space.dtype} without bounds cannot be seen: give its observation_space a low and a "
                    f"high, or make it uint8; if it is no image, use --wrapper gymnasium.wrappers:FlattenObservation"
                )
            return cls(space, shape, (), (), order, (float(space.low.min()), float(space.high.max())))
        places, left_out = _places(space, "")
        total = sum(count for _, count in places)
        if not total:
            raise UserError(
                f"nothing can be seen of observations in {short(space)}: use a Box, Discrete, or a Dict of them"
            )
        if total > MOST_NUMBERS:
            raise UserError(
                f"{total:,} numbers are too many for a vector: make the observation smaller with a --wrapper"
            )
        return cls(space, (total,), tuple(places), tuple(left_out))

    @property
    def dtype(self) -> str:
        """Of a frame."""
        return "float32" if self.order is None else "uint8"

    @property
    def plain(self) -> bool:
        """Whether a batch of observations is an array of numbers; otherwise each becomes a frame on its own."""
        return isinstance(self.space, spaces.Box)

    def describe(self) -> str:
        """In one line."""
        if self.order is not None:
            height, width, *channels = self.shape
            colours = f" with {channels[0]} channels" if channels else ""
            return f"images of {height} x {width}{colours}"
        begin, parts = 0, []
        for name, count in self.places:
            last = f"-{begin + count - 1}" if count > 1 else ""
            parts.append(f"{name or 'observation'} {begin}{last}")
            begin += count
        shown = parts if len(parts) <= 20 else [*parts[:20], f"{len(parts) - 20} more parts"]
        said = f"vectors of {self.shape[0]} numbers: {', '.join(shown)}"
        return f"{said}; left out: {', '.join(self.left_out)} (text)" if self.left_out else said

    def frame(self, observation: Any) -> np.ndarray:
        """The vector of one observation that is not `plain`, (D,)."""
        parts = list(_numbers(self.space, observation, ""))
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest that each number of a vector may be, (D,)."""
        low, high = zip(*_limits(self.space), strict=True)
        return np.concatenate(low), np.concatenate(high)

    def outside(self, vectors: np.ndarray, low: np.ndarray, high: np.ndarray) -> BadObservation:
        """What to say of vectors, (M, D), of which some number is not between its limits, (D,)."""
        row, place = (int(axis) for axis in np.argwhere((vectors < low) | (vectors > high))[0])
        ends = np.cumsum([count for _, count in self.places])
        name = self.places[int(np.searchsorted(ends, place, side="right"))][0]
        value = vectors[row, place]
        return _outside(f"{name} has {value:.6g}, and its space goes from {low[place]:.6g} to {high[place]:.6g}")

    def frames(self, batch: np.ndarray) -> np.ndarray:
        """Frames of a batch of plain observations, (M, ...): new arrays, also where nothing changes."""
        if self.order is None:
            return np.array(batch, np.float32).reshape(len(batch), -1)
        images = np.transpose(batch, (0, *(axis + 1 for axis in self.order))).reshape(len(batch), *self.shape)
        low, high = self.bounds
        if images.dtype == np.uint8 and (low, high) == (0, 255):
            return np.array(images)
        scaled = (images.astype(np.float32) - low) * (255 / max(high - low, 1e-12))
        return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)


@dataclass(frozen=True)
class Choices:
    """How the agent's choices become actions."""

    actions: int | tuple[int, ...]
    """A, or the choices of each component."""
    start: np.ndarray
    """The lowest of each, () or (C,)."""
    shape: tuple[int, ...]
    """Of one action."""
    dtype: Any

    @classmethod
    def of(cls, space: Space[Any]) -> "Choices":
        """Those of a space; a `UserError` for one that has none."""
        if isinstance(space, spaces.Discrete):
            made = cls(int(space.n), np.asarray(space.start), (), space.dtype)
        elif isinstance(space, spaces.MultiDiscrete):
            counts = tuple(int(count) for count in space.nvec.ravel())
            made = cls(counts, np.asarray(space.start).ravel(), space.shape, space.dtype)
        elif isinstance(space, spaces.MultiBinary):
            count = int(np.prod(space.shape))
            made = cls((2,) * count, np.zeros(count, int), space.shape, space.dtype)
        elif isinstance(space, spaces.Box):
            raise UserError(
                f"its actions are continuous, {short(space)}, and only discrete ones can be balanced: divide them into "
                f"a few choices with a wrapper (--wrapper MODULE:NAME), or look for a discrete option (--env-kwargs)"
            )
        else:
            raise UserError(
                f"its actions are {short(space)}, and only Discrete, MultiDiscrete and MultiBinary ones can be "
                f"balanced: change them with a wrapper (--wrapper MODULE:NAME)"
            )
        if max(made.actions if isinstance(made.actions, tuple) else (made.actions,)) < 2:
            raise UserError("it has one action only: there is nothing to learn")
        return made

    def __call__(self, chosen: np.ndarray) -> np.ndarray:
        """The actions of a group, (M, ...), from choices that begin with 0, (M,) or (M, C)."""
        if not self.shape:
            return chosen + self.start
        return (chosen + self.start).astype(self.dtype).reshape(len(chosen), *self.shape)


def check(space: Space[Any], observation: Any, name: str = "") -> None:
    """A `BadObservation` for one that is not in its space. Numbers of another type are, if nothing of them is lost."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        for key, inner in _parts(space):
            check(inner, _part(observation, key), f"{name}.{key}" if name else str(key))
    elif isinstance(space, spaces.Box):
        numbers = _array(observation, space.shape, name)
        if numbers.dtype.kind == "f" and np.dtype(space.dtype).kind != "f":
            raise _outside(f"{name or 'it'} is of {numbers.dtype}, and its space of {space.dtype}")
        outside = (numbers < space.low) | (numbers > space.high)
        if outside.any():
            place = tuple(int(axis) for axis in np.argwhere(outside)[0])
            value, low, high = (x[place] for x in (numbers, space.low, space.high))
            raise _outside(
                f"{name or 'it'} has {value:.6g} at place {place}, and its space goes from {low:.6g} to {high:.6g}"
            )
    elif _places(space, name)[0]:
        list(_numbers(space, observation, name))


def short(thing: Any) -> str:
    """In one line."""
    text = " ".join(str(thing).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _image_axes(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The axes of an image in the order H, W, others: grey, colours last or first, or a stack of either."""
    large = [axis for axis, size in enumerate(shape) if size >= LEAST_PIXELS]
    if len(shape) not in (2, 3, 4) or len(large) != 2 or large[1] != large[0] + 1:
        return None
    return (*large, *(axis for axis in range(len(shape)) if axis not in large))


def _places(space: Space[Any], name: str) -> tuple[list[tuple[str, int]], list[str]]:
    """Names and sizes of the parts of a vector, and names of what is text."""
    if isinstance(space, spaces.Box | spaces.MultiBinary):
        return [(name, int(np.prod(space.shape, dtype=int)))], []
    if isinstance(space, spaces.Discrete):
        return [(name, int(space.n))], []
    if isinstance(space, spaces.MultiDiscrete):
        return [(name, int(space.nvec.sum()))], []
    if isinstance(space, spaces.Dict | spaces.Tuple):
        found = [_places(inner, f"{name}.{key}" if name else str(key)) for key, inner in _parts(space)]
        return [place for places, _ in found for place in places], [text for _, texts in found for text in texts]
    if space.dtype is not None and np.dtype(space.dtype).kind == "U":
        return [], [name or "observation"]
    raise UserError(
        f"observations in {short(space)} cannot be seen: use Box, Discrete, MultiDiscrete, MultiBinary, or Dict and "
        f"Tuple of them, e.g. with a wrapper (--wrapper MODULE:NAME)"
    )


def _parts(space: spaces.Dict | spaces.Tuple[Any]) -> list[tuple[Any, Space[Any]]]:
    return list(space.spaces.items()) if isinstance(space, spaces.Dict) else list(enumerate(space.spaces))


def _numbers(space: Space[Any], observation: Any, name: str) -> Iterator[np.ndarray]:
    """The parts of a vector of one observation, (n,) float32 each."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        for key, inner in _parts(space):
            yield from _numbers(inner, _part(observation, key), f"{name}.{key}" if name else str(key))
    elif isinstance(space, spaces.Discrete):
        yield _one_hot(np.array([observation]), np.array([space.start]), np.array([space.n]), name)
    elif isinstance(space, spaces.MultiDiscrete):
        yield _one_hot(
            _array(observation, space.shape, name).ravel(), np.asarray(space.start).ravel(), space.nvec.ravel(), name
        )
    elif isinstance(space, spaces.Box | spaces.MultiBinary):
        yield _array(observation, space.shape, name).astype(np.float32).ravel()


def _limits(space: Space[Any]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The lowest and the highest of the numbers that `_numbers` makes, (n,) float32 each."""
    if isinstance(space, spaces.Dict | spaces.Tuple):
        for _, inner in _parts(space):
            yield from _limits(inner)
    elif isinstance(space, spaces.Box):
        yield space.low.astype(np.float32).ravel(), space.high.astype(np.float32).ravel()
    else:
        count = sum(count for _, count in _places(space, "")[0])
        yield np.zeros(count, np.float32), np.ones(count, np.float32)


def _part(observation: Any, key: Any) -> Any:
    try:
        return observation[key]
    except (KeyError, IndexError, TypeError):
        raise _outside(f"it has no {key!r}") from None


def _array(observation: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Finite numbers of this shape."""
    given = np.asarray(observation)
    if given.dtype.kind not in "biuf":
        raise _outside(f"{name or 'it'} is of {given.dtype}, and not of numbers")
    if given.shape != shape:
        raise _outside(f"{name or 'it'} has shape {given.shape}, and its space has {shape}")
    if given.dtype.kind == "f" and not (np.abs(given) <= LARGEST).all():
        what = "NaN" if np.isnan(given).any() else f"infinity or numbers beyond {LARGEST:g}"
        hint = "find where the environment makes them, or replace them in a wrapper, e.g. with numpy.nan_to_num"
        raise BadObservation(f"an observation has {what}{f' in {name}' if name else ''}: {hint}")
    return given


def _one_hot(numbers: np.ndarray, starts: np.ndarray, counts: np.ndarray, name: str) -> np.ndarray:
    if numbers.dtype.kind not in "iub" or ((numbers < starts) | (numbers >= starts + counts)).any():
        said = numbers.tolist() if len(numbers) > 1 else numbers[0]
        least, most = starts.min(), (starts + counts - 1).max()
        raise _outside(f"{name or 'it'} is {said}, and its space has the whole numbers from {least} to {most}")
    vector = np.zeros(int(counts.sum()), np.float32)
    vector[np.cumsum(counts) - counts + (numbers - starts)] = 1
    return vector
