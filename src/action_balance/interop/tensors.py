"""PyTorch tensors from and for a foreign loop. PyTorch itself is never imported here: only its users have tensors.

A tensor on the CPU shares its memory with the NumPy array that is made of it, in both directions; one on another device
is copied. Bonuses then copy observations once, into batches of the sizes that they are compiled for.
"""

import sys
from typing import Any

import numpy as np

from action_balance.errors import UserError


def is_tensor(given: Any) -> bool:
    """Whether an argument is a tensor of PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(given, torch.Tensor)


def to_numpy(given: Any) -> Any:
    """Tensors as NumPy arrays, without gradients; everything else as it is."""
    if is_tensor(given):
        known = given.float() if given.dtype is sys.modules["torch"].bfloat16 else given  # which NumPy does not know
        return known.numpy(force=True)  # without the gradient, from any device
    if isinstance(given, dict):
        return {name: to_numpy(part) for name, part in given.items()}
    if isinstance(given, tuple):
        return tuple(to_numpy(part) for part in given)
    return given


def like(result: np.ndarray, *given: Any) -> Any:
    """A result as the caller expects it: a tensor where the caller passed one."""
    tensor = next((found for one in given if (found := _first_tensor(one)) is not None), None)
    return result if tensor is None else sys.modules["torch"].from_numpy(result).to(tensor.device)


def _first_tensor(given: Any) -> Any:
    if isinstance(given, (dict, tuple)):
        parts = given.values() if isinstance(given, dict) else given
        return next((found for part in parts if (found := _first_tensor(part)) is not None), None)
    return given if is_tensor(given) else None


def to_tensors(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Arrays as tensors that share their memory."""
    torch = sys.modules.get("torch")
    if torch is None:
        raise UserError("tensors need PyTorch: import torch first, or leave out tensors=True")
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
