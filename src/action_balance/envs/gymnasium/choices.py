"""From what the agent chooses to actions of a space. Spaces are recognised by the names of their classes.

The agent's action has the discrete components of all parts of the space first, from 0 on, and then all continuous
numbers, in the units of the environment. Axes: M actions, n components or numbers, ... leading axes of a batch.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Shaped

from action_balance.envs.gymnasium.leaves import arrays_in, kind_of, short
from action_balance.envs.gymnasium.spaces import LARGEST
from action_balance.envs.spec import Bounds, limits
from action_balance.errors import UserError


@dataclass(frozen=True)
class ActionPart:
    """One array of an action: discrete components or continuous numbers. It is plain data, so that it can be saved."""

    path: tuple[str | int, ...] = ()  # its keys in a Dict or Tuple; empty where the action is the array itself
    shape: tuple[int, ...] = ()
    dtype: str = "int64"
    starts: tuple[int, ...] = ()  # the smallest value of each discrete component
    counts: tuple[int, ...] = ()  # how many values each discrete component has
    bounds: tuple[Bounds, ...] = ()  # of each continuous number

    @classmethod
    def of(cls, space: Any, path: tuple[str | int, ...]) -> "ActionPart":
        kind = kind_of(space)
        if kind not in ("Box", "Discrete", "MultiDiscrete", "MultiBinary"):
            raise UserError(
                f"its actions are {short(space)}, but only Box, Discrete, MultiDiscrete, MultiBinary, and Dict and "
                f"Tuple of them are supported: convert them with a wrapper (--wrapper MODULE:NAME)"
            )
        shape, dtype = tuple(int(size) for size in space.shape), np.dtype(space.dtype).name
        if kind == "Box":
            return cls(path, shape, dtype, bounds=bounds_of(space))
        counts = {"Discrete": "n", "MultiDiscrete": "nvec"}.get(kind)
        values = np.full(shape, 2) if counts is None else np.asarray(getattr(space, counts))
        starts = np.broadcast_to(getattr(space, "start", 0), values.shape)
        return cls(path, shape, dtype, _whole(starts), _whole(values))

    @property
    def name(self) -> str:
        return ".".join(map(str, self.path))

    @property
    def size(self) -> int:
        return len(self.counts) + len(self.bounds)

    @property
    def is_sound(self) -> bool:
        """Whether saved data, which somebody else may have written, fits together."""
        sizes = self.size == math.prod(self.shape) and len(self.starts) == len(self.counts)
        return sizes and np.dtype(self.dtype).kind in "biuf"

    def values(self, chosen: Shaped[np.ndarray, "M n"]) -> Shaped[np.ndarray, "M n"]:
        """What the environment gets; continuous numbers are clipped once more, because float32 is not exact."""
        if not self.bounds:
            return (chosen.astype(np.int64) + self.starts).astype(self.dtype)
        numbers = np.clip(chosen.astype(np.float64), *np.array(limits(self.bounds)).T)
        return (numbers if np.dtype(self.dtype).kind == "f" else np.rint(numbers)).astype(self.dtype)


@dataclass(frozen=True)
class Choices:
    """How the agent's choices become actions of a space."""

    parts: tuple[ActionPart, ...]

    @classmethod
    def of(cls, space: Any) -> "Choices":
        made = cls(tuple(ActionPart.of(inner, path) for path, inner in arrays_in(space)))
        for place, (low, high) in enumerate(made.bounds):
            if low is not None and low == high:
                raise UserError(
                    f"its actions are {short(space)}, but continuous number {place} can only be {low:g}: leave it out "
                    f"with a wrapper (--wrapper MODULE:NAME), or change its bounds"
                )
        if not made.bounds and max(made.nvec, default=0) < 2:
            raise UserError("it has only one action: there is nothing to learn")
        return made

    @cached_property
    def nvec(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(part.counts for part in self.parts))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(part.starts for part in self.parts))

    @cached_property
    def bounds(self) -> tuple[Bounds, ...]:
        return tuple(chain.from_iterable(part.bounds for part in self.parts))

    @cached_property
    def columns(self) -> list[slice]:
        """Where each part is in the agent's action."""
        ends, found = [0, len(self.nvec)], list[slice]()
        for part in self.parts:
            begin = ends[bool(part.bounds)]
            ends[bool(part.bounds)] += part.size
            found.append(slice(begin, begin + part.size))
        return found

    def __call__(self, chosen: Shaped[np.ndarray, "M ..."], lead: tuple[int, ...] | None = None) -> Any:
        """Actions of a batch as vector environments take them: an array, or a Dict or Tuple of arrays."""
        rows, axes = chosen.reshape(len(chosen), -1), (len(chosen),) if lead is None else lead
        pairs = zip(self.parts, self.columns, strict=True)
        return _nested([(one.path, one.values(rows[:, at]).reshape((*axes, *one.shape))[()]) for one, at in pairs])

    def each(self, chosen: Shaped[np.ndarray, "M ..."]) -> Iterator[Any]:
        """The same actions one by one, as a single environment takes them."""
        return (self(one[None], ()) for one in chosen)

    def plain(self) -> dict[str, Any]:
        """As plain data, which `action_balance.interop.inputs.Spaces` reads."""
        first = self.parts[0]
        if first.path or first.bounds:
            return {"parts": [asdict(part) for part in self.parts]}
        return {"nvec": list(first.counts), "starts": list(first.starts), "action_shape": list(first.shape)}


def bounds_of(box: Any) -> tuple[Bounds, ...]:
    """The bounds of each number of a Box; libraries write the lack of one as infinity, or as a very large number."""
    ends = (np.broadcast_to(np.asarray(end, float), box.shape).ravel().tolist() for end in (box.low, box.high))
    return tuple(zip(*([one if abs(one) <= LARGEST else None for one in end] for end in ends), strict=True))


def _whole(numbers: np.ndarray) -> tuple[int, ...]:
    return tuple(int(one) for one in numbers.ravel())


def _nested(arrays: list[tuple[tuple[str | int, ...], np.ndarray]]) -> Any:
    """Arrays in dictionaries and tuples, by their keys."""
    if not arrays[0][0]:
        return arrays[0][1]
    groups: dict[str | int, list[tuple[tuple[str | int, ...], np.ndarray]]] = {}
    for (key, *rest), array in arrays:
        groups.setdefault(key, []).append((tuple(rest), array))
    made = {key: _nested(group) for key, group in groups.items()}
    return tuple(made.values()) if isinstance(next(iter(made)), int) else made
