"""PyTorch tensors from and for a foreign loop. PyTorch itself is never imported here: only its users have tensors.

A tensor on the CPU shares its memory with the NumPy array that is made of it, in both directions; one on another device
is copied. Bonuses then copy observations once, into batches of the sizes that they are compiled for.
"""

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from action_balance.core.candidates import LEAST, TINY
from action_balance.errors import UserError


def is_tensor(given: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(given, torch.Tensor)


def to_numpy(given: Any) -> Any:
    """Tensors as NumPy arrays, without gradients; everything else as it is."""
    return mapped(_as_array, given)


def _as_array(given: Any) -> Any:
    if not is_tensor(given):
        return given
    known = given.float() if given.dtype is sys.modules["torch"].bfloat16 else given  # which NumPy does not know
    return known.numpy(force=True)  # without the gradient, from any device


def mapped(function: Callable[..., Any], obs: Any, *others: Any) -> Any:
    """A function of each array of observations, which may be dictionaries or tuples, and of the same part of others."""
    if isinstance(obs, dict):
        return {name: mapped(function, part, *(other[name] for other in others)) for name, part in obs.items()}
    if isinstance(obs, tuple):
        return tuple(mapped(function, part, *(other[place] for other in others)) for place, part in enumerate(obs))
    return function(obs, *others)


def stacked(seen: Sequence[Any]) -> Any:
    return mapped(lambda *parts: np.stack(parts), *seen)


def like(result: np.ndarray, *given: Any) -> Any:
    """A result as the caller expects it: a tensor where the caller passed one."""
    tensors = list[Any]()
    mapped(lambda part: tensors.append(part) if is_tensor(part) else None, given)
    return sys.modules["torch"].from_numpy(result).to(tensors[0].device) if tensors else result


def candidate_log_weight(shift: Any, drift: Any, chosen: Any) -> Any:
    """``log q(a) - log pi(a)`` of an action that was drawn from K candidates by ``softmax(shift)``, for PPO in PyTorch.

    It is `action_balance.core.candidates.log_weight` for tensors: q is the density of the whole procedure, and the
    gradient flows through ``drift``. In PPO's ratio, use ``log pi(a)`` plus this number, old and new; the old one has
    a drift of 0.

    Args:
        shift: `ActionBalance.shift` of the candidates, (..., K).
        drift: By how much the log-probabilities of the candidates have changed since they were drawn, (..., K).
        chosen: Which candidate was drawn, (...) int64.

    Returns:
        One number per action, (...).
    """
    mine, shares = chosen[..., None], shift.softmax(-1).clamp(min=TINY)
    weight = shift.gather(-1, mine)[..., 0] + math.log(shift.shape[-1]) - shift.logsumexp(-1)
    others = (shares / (1 - shares).clamp(min=LEAST)).scatter(-1, mine, 0.0)
    total = others.sum(-1)
    return weight - total * ((drift + others.log()).logsumexp(-1) - total.log())


def to_tensors(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    torch = sys.modules.get("torch")
    if torch is None:
        raise UserError("tensors need PyTorch: import torch first, or leave out tensors=True")
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
