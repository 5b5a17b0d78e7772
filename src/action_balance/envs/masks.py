"""Action masks on the host: which choices the next action may be made of. Nothing here imports JAX.

Gymnasium gives the mask of a `Discrete` action as one array, and that of a `MultiDiscrete` action as a tuple of arrays;
Stable-Baselines3 joins the components. The agent sees one vector over the choices of all components.
Axes: M environments, A choices of all action components, C components.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Integer


class BadMask(Exception):
    """A mask that cannot be used; the message is the part of a line after the name of the environment."""


def flat_mask(given: Any, nvec: tuple[int, ...]) -> Bool[np.ndarray, " A"]:
    """The mask of one environment as a vector.

    Args:
        given: an array of zeros and ones, or a tuple of them, one for each action component.
        nvec: number of choices of each action component.

    Returns:
        Which choices are allowed; a `BadMask` if it is no mask of such actions.
    """
    parts = [np.asarray(one).ravel() for one in _leaves(given)]
    vector = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0)
    if vector.size != sum(nvec):
        shown = f"{nvec[0]} actions" if len(nvec) == 1 else f"components of {_listed(nvec)} choices"
        raise BadMask(f"an action mask has {vector.size} entries, and the action_space has {shown}: make them the same")
    if vector.dtype.kind == "b":
        return vector
    if vector.dtype.kind not in "iuf" or not ((vector == 0) | (vector == 1)).all():
        raise BadMask("an action mask has other entries than 0 and 1: use 1 for actions that are allowed, 0 for others")
    return vector.astype(bool)


def check_allowed(mask: Bool[np.ndarray, "M A"], nvec: tuple[int, ...]) -> None:
    """Raise a `BadMask` where no choice of an action component is allowed.

    Args:
        mask: which choices are allowed.
        nvec: number of choices of each action component.
    """
    if len(nvec) == 1:
        if not mask.any(axis=1).all():
            raise BadMask("an action mask allows no action: allow at least one in every state that is not the last")
        return
    allowed = np.logical_or.reduceat(mask, _starts(nvec), axis=1)
    if not allowed.all():
        place = int(np.argwhere(~allowed)[0, 1])
        raise BadMask(f"an action mask allows no choice of component {place}: allow at least one of each component")


def sample_allowed(
    generator: np.random.Generator, mask: Bool[np.ndarray, "M A"], nvec: tuple[int, ...]
) -> Integer[np.ndarray, "M ..."]:
    """Actions that are uniformly random over what is allowed.

    Args:
        generator: draws them.
        mask: which choices are allowed, at least one of each component.
        nvec: number of choices of each action component.

    Returns:
        The actions, (M,) with one component, else (M, C).
    """
    drawn = np.where(mask, generator.random(mask.shape), -1.0)
    starts = _starts(nvec)
    chosen = [drawn[:, start : start + count].argmax(axis=1) for start, count in zip(starts, nvec, strict=True)]
    return chosen[0] if len(chosen) == 1 else np.stack(chosen, axis=1)


def _starts(nvec: Sequence[int]) -> Integer[np.ndarray, " C"]:
    return np.cumsum([0, *nvec[:-1]])


def _leaves(given: Any) -> list[Any]:
    """The arrays of a mask; a list of numbers is one array."""
    if (
        isinstance(given, tuple | list)
        and given
        and any(np.ndim(one) or isinstance(one, tuple | list) for one in given)
    ):
        return [leaf for one in given for leaf in _leaves(one)]
    return [given]


def _listed(nvec: Sequence[int]) -> str:
    return ", ".join(map(str, nvec))
