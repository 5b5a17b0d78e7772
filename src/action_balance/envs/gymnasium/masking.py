"""Where a Gymnasium environment says which actions are allowed, and how its masks are read.

Either ``info["action_mask"]`` of ``reset()`` and ``step()``, as Gymnasium's own environments have it, or a method
``action_masks()`` of the environment or of one of its wrappers, as sb3-contrib expects it.
"""

from typing import Any, Literal

import numpy as np
from gymnasium import Env
from jaxtyping import Shaped

from action_balance.envs.masks import BadMask, mask_vector

#: The key of the mask in infos.
KEY = "action_mask"
#: The name of the method.
METHOD = "action_masks"

#: What else to do about masks that cannot be used.
IGNORE = "use --action-masks ignore"

#: Where the masks are; empty where there are none.
MaskSource = Literal["", "info", "method"]


def find_masks(env: Env[Any, Any], info: dict[str, Any]) -> MaskSource:
    """Where an environment gives its masks. The method wins: a wrapper that has it is there for nothing else."""
    if env.has_wrapper_attr(METHOD):
        return "method"
    return "" if mask_in(info) is None else "info"


def mask_in(info: Any) -> Any:
    """The mask in an info; None if there is none, also where an info is no dictionary."""
    return info.get(KEY) if isinstance(info, dict) else None


class MaskReader:
    """Reads the masks of one environment."""

    def __init__(self, env: Env[Any, Any], source: MaskSource, nvec: tuple[int, ...]) -> None:
        self._method = env.get_wrapper_attr(METHOD) if source == "method" else None
        self._nvec = nvec

    def __call__(self, info: dict[str, Any]) -> Shaped[np.ndarray, " A"]:
        given = mask_in(info) if self._method is None else self._method()
        if given is None:
            raise missing_mask(self._method is not None)
        return mask_vector(given, self._nvec)


def missing_mask(method: bool = False) -> BadMask:
    """The error for an environment that gives masks, but not this time."""
    where = f"{METHOD}() returned no mask" if method else f"an info has no {KEY}, but others have one"
    return BadMask(f"{where}: provide a mask in reset() and in every step, or {IGNORE}")
