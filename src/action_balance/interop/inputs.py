"""Arguments from a foreign loop: checked, and turned into batches of few sizes, so that little is compiled.

Axes: B samples, A actions, n numbers of an action, K candidates.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from action_balance.config.serialization import from_dict
from action_balance.envs.actions import for_agent
from action_balance.envs.gymnasium.choices import ActionPart, Choices
from action_balance.envs.gymnasium.encoding import Encoding
from action_balance.envs.gymnasium.layouts import LayoutSettings, ObsLayout
from action_balance.envs.gymnasium.leaves import Leaf, array_leaf, find_leaves, kind_of, short
from action_balance.envs.gymnasium.spaces import LARGEST
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


@dataclass(frozen=True)
class Spaces:
    """Observations and actions, which become frames and choices just as in training; plain data."""

    leaves: tuple[Leaf, ...]  # the arrays of an observation

    # Of actions that are one array of discrete components; empty otherwise, and where actions do not matter.
    nvec: tuple[int, ...] = ()  # choices of each component
    starts: tuple[int, ...] = ()  # the smallest action of each component
    action_shape: tuple[int, ...] = ()  # of one action: () of a Discrete space

    parts: tuple[ActionPart, ...] = ()  # the arrays of any other action

    @classmethod
    def of(cls, obs_space: Any, action_space: Any = None, layout: ObsLayout = "auto") -> Self:
        """From Gymnasium's spaces, or from a shape and a number of actions.

        Gymnasium is not imported: its spaces are recognised by the names of their classes.
        """
        leaves = _observations(obs_space, layout)
        actions = {} if action_space is None else _actions(action_space)
        return from_dict(cls, {"leaves": [asdict(leaf) for leaf in leaves], **actions})

    @cached_property
    def encoding(self) -> Encoding:
        """How an observation becomes a frame, which is the networks' input."""
        return Encoding(self.leaves)

    @cached_property
    def choices(self) -> Choices:
        """How what the agent chooses becomes an action."""
        if self.nvec:
            return Choices((ActionPart(shape=self.action_shape, counts=self.nvec, starts=self.starts),))
        return Choices(self.parts)

    @cached_property
    def spec(self) -> EnvSpec:
        """Observations and actions as the agent's own classes know them."""
        nvec, bounds = self.choices.nvec, self.choices.bounds
        return self.encoding.spec(nvec if nvec or bounds else (2,), bounds=bounds)

    @property
    def actions(self) -> int:
        """A, the number of choices of all discrete components; 0 where there are none, or actions do not matter."""
        return sum(self.choices.nvec)

    def observations(self, obs: Any, name: str = "obs") -> tuple[np.ndarray, tuple[int, ...]]:
        """The frames of one or many observations, (B, ...), and the leading axes."""
        arrays, lead = list[np.ndarray](), None
        for leaf in self.leaves:
            array, axes = _leaf_array(leaf, obs, name)
            if lead is not None and axes != lead:
                raise UserError(
                    f"parts of {name} have different leading axes, {lead} and {axes}: pass the same number of each part"
                )
            lead = axes
            arrays.append(array)
        assert lead is not None
        return self.encoding.encode(arrays), lead

    def taken(self, actions: Any, lead: tuple[int, ...], name: str = "actions") -> np.ndarray:
        """Actions as the agent knows them: (B,) or (B, C) choices, or (B, n) with continuous numbers in its units."""
        parts, columns = self.choices.parts, self.choices.columns
        found = np.empty((math.prod(lead), sum(part.size for part in parts)))
        for part, at in zip(parts, columns, strict=True):
            found[:, at] = _action_array(part, actions, lead, name)
        return for_agent(self.spec, found)

    def candidates(self, actions: Any, lead: tuple[int, ...]) -> np.ndarray:
        """Some continuous actions for each observation as the agent knows them, (B, K, n)."""
        part = self.choices.parts[0]
        given, name = _part(part, actions, "candidates")
        count = given.shape[len(lead)] if given.ndim > len(lead) else 0
        if given.shape != (*lead, count, *part.shape) or not count:
            raise UserError(
                f"{name} has shape {given.shape}, but must have the axes {lead} of the observations, then one of the "
                f"candidates, then {part.shape} of an action"
            )
        return self.taken(actions, (*lead, count), "candidates").reshape(math.prod(lead), count, -1)

    def logits(self, logits: Any, lead: tuple[int, ...]) -> np.ndarray:
        """The logits of a policy for the observations, (B, A). Minus infinity forbids an action."""
        given = _array(logits, "logits")
        if given.shape != (*lead, self.actions):
            raise UserError(
                f"logits has shape {given.shape}, but {self.actions} actions for these observations need "
                f"{(*lead, self.actions)}: one number for each action"
            )
        if np.isnan(given).any() or np.isposinf(given).any():
            raise UserError("logits has NaN or infinity: the policy may have diverged; try a lower learning rate")
        return given.astype(np.float32).reshape(-1, self.actions)


def padded(batch: np.ndarray) -> np.ndarray:
    """A batch padded to the next power of two with copies of its last sample."""
    room = 1 << (len(batch) - 1).bit_length()
    return batch if room == len(batch) else batch[np.minimum(np.arange(room), len(batch) - 1)]


def parts_of(size: int) -> Iterator[slice]:
    """The places of a batch in parts whose sizes are powers of two: few sizes, and no sample twice."""
    start = 0
    for power in reversed(range(size.bit_length())):
        if size >> power & 1:
            yield slice(start, start + (1 << power))
            start += 1 << power


def _observations(space: Any, layout: ObsLayout) -> tuple[Leaf, ...]:
    if kind_of(space):
        leaves, _ = find_leaves(space, LayoutSettings(layout))
        if not leaves:
            raise UserError(f"obs_space {short(space)} contains no numbers: use a Box, a Discrete, or a Dict of them")
        return tuple(leaves)
    if not isinstance(space, (tuple, list)) or not all(_is_whole(size) and size >= 1 for size in space):
        raise UserError(f"obs_space {short(space)} is not supported: use a Gymnasium space or a shape such as (4,)")
    return (array_leaf(space, LayoutSettings(layout)),)


def _actions(space: Any) -> dict[str, Any]:
    """The fields of `Spaces` that are about actions, as plain data."""
    if kind_of(space):
        try:
            return Choices.of(space).plain()
        except UserError as error:
            message = str(error).replace(" (--wrapper MODULE:NAME)", "")
            raise UserError(f"action_space cannot be used: {message}") from None
    if not _is_whole(space):
        raise UserError(f"action_space {short(space)} is not supported: use a Gymnasium space or the number of actions")
    if space < 2:
        raise UserError(f"the number of actions is {space}, but balancing needs at least two")
    return {"nvec": [int(space)], "starts": [0]}


def _leaf_array(leaf: Leaf, obs: Any, name: str) -> tuple[np.ndarray, tuple[int, ...]]:
    """The array of a part of observations, (B, ...), checked, and its leading axes."""
    given, name = _part(leaf, obs, name)
    lead = given.shape[: given.ndim - len(leaf.shape)]
    if given.ndim < len(leaf.shape) or given.shape[len(lead) :] != leaf.shape:
        raise UserError(
            f"{name} has shape {given.shape}, but one observation has {leaf.shape}: pass one observation, or many with "
            f"leading axes"
        )
    if not given.size:
        raise UserError(f"{name} is empty: pass at least one observation")
    if leaf.counts:
        _whole(given.reshape(-1, len(leaf.counts)), name, leaf.starts, leaf.counts)
    elif given.dtype != np.uint8 and not (np.abs(given) <= LARGEST).all():  # NaN is out of bounds, too
        raise UserError(
            f"{name} has values that are not finite or beyond {LARGEST:g}: fix the environment that produces them, or "
            f"replace them, e.g. with numpy.nan_to_num"
        )
    return given.reshape(math.prod(lead), *leaf.shape), lead


def _action_array(part: ActionPart, actions: Any, lead: tuple[int, ...], name: str) -> np.ndarray:
    """The array of a part of actions, (B, n), checked."""
    given, name = _part(part, actions, name)
    if given.shape != (*lead, *part.shape):
        each = f" and {part.shape} of each" if part.shape else ""
        raise UserError(
            f"{name} has shape {given.shape}, but the observations have {lead}{each}: pass one action for each"
        )
    given = given.reshape(math.prod(lead), part.size)
    if part.counts:
        return _whole(given, name, part.starts, part.counts)
    if not (np.abs(given) <= LARGEST).all():
        raise UserError(
            f"{name} has values that are not finite or beyond {LARGEST:g}: the policy may have diverged; try a lower "
            f"learning rate"
        )
    return given


def _part(part: Leaf | ActionPart, given: Any, name: str) -> tuple[np.ndarray, str]:
    """The array of a part of observations or actions, and its name."""
    for key in part.path:
        try:
            given = given[key]
        except (KeyError, IndexError, TypeError):
            raise UserError(f"{name} has no {part.name}: pass the arrays of a Dict or Tuple by their keys") from None
    name = f"{name}.{part.name}" if part.name else name
    return _array(given, name), name


def _array(given: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:  # a ragged list; a tensor with gradients
        raise UserError(f"{name} is not an array of numbers: {short(error)}") from None
    if array.dtype.kind not in "biuf":
        raise UserError(f"{name} is an array of {array.dtype}, not of numbers: convert it first")
    return array


def _whole(array: np.ndarray, name: str, firsts: tuple[int, ...], counts: tuple[int, ...]) -> np.ndarray:
    """Integers of several components, each from its first on, as (B, C) int32 from 0."""
    if array.dtype.kind not in "iu":
        raise UserError(f"{name} must be integers, not {array.dtype}: convert with .astype(int)")
    for place, (first, count) in enumerate(zip(firsts, counts, strict=True)):
        column = array[:, place]
        wrong = column[(column < first) | (column > first + count - 1)]
        if wrong.size:
            which = f" (component {place})" if len(counts) > 1 else ""
            raise UserError(f"{name} must be from {first} to {first + count - 1}, not {wrong[0]}{which}")
    return (array.astype(np.int64) - np.array(firsts)).astype(np.int32)


def _is_whole(number: Any) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)
