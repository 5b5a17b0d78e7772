"""Arguments from a foreign loop: checked, and turned into batches of few sizes, so that little is compiled.

Axes: B samples, A actions, H, W pixels, K frames of a stack.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from action_balance.errors import UserError

#: The smallest height and width for RND's kernels and strides; smaller arrays are taken as vectors.
LEAST_PIXELS = 36
#: The most channels of a colour image.
_MOST_COLOURS = 4
#: Beyond this, squares of deviations would leave the range of float32.
_LARGEST = 1e15


@dataclass(frozen=True)
class Spaces:
    """Shapes and ranges of observations and actions."""

    shape: tuple[int, ...]
    """Shape of one observation, as it is passed."""
    states: int = 0
    """Size of a Discrete space, which networks see one-hot; 0 where observations are arrays."""
    first_state: int = 0
    """The smallest state."""
    actions: int = 0
    """A, the number of actions; 0 where actions do not matter."""
    first_action: int = 0
    """The smallest action."""

    @classmethod
    def of(cls, obs_space: Any, action_space: Any = None) -> Self:
        """From Gymnasium's spaces, or from a shape and a number of actions.

        Gymnasium is not imported: its spaces are recognised by the names of their classes.

        Args:
            obs_space: A space, or the shape of an observation.
            action_space: A space, or the number of actions; None where actions do not matter.

        Returns:
            The spaces.
        """
        shape, states, first_state = _observations(obs_space)
        actions, first_action = (0, 0) if action_space is None else _actions(action_space)
        return cls(shape, states, first_state, actions, first_action)

    @property
    def images(self) -> bool:
        """Whether observations are images, (H, W), or stacks of them, (K, H, W); everything else becomes a vector."""
        return len(self.shape) in (2, 3) and min(self.shape[-2:]) >= LEAST_PIXELS

    @property
    def seen_shape(self) -> tuple[int, ...]:
        """Shape of the networks' input: a frame, (H, W), or a vector."""
        if self.images:
            return self.shape[-2:]
        return (self.states or math.prod(self.shape),)

    def observations(self, obs: Any, name: str = "obs") -> tuple[np.ndarray, tuple[int, ...]]:
        """The networks' input for one or many observations, (B, *seen_shape), and the leading axes."""
        given = _array(obs, name)
        lead = given.shape[: given.ndim - len(self.shape)]
        if given.ndim < len(self.shape) or given.shape[len(lead) :] != self.shape:
            raise UserError(
                f"{name} has shape {given.shape}, and one observation has {self.shape}: "
                f"pass one, or many with leading axes"
            )
        if not given.size:
            raise UserError(f"{name} is empty: pass at least one observation")
        if self.states:
            return _one_hot(_whole(given, name, self.first_state, self.states), self.states), lead
        if self.images and len(self.shape) == 3:
            given = np.moveaxis(given, -3, 0)[-1]
        if given.dtype != np.uint8:
            # NaN is out of bounds, too.
            if not (np.abs(given) <= _LARGEST).all():
                raise UserError(
                    f"{name} has numbers that are not finite or beyond {_LARGEST:g}: find where the environment "
                    f"produces them, or replace them, e.g. with numpy.nan_to_num"
                )
            given = given.astype(np.float32)
        return given.reshape(-1, *self.seen_shape), lead

    def taken(self, actions: Any, lead: tuple[int, ...]) -> np.ndarray:
        """The actions that were taken in the observations, (B,) int32 from 0."""
        given = _array(actions, "actions")
        if given.shape != lead:
            raise UserError(f"actions has shape {given.shape}, and the observations have {lead}: one action for each")
        return _whole(given, "actions", self.first_action, self.actions)

    def logits(self, logits: Any, lead: tuple[int, ...]) -> np.ndarray:
        """The logits of a policy for the observations, (B, A). Minus infinity forbids an action."""
        given = _array(logits, "logits")
        if given.shape != (*lead, self.actions):
            raise UserError(
                f"logits has shape {given.shape}, but {self.actions} actions in these observations "
                f"have {(*lead, self.actions)}: one number for each action"
            )
        if np.isnan(given).any() or np.isposinf(given).any():
            raise UserError("logits has NaN or infinity: look for a policy that has diverged, e.g. lower its step size")
        return given.astype(np.float32).reshape(-1, self.actions)


def padded(batch: np.ndarray) -> np.ndarray:
    """A batch padded to the next power of two with copies of its last sample."""
    room = 1 << (len(batch) - 1).bit_length()
    return batch if room == len(batch) else batch[np.minimum(np.arange(room), len(batch) - 1)]


def parts(batch: np.ndarray) -> Iterator[np.ndarray]:
    """A batch in order, in parts whose sizes are powers of two: 13 samples as 8, 4 and 1."""
    begin = 0
    for bit in reversed(range(len(batch).bit_length())):
        if len(batch) >> bit & 1:
            yield batch[begin : begin + (1 << bit)]
            begin += 1 << bit


def _kind(space: Any) -> str:
    """Name of the Gymnasium space that an object is an instance of, directly or by inheritance."""
    known = ("Box", "Discrete", "MultiDiscrete", "MultiBinary", "Dict", "Tuple", "Text", "Graph", "Sequence", "OneOf")
    return next((kind.__name__ for kind in type(space).__mro__ if kind.__name__ in known), "")


def _observations(space: Any) -> tuple[tuple[int, ...], int, int]:
    """Shape of an observation, and the size and smallest element of a Discrete space."""
    kind = _kind(space)
    if kind == "Discrete":
        return (), int(space.n), int(space.start)
    shape = space.shape if kind in ("Box", "MultiBinary", "MultiDiscrete") else space
    if not isinstance(shape, (tuple, list)) or not all(_is_whole(size) and size >= 1 for size in shape):
        raise UserError(
            f"obs_space {_short(space)} is not supported: use a Box, a Discrete or a shape such as (4,); flatten "
            f"others first, e.g. with gymnasium.wrappers.FlattenObservation"
        )
    shape = tuple(int(size) for size in shape)
    colours = len(shape) == 3 and min(shape[:2]) >= LEAST_PIXELS and shape[2] <= _MOST_COLOURS
    if colours or len(shape) > 3:
        raise UserError(
            f"observations of shape {shape} are not supported: use grey images, (H, W), or stacks of them, (K, H, W)"
        )
    return shape, 0, 0


def _actions(space: Any) -> tuple[int, int]:
    """The number of actions, and the smallest."""
    kind = _kind(space)
    if kind == "Discrete":
        count, first = int(space.n), int(space.start)
    elif kind:
        hint = "create one for each component" if kind == "MultiDiscrete" else "divide it into a few choices"
        raise UserError(f"actions of a {kind} space cannot be balanced, only those of a Discrete one: {hint}")
    elif _is_whole(space):
        count, first = int(space), 0
    else:
        raise UserError(f"action_space {_short(space)} is not supported: use a Discrete or the number of actions")
    if count < 2:
        raise UserError(f"the number of actions is {count}, and only two or more can be balanced")
    return count, first


def _array(given: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:  # a ragged list; a tensor with gradients
        raise UserError(f"{name} is not an array of numbers: {_short(error)}") from None
    if array.dtype.kind not in "biuf":
        raise UserError(f"{name} is not an array of numbers but of {array.dtype}: convert it first")
    return array


def _whole(array: np.ndarray, name: str, first: int, count: int) -> np.ndarray:
    """Integers from ``first`` on, as (B,) int32 from 0."""
    if array.dtype.kind not in "iu":
        raise UserError(f"{name} must be integers, not {array.dtype}: convert with .astype(int)")
    wrong = array[(array < first) | (array > first + count - 1)]
    if wrong.size:
        raise UserError(f"{name} must be from {first} to {first + count - 1}, not {wrong.flat[0]}")
    return (array.astype(np.int64).ravel() - first).astype(np.int32)


def _one_hot(numbers: np.ndarray, count: int) -> np.ndarray:
    vectors = np.zeros((len(numbers), count), np.float32)
    vectors[np.arange(len(numbers)), numbers] = 1
    return vectors


def _is_whole(number: Any) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)


def _short(thing: Any) -> str:
    """In one line."""
    text = " ".join(str(thing).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
