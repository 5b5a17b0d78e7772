"""What both bonuses for foreign loops share: learning, and their state as a file or a dictionary.

Unlike everything else here these classes are mutable, as such loops expect: what they have learned is one frozen
`Learner`, which learning replaces.
"""

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np

from action_balance.errors import UserError
from action_balance.interop import learner as compiled
from action_balance.interop import storage
from action_balance.interop.inputs import padded
from action_balance.interop.learner import Learner
from action_balance.interop.minibatches import Minibatches
from action_balance.interop.settings import BonusSettings
from action_balance.interop.tensors import to_numpy, to_tensors


class Module:
    """A bonus with everything that it has learned."""

    #: The class of the settings.
    _Settings: ClassVar[type[BonusSettings]]

    _settings: Any
    _learner: Learner
    _acting: tuple[jax.Array, ...]

    def __init__(self, settings: Any, state: Any) -> None:
        self._restore(settings, state)

    def state_dict(self, tensors: bool | None = None) -> dict[str, Any]:
        """Settings and a copy of everything learned, for your own checkpoints."""
        state = storage.to_dict(type(self).__name__, asdict(self._settings), self._state())
        if tensors or (tensors is None and "torch" in sys.modules):
            state["arrays"] = to_tensors(state["arrays"])
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, with its settings; the bonus continues bit for bit."""
        settings, restored = storage.from_dict(state, type(self).__name__, self._Settings)
        ours, theirs = self._settings, settings
        if (ours.spaces, ours.width) != (theirs.spaces, theirs.width):
            raise UserError(
                "the state belongs to other spaces or another width: create the module with the original settings"
            )
        self._restore(settings, restored)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write settings and everything learned to one file."""
        storage.save(path, type(self).__name__, asdict(self._settings), self._state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a bonus written by `save`; it continues bit for bit."""
        return cls(*storage.load(path, cls.__name__, cls._Settings))

    @classmethod
    def _of(cls, state: Mapping[str, Any]) -> Self:
        return cls(*storage.from_dict(state, cls.__name__, cls._Settings))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, and processes that are started with one, get everything learned."""
        return self._of, (self.state_dict(tensors=False),)

    def _state(self) -> Any:
        """Everything learned, as one tree."""
        return self._learner

    def _restore(self, settings: Any, state: Any) -> None:
        """Replace everything learned."""
        self._settings = settings
        self._replace(state)

    def _replace(self, learner: Learner) -> None:
        self._learner, self._acting = learner, learner.acting

    def _observe(self, obs: Any, name: str) -> None:
        seen, _ = self._settings.spaces.observations(to_numpy(obs), name)
        stats = compiled.update_stats(self._learner.obs_stats, padded(seen), len(seen))
        self._replace(replace(self._learner, obs_stats=stats))

    def _learn(self, seen: np.ndarray, taken: np.ndarray | None, minibatches: Minibatches) -> float:
        """Learn from a batch; the mean error of its samples in the first epoch, each before its gradient step."""
        if not len(seen):  # no step of a short rollout has counted
            return 0.0
        learner, settings, batch = self._learner, self._settings, padded(seen)
        order, counts = minibatches.order(len(seen), len(batch), (settings.seed, learner.gradient_steps))
        actions = None if taken is None else padded(taken)
        learner, found = compiled.learn(
            settings.bonus, learner, batch, actions, len(seen), order, counts, settings.learning_rate
        )
        errors = np.asarray(found)
        if not np.isfinite(errors).all():
            raise UserError("the predictor's error is not finite, so nothing was learned: lower learning_rate")
        self._replace(learner)
        first = slice(minibatches.count)
        return float(np.average(errors[first], weights=counts[first]))


def cut(batch: jax.Array, lead: tuple[int, ...]) -> np.ndarray:
    """Results without padding, with the leading axes of the observations, as an array of the caller's own."""
    return np.array(batch)[: math.prod(lead)].reshape((*lead, *batch.shape[1:]))


def counted(valid: Any, lead: tuple[int, ...]) -> np.ndarray:
    """Which steps count, as a caller says."""
    if valid is None:
        return np.ones(lead, bool)
    given = np.asarray(to_numpy(valid))
    if given.shape != lead or given.dtype.kind != "b":
        raise UserError(
            f"valid is {given.dtype} {given.shape}, but must be bool {lead}: one entry for each observation"
        )
    return given
