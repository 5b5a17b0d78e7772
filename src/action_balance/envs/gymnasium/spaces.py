"""From Gymnasium's spaces to what the agent uses: observations become frames.

Axes: M environments, D numbers of a vector, H, W pixels, C channels.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Shaped

from action_balance.envs.gymnasium.encoding import Encoding
from action_balance.envs.gymnasium.layouts import AUTO, LayoutSettings
from action_balance.envs.gymnasium.leaves import Leaf, find_leaves, kind_of, short
from action_balance.envs.spec import Bounds, EnvSpec
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
    left_out: tuple[str, ...] = ()  # names of the parts that are text
    exact: bool = True  # whether discrete observations are known to be discrete

    @classmethod
    def of(cls, space: Any, settings: LayoutSettings = AUTO) -> "Layout":
        leaves, texts = find_leaves(space, settings)
        encoding = Encoding(tuple(leaves))
        if not sum(leaf.size for leaf in leaves):
            raise UserError(f"observations in {short(space)} contain no numbers: use Box, Discrete, or a Dict of them")
        total = sum(leaf.size for leaf in encoding.vector)
        if total > MAX_NUMBERS:
            raise UserError(f"a vector of {total:,} numbers is too long: make the observation smaller with a --wrapper")
        if encoding.depth > 1 and encoding.kind != "image":
            raise UserError("layout stack is for observations that are one array: use hwc, chw or vector")
        return cls(space, encoding, tuple(texts), settings.layout != "flat")

    def spec(self, stack: int, nvec: tuple[int, ...], bounds: tuple[Bounds, ...] = ()) -> EnvSpec:
        if stack > 1 and self.encoding.depth > 1:
            raise UserError("the environment stacks images itself (--layout stack): leave out --stack")
        return self.encoding.spec(nvec, max(stack, self.encoding.depth), self.exact, bounds)

    @property
    def plain(self) -> bool:
        """Whether a batch of observations is one array; otherwise each observation becomes a frame on its own."""
        return kind_of(self.space) == "Box"

    def describe(self) -> str:
        text = self.encoding.describe()
        return f"{text}; left out: {', '.join(self.left_out)} (text)" if self.left_out else text

    def frame(self, observation: Any) -> Shaped[np.ndarray, "..."]:
        frame: np.ndarray = self.encoding.encode([_checked(leaf, observation) for leaf in self.encoding.leaves])[0]
        return frame

    def _space_of(self, leaf: Leaf) -> Any:
        inner = self.space
        for key in leaf.path:
            inner = inner[key]
        return inner

    def check(self, observation: Any) -> None:
        """Raise a `BadObservation` if an observation is not in its space; types that lose nothing are accepted."""
        for leaf in self.encoding.leaves:
            numbers, space = _checked(leaf, observation)[0], self._space_of(leaf)
            if kind_of(space) != "Box":
                continue
            if numbers.dtype.kind == "f" and np.dtype(space.dtype).kind != "f":
                raise _outside(f"{leaf.name or 'it'} is {numbers.dtype}, but the space is {space.dtype}")
            outside = (numbers < space.low) | (numbers > space.high)
            if outside.any():
                place = tuple(int(axis) for axis in np.argwhere(outside)[0])
                raise _out_of_bounds(leaf.name, numbers, space.low, space.high, place)

    def limits(self) -> tuple[Shaped[np.ndarray, "..."], Shaped[np.ndarray, "..."]]:
        """Lower and upper bound of each number of a plain observation, or of the vector, (D,)."""
        if self.plain:
            return self.space.low, self.space.high
        low, high = [np.zeros(0, np.float32)], [np.zeros(0, np.float32)]
        for leaf in self.encoding.vector:
            space = self._space_of(leaf)
            is_box = kind_of(space) == "Box"  # other numbers are one-hot or codes
            low.append(space.low.astype(np.float32).ravel() if is_box else np.full(leaf.size, -1, np.float32))
            high.append(space.high.astype(np.float32).ravel() if is_box else np.ones(leaf.size, np.float32))
        return np.concatenate(low), np.concatenate(high)

    def outside(
        self, numbers: Shaped[np.ndarray, "M ..."], low: Shaped[np.ndarray, "..."], high: Shaped[np.ndarray, "..."]
    ) -> BadObservation:
        """The error for plain observations, or for vectors, with a number outside its bounds."""
        row, *index = (int(axis) for axis in np.argwhere((numbers < low) | (numbers > high))[0])
        place = tuple(index)
        if self.plain:
            return _out_of_bounds("", numbers[row], low, high, place)
        ends = np.cumsum([leaf.size for leaf in self.encoding.vector])
        part = self.encoding.vector[int(np.searchsorted(ends, place[0], side="right"))]
        return _out_of_bounds(part.name, numbers[row], low, high, place)


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
    given = np.asarray(observation)
    if given.dtype.kind not in "biuf":
        raise _outside(f"{name or 'it'} is {given.dtype}, which is not a number type")
    if given.shape != shape:
        raise _outside(f"{name or 'it'} has shape {given.shape}, but the space has {shape}")
    check_finite(given, name)
    return given


def check_finite(given: np.ndarray, name: str = "") -> None:
    if given.dtype.kind == "f" and not (np.abs(given) <= LARGEST).all():
        what = "NaN" if np.isnan(given).any() else f"infinite numbers, or numbers beyond {LARGEST:g}"
        hint = "fix the environment, or replace them in a wrapper, e.g. with numpy.nan_to_num"
        raise BadObservation(f"an observation has {what}{f' in {name}' if name else ''}: {hint}")


def _out_of_bounds(
    name: str, numbers: np.ndarray, low: np.ndarray, high: np.ndarray, place: tuple[int, ...]
) -> BadObservation:
    value, least, most = (float(one[place]) for one in (numbers, low, high))
    where = f"{name} has {value:.6g}" if name else f"it has {value:.6g} at index {place}"
    return _outside(f"{where}, but the space is from {least:.6g} to {most:.6g}")
