"""From Gymnasium's spaces to what the agent uses: observations become frames, and choices become actions.

Axes: M environments, D numbers of a vector, H, W pixels, C channels or action components.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from jaxtyping import Float32, Integer, Shaped

from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

#: The smallest height and width for RND's kernels and strides; smaller arrays are taken as vectors.
LEAST_PIXELS = 44
#: Larger numbers than this have squares outside the range of float32.
LARGEST = 1e15
#: The longest vector: networks for longer ones would not fit into memory.
MOST_NUMBERS = 1_000_000


class BadObservation(Exception):
    """An observation that cannot be used; the message is the part of a line after the name of the environment."""


def _outside(what: str) -> BadObservation:
    return BadObservation(f"an observation is not in its observation_space: {what}; fix one of them")


@dataclass(frozen=True)
class Layout:
    """How observations become frames: float32 vectors, (D,), or uint8 images, (H, W) or (H, W, C)."""

    space: Space[Any]
    shape: tuple[int, ...]
    """Shape of a frame."""
    places: tuple[tuple[str, int], ...]
    """Names of the parts of a vector in their order, each with its length."""
    left_out: tuple[str, ...] = ()
    """Names of the parts that are text."""
    order: tuple[int, ...] | None = None
    """Axes of an image in the order H, W, others; None for vectors."""
    bounds: tuple[float, float] = (0.0, 255.0)
    """The smallest and the largest number of an image, which become 0 and 255."""

    @classmethod
    def of(cls, space: Space[Any]) -> "Layout":
        """The layout of an observation space.

        Args:
            space: the space.

        Returns:
            The layout; a `UserError` if the agent cannot use such observations.
        """
        if isinstance(space, spaces.Box) and (order := _image_axes(space.shape)) is not None:
            sizes = [space.shape[axis] for axis in order]
            channels = int(np.prod(sizes[2:], dtype=int))
            shape = (sizes[0], sizes[1], channels) if channels > 1 else (sizes[0], sizes[1])
            if space.dtype != np.uint8 and not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
                raise UserError(
                    f"images of {space.dtype} need bounds: give the observation_space a low and a high, or make it "
                    f"uint8; if they are not images, use --wrapper gymnasium.wrappers:FlattenObservation"
                )
            return cls(space, shape, (), (), order, (float(space.low.min()), float(space.high.max())))
        places, left_out = _places(space, "")
        total = sum(count for _, count in places)
        if not total:
            raise UserError(f"observations in {short(space)} hold no numbers: use Box, Discrete, or a Dict of them")
        if total > MOST_NUMBERS:
            raise UserError(f"a vector of {total:,} numbers is too long: make the observation smaller with a --wrapper")
        return cls(space, (total,), tuple(places), tuple(left_out))

    @property
    def dtype(self) -> str:
        """Type of a frame's numbers."""
        return "float32" if self.order is None else "uint8"

    def spec(self, stack: int, nvec: tuple[int, ...]) -> EnvSpec:
        """Observations and actions as the agent knows them; the scale of a vector is unknown.

        Args:
            stack: frames of an observation.
            nvec: choices of each action component.

        Returns:
            The specification.
        """
        shape = (stack, *self.shape)
        if self.order is not None:
            return EnvSpec("image-stack", shape, nvec, dtype=self.dtype)
        return EnvSpec("vector-stack", shape, nvec, dtype=self.dtype, parts=self.places, normalize_obs=True)

    @property
    def plain(self) -> bool:
        """Whether a batch of observations is one array; otherwise each observation becomes a frame on its own."""
        return isinstance(self.space, spaces.Box)

    def describe(self) -> str:
        """Size and parts of a frame, in one line."""
        if self.order is not None:
            height, width, *channels = self.shape
            colours = f" with {channels[0]} channels" if channels else ""
            return f"images of {height} x {width} pixels{colours}"
        begin, parts = 0, []
        for name, count in self.places:
            last = f"-{begin + count - 1}" if count > 1 else ""
            parts.append(f"{name or 'observation'} {begin}{last}")
            begin += count
        shown = parts if len(parts) <= 20 else [*parts[:20], f"{len(parts) - 20} more parts"]
        text = f"vectors of {self.shape[0]} numbers: {', '.join(shown)}"
        return f"{text}; left out: {', '.join(self.left_out)} (text)" if self.left_out else text

    def frame(self, observation: Any) -> Float32[np.ndarray, " D"]:
        """The vector of one observation that is not `plain`."""
        parts = list(_numbers(self.space, observation, ""))
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def limits(self) -> tuple[Float32[np.ndarray, " D"], Float32[np.ndarray, " D"]]:
        """Lower and upper bound of each number of a vector."""
        low, high = zip(*_limits(self.space), strict=True)
        return np.concatenate(low), np.concatenate(high)

    def outside(
        self, vectors: Float32[np.ndarray, "M D"], low: Float32[np.ndarray, " D"], high: Float32[np.ndarray, " D"]
    ) -> BadObservation:
        """The error for vectors with a number outside its bounds.

        Args:
            vectors: the vectors.
            low: lower bounds.
            high: upper bounds.

        Returns:
            The error.
        """
        row, place = (int(axis) for axis in np.argwhere((vectors < low) | (vectors > high))[0])
        ends = np.cumsum([count for _, count in self.places])
        name = self.places[int(np.searchsorted(ends, place, side="right"))][0]
        value = vectors[row, place]
        return _outside(f"{name} has {value:.6g}, and the space is from {low[place]:.6g} to {high[place]:.6g}")

    def frames(self, batch: Shaped[np.ndarray, "M ..."]) -> Shaped[np.ndarray, "M ..."]:
        """Frames of a batch of plain observations; always a new array.

        Args:
            batch: the observations.

        Returns:
            The frames.
        """
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
    """How the agent's choices become actions of a space."""

    nvec: tuple[int, ...]
    """Number of choices of each component."""
    start: Integer[np.ndarray, "..."]
    """The smallest action of each component, (C,), or () of a `Discrete` space."""
    shape: tuple[int, ...]
    """Shape of one action."""
    dtype: Any
    """Type of an action."""

    @classmethod
    def of(cls, space: Space[Any]) -> "Choices":
        """The choices of an action space.

        Args:
            space: the space.

        Returns:
            The choices; a `UserError` if the actions are not discrete.
        """
        if isinstance(space, spaces.Discrete):
            made = cls((int(space.n),), np.asarray(space.start), (), space.dtype)
        elif isinstance(space, spaces.MultiDiscrete):
            counts = tuple(int(count) for count in space.nvec.ravel())
            made = cls(counts, np.asarray(space.start).ravel(), space.shape, space.dtype)
        elif isinstance(space, spaces.MultiBinary):
            count = int(np.prod(space.shape))
            made = cls((2,) * count, np.zeros(count, int), space.shape, space.dtype)
        elif isinstance(space, spaces.Box):
            raise UserError(
                f"its actions are continuous, {short(space)}, and only discrete ones are supported: divide them into a "
                f"few choices with a wrapper (--wrapper MODULE:NAME), or look for a discrete option (--env-kwargs)"
            )
        else:
            raise UserError(
                f"its actions are {short(space)}, and only Discrete, MultiDiscrete and MultiBinary are supported: "
                f"convert them with a wrapper (--wrapper MODULE:NAME)"
            )
        if max(made.nvec) < 2:
            raise UserError("it has only one action: there is nothing to learn")
        return made

    def __call__(self, chosen: Integer[np.ndarray, "M ..."]) -> Shaped[np.ndarray, "M ..."]:
        """The actions of a group.

        Args:
            chosen: choices from 0 on: (M,) with one component, also if the space has an axis for it, else (M, C).

        Returns:
            The actions, each with the shape of the space.
        """
        if not self.shape:
            return chosen + self.start
        return (chosen + self.start).astype(self.dtype).reshape(len(chosen), *self.shape)


def check(space: Space[Any], observation: Any, name: str = "") -> None:
    """Raise a `BadObservation` if an observation is not in its space; other types that lose nothing are accepted.

    Args:
        space: the space.
        observation: the observation.
        name: of the part that is checked.
    """
    if isinstance(space, spaces.Dict | spaces.Tuple):
        for key, inner in _parts(space):
            check(inner, _part(observation, key), f"{name}.{key}" if name else str(key))
    elif isinstance(space, spaces.Box):
        numbers = _array(observation, space.shape, name)
        if numbers.dtype.kind == "f" and np.dtype(space.dtype).kind != "f":
            raise _outside(f"{name or 'it'} is {numbers.dtype}, and the space is {space.dtype}")
        outside = (numbers < space.low) | (numbers > space.high)
        if outside.any():
            place = tuple(int(axis) for axis in np.argwhere(outside)[0])
            value, low, high = (x[place] for x in (numbers, space.low, space.high))
            raise _outside(
                f"{name or 'it'} has {value:.6g} at index {place}, and the space is from {low:.6g} to {high:.6g}"
            )
    elif _places(space, name)[0]:
        list(_numbers(space, observation, name))


def short(space: Space[Any]) -> str:
    """A space on one line, shortened.

    Args:
        space: the space.

    Returns:
        Its text.
    """
    text = " ".join(str(space).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _image_axes(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The axes of an image in the order H, W, others: grey, channels last or first, or a stack of either."""
    large = [axis for axis, size in enumerate(shape) if size >= LEAST_PIXELS]
    if len(shape) not in (2, 3, 4) or len(large) != 2 or large[1] != large[0] + 1:
        return None
    return (*large, *(axis for axis in range(len(shape)) if axis not in large))


def _places(space: Space[Any], name: str) -> tuple[list[tuple[str, int]], list[str]]:
    """Names and lengths of the parts of a vector, and names of the parts that are text."""
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
        f"observations in {short(space)} are not supported: use Box, Discrete, MultiDiscrete, MultiBinary, or Dict and "
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
    """Bounds of the numbers that `_numbers` returns, (n,) float32 each."""
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
        raise _outside(f"{name or 'it'} is {given.dtype}, which is not a number type")
    if given.shape != shape:
        raise _outside(f"{name or 'it'} has shape {given.shape}, and the space has {shape}")
    if given.dtype.kind == "f" and not (np.abs(given) <= LARGEST).all():
        what = "NaN" if np.isnan(given).any() else f"infinite numbers, or numbers beyond {LARGEST:g}"
        hint = "fix the environment, or replace them in a wrapper, e.g. with numpy.nan_to_num"
        raise BadObservation(f"an observation has {what}{f' in {name}' if name else ''}: {hint}")
    return given


def _one_hot(numbers: np.ndarray, starts: np.ndarray, counts: np.ndarray, name: str) -> np.ndarray:
    if numbers.dtype.kind not in "iub" or ((numbers < starts) | (numbers >= starts + counts)).any():
        value = numbers.tolist() if len(numbers) > 1 else numbers[0]
        least, most = starts.min(), (starts + counts - 1).max()
        raise _outside(f"{name or 'it'} is {value}, and the space has the integers from {least} to {most}")
    vector = np.zeros(int(counts.sum()), np.float32)
    vector[np.cumsum(counts) - counts + (numbers - starts)] = 1
    return vector
