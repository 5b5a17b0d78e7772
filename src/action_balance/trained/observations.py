"""Observations and actions as the environment has them, to and from what an agent sees and chooses.

Axes: ... leading axes of a batch, B observations of all of them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from action_balance.config.serialization import from_dict
from action_balance.envs.actions import for_agent
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.interop.inputs import Spaces


@dataclass(frozen=True)
class Translator:
    """Translates between an environment and an agent that was built for it; the environment itself is not needed."""

    spec: EnvSpec  # what the agent was built for
    spaces: Spaces | None = None
    """The environment's own spaces; None where an observation is an array as in the spec, and actions count from 0."""

    @classmethod
    def of(cls, spec: EnvSpec, spaces: Data | None) -> "Translator":
        """From plain data, which somebody else may have written."""
        if spaces is None:
            return cls(spec)
        try:
            found = from_dict(Spaces, spaces)
            same = (found.encoding.shape, found.encoding.dtype) == (spec.frame_shape, spec.dtype)
            same = same and (found.choices.nvec, found.choices.bounds) == (spec.nvec, spec.bounds)
            same = same and all(part.is_sound for part in found.choices.parts)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, UserError):
            same = False
        if not same:
            raise UserError("the spaces of the environment are damaged: use another copy")
        return cls(spec, found)

    @property
    def stacks(self) -> bool:
        return self.spec.is_stack and self.spec.shape[0] > 1

    def frames(self, obs: Any) -> tuple[np.ndarray, tuple[int, ...]]:
        """The frames of one or many observations of the environment."""
        if self.spaces is None:
            return _arrays(obs, self.spec.frame_shape, self.spec.dtype, "observation")
        if isinstance(obs, list) and obs and isinstance(obs[0], dict | tuple):
            return np.concatenate([self.spaces.observations(one)[0] for one in obs]), (len(obs),)
        return self.spaces.observations(obs)

    def observations(self, obs: Any) -> tuple[np.ndarray, tuple[int, ...]]:
        """What the agent sees of one or many observations, (B, ...), and the leading axes."""
        if self.stacks:
            return _arrays(obs, self.spec.shape, self.spec.dtype, "observation")
        frames, lead = self.frames(obs)
        return frames[:, None] if self.spec.is_stack else frames, lead

    def actions(self, chosen: np.ndarray, lead: tuple[int, ...]) -> Any:
        """Actions of the environment; continuous numbers are chosen in its units."""
        if self.spaces is not None:
            return self.spaces.choices(chosen, lead)
        chosen = chosen.astype(np.int64) if self.spec.lists_actions else chosen
        return chosen.reshape((*lead, *chosen.shape[1:]))[()]

    def taken(self, actions: Any, lead: tuple[int, ...]) -> np.ndarray:
        """Continuous actions of the environment as the agent knows them, (B, n)."""
        if self.spaces is not None:
            return self.spaces.taken(actions, lead)
        found, axes = _arrays(actions, self.spec.action_shape, "float64", "action")
        if axes != lead:
            raise UserError(f"the actions have the axes {axes}, but the observations {lead}: pass one action for each")
        return for_agent(self.spec, found)


def _arrays(given: Any, shape: tuple[int, ...], dtype: str, name: str) -> tuple[np.ndarray, tuple[int, ...]]:
    """Arrays of a known shape, (B, ...), and their leading axes; a `UserError` for anything else."""
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError):  # a ragged list; a tensor with gradients
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise UserError(f"an {name} must be an array of numbers of shape {shape}, not {type(given).__name__}")
    lead = array.shape[: array.ndim - len(shape)]
    if array.ndim < len(shape) or array.shape[len(lead) :] != shape or not array.size:
        raise UserError(f"one {name} has shape {shape}, but {array.shape} was given: pass one {name}, or a batch")
    return array.astype(dtype).reshape(-1, *shape), lead
