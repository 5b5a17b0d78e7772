"""Action masks on the host: which choices the next action may be made of. Nothing here imports JAX.

Gymnasium gives the mask of a `Discrete` action as one array, and that of a `MultiDiscrete` action as a tuple of arrays;
Stable-Baselines3 joins the components. The agent sees one vector over the choices of all components.
Axes: M environments, A choices of all action components, C components.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Integer, Shaped


class BadMask(Exception):
    """A mask that cannot be used; the message is the part of a line after the name of the environment."""


def mask_vector(given: Any, nvec: tuple[int, ...]) -> Shaped[np.ndarray, " A"]:
    if not isinstance(given, np.ndarray):
        parts = [np.asarray(one).ravel() for one in _leaves(given)]
        given = np.concatenate(parts) if parts else np.zeros(0)
    vector: np.ndarray = given if given.ndim == 1 else given.ravel()
    if len(vector) != sum(nvec):
        raise BadMask(
            f"an action mask has {len(vector)} entries, but there are {_described(nvec)}: fix the mask or the space"
        )
    return vector


def allowed(masks: Shaped[np.ndarray, "M A"], nvec: tuple[int, ...]) -> Bool[np.ndarray, "M A"]:
    if masks.dtype != bool:
        if masks.dtype.kind not in "iuf" or not ((masks == 0) | (masks == 1)).all():
            raise BadMask("an action mask has entries other than 0 and 1: use 1 for allowed actions")
        masks = masks.astype(bool)
    if len(nvec) == 1:
        if not masks.any(axis=1).all():
            raise BadMask("an action mask allows no action: allow one in every state, or end the episode")
        return masks
    some = np.logical_or.reduceat(masks, _starts(nvec), axis=1)
    if not some.all():
        place = int(np.argwhere(~some)[0, 1])
        raise BadMask(
            f"an action mask allows no choice for action component {place}: allow at least one for each component"
        )
    return masks


def mask_rows(given: Any, envs: int, nvec: tuple[int, ...]) -> Shaped[np.ndarray, "M A"]:
    """The masks of a group as a vector environment gives them: one array, a tuple of components, or one of each."""
    if isinstance(given, tuple) and len(given) == len(nvec) > 1 and all(np.ndim(one) == 2 for one in given):
        given = np.concatenate(given, axis=1)
    if len(given) != envs:
        raise BadMask(f"there are {len(given)} action masks for {envs} environments: provide one for each")
    if isinstance(given, np.ndarray) and given.dtype != object:
        rows = given.reshape(envs, -1)
        mask_vector(rows[0], nvec)
        return rows
    return np.stack([mask_vector(one, nvec) for one in given])


def sample_allowed(
    generator: np.random.Generator, mask: Bool[np.ndarray, "M A"], nvec: tuple[int, ...]
) -> Integer[np.ndarray, "M ..."]:
    """Actions that are uniformly random over what is allowed."""
    drawn = np.where(mask, generator.random(mask.shape), -1.0)
    chosen = [part.argmax(axis=1) for part in np.split(drawn, _starts(nvec)[1:], axis=1)]
    return chosen[0] if len(chosen) == 1 else np.stack(chosen, axis=1)


def _starts(nvec: Sequence[int]) -> Integer[np.ndarray, " C"]:
    return np.cumsum([0, *nvec[:-1]])


def _leaves(given: Any) -> list[Any]:
    """The arrays of a mask; a list of numbers is one array."""
    if isinstance(given, tuple | list) and any(isinstance(one, tuple | list | np.ndarray) for one in given):
        return [leaf for one in given for leaf in _leaves(one)]
    return [given]


def _described(nvec: Sequence[int]) -> str:
    if not nvec:
        return "only continuous actions"
    return f"{nvec[0]} actions" if len(nvec) == 1 else f"action components of {', '.join(map(str, nvec))} choices"
