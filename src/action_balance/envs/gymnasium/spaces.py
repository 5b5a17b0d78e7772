"""From Gymnasium's spaces to what the agent uses: observations become frames, and choices become actions.

Axes: M environments, D numbers of a vector, H, W pixels, C channels or action components.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float32, Integer, Shaped

from action_balance.envs.gymnasium.encoding import Encoding
from action_balance.envs.gymnasium.leaves import Leaf, find_leaves, inner_spaces, kind_of, short
from action_balance.envs.gymnasium.view import AUTO, View
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

#: Larger numbers than this have squares outside the range of float32.
LARGEST = 1e15
#: The longest vector: networks for longer ones would not fit into memory.
MAX_NUMBERS = 1_000_000


class BadObservation(Exception):
    """An observation that cannot be used; the message is the part of a line after the name of the environment."""


def _outside(what: str) -> BadObservation:
    return BadObservation(f"an observation is not in its observation_space: {what}; fix the observation or the space")


@dataclass(frozen=True)
class Layout:
    """How observations of a Gymnasium space become frames."""

    space: Any
    encoding: Encoding
    """What a frame consists of."""
    left_out: tuple[str, ...] = ()
    """Names of the parts that are text."""
    exact: bool = True
    """Whether discrete observations are known to be discrete."""

    @classmethod
    def of(cls, space: Any, view: View = AUTO) -> "Layout":
        """The layout of an observation space."""
        leaves, texts = find_leaves(space, view)
        encoding = Encoding(tuple(leaves))
        if not sum(leaf.size for leaf in leaves):
            raise UserError(f"observations in {short(space)} contain no numbers: use Box, Discrete, or a Dict of them")
        total = sum(leaf.size for leaf in encoding.vector)
        if total > MAX_NUMBERS:
            raise UserError(f"a vector of {total:,} numbers is too long: make the observation smaller with a --wrapper")
        if encoding.depth > 1 and encoding.kind != "image":
            raise UserError("layout stack is for observations that are one array: use hwc, chw or vector")
        return cls(space, encoding, tuple(texts), view.layout != "flat")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a frame."""
        return self.encoding.shape

    @property
    def dtype(self) -> str:
        """Type of a frame's numbers."""
        return self.encoding.dtype

    def spec(self, stack: int, nvec: tuple[int, ...]) -> EnvSpec:
        """Observations and actions as the agent knows them."""
        if stack > 1 and self.encoding.depth > 1:
            raise UserError("the environment stacks images itself (--layout stack): leave out --stack")
        return self.encoding.spec(nvec, max(stack, self.encoding.depth), self.exact)

    @property
    def plain(self) -> bool:
        """Whether a batch of observations is one array; otherwise each observation becomes a frame on its own."""
        return kind_of(self.space) == "Box"

    def describe(self) -> str:
        """Size and parts of a frame, in one line."""
        text = self.encoding.describe()
        return f"{text}; left out: {', '.join(self.left_out)} (text)" if self.left_out else text

    def frame(self, observation: Any) -> Shaped[np.ndarray, "..."]:
        """The frame of one observation that is not `plain`."""
        frame: np.ndarray = self.encoding.encode([_checked(leaf, observation) for leaf in self.encoding.leaves])[0]
        return frame

    def limits(self) -> tuple[Float32[np.ndarray, " D"], Float32[np.ndarray, " D"]]:
        """Lower and upper bound of each number of a vector."""
        low, high = list[np.ndarray](), list[np.ndarray]()
        for leaf in self.encoding.vector:
            inner = self.space
            for key in leaf.path:
                inner = inner[key]
            if kind_of(inner) == "Box":
                ends = (inner.low.astype(np.float32).ravel(), inner.high.astype(np.float32).ravel())
            else:
                coded = leaf.counts != leaf.widths
                ends = (np.full(leaf.size, -1.0 if coded else 0.0, np.float32), np.ones(leaf.size, np.float32))
            low.append(ends[0])
            high.append(ends[1])
        empty = np.zeros(0, np.float32)
        return np.concatenate([empty, *low]), np.concatenate([empty, *high])

    def outside(
        self, vectors: Float32[np.ndarray, "M D"], low: Float32[np.ndarray, " D"], high: Float32[np.ndarray, " D"]
    ) -> BadObservation:
        """The error for vectors with a number outside its bounds."""
        row, place = (int(axis) for axis in np.argwhere((vectors < low) | (vectors > high))[0])
        ends = np.cumsum([leaf.size for leaf in self.encoding.vector])
        name = self.encoding.vector[int(np.searchsorted(ends, place, side="right"))].name
        value = vectors[row, place]
        return _outside(f"{name} has {value:.6g}, but the space is from {low[place]:.6g} to {high[place]:.6g}")

    def frames(self, batch: Shaped[np.ndarray, "M ..."]) -> Shaped[np.ndarray, "M ..."]:
        """Frames of a batch of plain observations; always a new array."""
        return self.encoding.encode([batch])


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
    def of(cls, space: Any) -> "Choices":
        """The choices of an action space."""
        kind = kind_of(space)
        if kind == "Discrete":
            made = cls((int(space.n),), np.asarray(space.start), (), space.dtype)
        elif kind == "MultiDiscrete":
            counts = tuple(int(count) for count in space.nvec.ravel())
            made = cls(counts, np.asarray(space.start).ravel(), space.shape, space.dtype)
        elif kind == "MultiBinary":
            count = int(np.prod(space.shape))
            made = cls((2,) * count, np.zeros(count, int), space.shape, space.dtype)
        elif kind == "Box":
            raise UserError(
                f"its actions are continuous, {short(space)}, but only discrete actions are supported: discretise them "
                f"with a wrapper (--wrapper MODULE:NAME), or look for a discrete option of the environment "
                f"(--env-kwargs)"
            )
        else:
            raise UserError(
                f"its actions are {short(space)}, but only Discrete, MultiDiscrete and MultiBinary are supported: "
                f"convert them with a wrapper (--wrapper MODULE:NAME)"
            )
        if max(made.nvec) < 2:
            raise UserError("it has only one action: there is nothing to learn")
        return made

    def __call__(self, chosen: Integer[np.ndarray, "M ..."]) -> Shaped[np.ndarray, "M ..."]:
        """The actions of a group."""
        if not self.shape:
            return chosen + self.start
        return (chosen + self.start).astype(self.dtype).reshape(len(chosen), *self.shape)


def check(space: Any, observation: Any, name: str = "") -> None:
    """Raise a `BadObservation` if an observation is not in its space; other types that lose nothing are accepted."""
    kind = kind_of(space)
    if kind in ("Dict", "Tuple"):
        for key, inner in inner_spaces(space):
            check(inner, _part(observation, key), f"{name}.{key}" if name else str(key))
    elif kind == "Box":
        numbers = _array(observation, space.shape, name)
        if numbers.dtype.kind == "f" and np.dtype(space.dtype).kind != "f":
            raise _outside(f"{name or 'it'} is {numbers.dtype}, but the space is {space.dtype}")
        outside = (numbers < space.low) | (numbers > space.high)
        if outside.any():
            place = tuple(int(axis) for axis in np.argwhere(outside)[0])
            value, low, high = (x[place] for x in (numbers, space.low, space.high))
            raise _outside(
                f"{name or 'it'} has {value:.6g} at index {place}, but the space is from {low:.6g} to {high:.6g}"
            )
    elif kind in ("Discrete", "MultiDiscrete", "MultiBinary"):
        _checked(replace(find_leaves(space)[0][0], name=name), observation)


def _checked(leaf: Leaf, observation: Any) -> Shaped[np.ndarray, "1 ..."]:
    """The array of a part, with an axis for one observation."""
    for key in leaf.path:
        observation = _part(observation, key)
    if not leaf.counts:
        return _array(observation, leaf.shape, leaf.name)[None]
    numbers = _array(observation, leaf.shape, leaf.name) if leaf.shape else np.array(observation)
    starts, counts = np.array(leaf.starts), np.array(leaf.counts)
    wrong = numbers.dtype.kind not in "iub" or numbers.size != len(counts)
    if wrong or ((numbers.ravel() < starts) | (numbers.ravel() >= starts + counts)).any():
        value = numbers.ravel().tolist() if numbers.size > 1 else numbers.ravel()[0]
        least, most = starts.min(), (starts + counts - 1).max()
        raise _outside(f"{leaf.name or 'it'} is {value}, but the space has the integers from {least} to {most}")
    return numbers.reshape(1, *leaf.shape)


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
        raise _outside(f"{name or 'it'} has shape {given.shape}, but the space has {shape}")
    if given.dtype.kind == "f" and not (np.abs(given) <= LARGEST).all():
        what = "NaN" if np.isnan(given).any() else f"infinite numbers, or numbers beyond {LARGEST:g}"
        hint = "fix the environment, or replace them in a wrapper, e.g. with numpy.nan_to_num"
        raise BadObservation(f"an observation has {what}{f' in {name}' if name else ''}: {hint}")
    return given
