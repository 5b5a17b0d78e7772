"""What both uses of a bonus in a foreign loop share: learning, and their state as a file or a dictionary.

Unlike everything else here these classes are mutable, as such loops expect: what they have learned is one frozen
`Learner`, which learning replaces.
"""

import math
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from operator import index, itemgetter
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.bonuses.base import Bonus
from action_balance.config.frozen import FrozenDict
from action_balance.core.running_stats import RunningMeanStd
from action_balance.errors import UserError
from action_balance.interop import learner as compiled
from action_balance.interop import storage
from action_balance.interop.inputs import Spaces, padded, parts_of
from action_balance.interop.learner import Learner, Steps
from action_balance.interop.minibatches import Minibatches
from action_balance.interop.settings import BonusSettings, default_width
from action_balance.interop.tensors import to_numpy, to_tensors


class Module:
    """A bonus with everything that it has learned."""

    #: The class of the settings.
    _Settings: ClassVar[type[BonusSettings]]

    _settings: Any
    _bonus: Bonus
    _learner: Learner
    _leaves: tuple[jax.Array, ...]
    _made: bool  # whether the bonus has learned or, before that, was made with the observation statistics of now

    def __init__(self, settings: Any, bonus: Bonus, state: Any) -> None:
        self._restore(settings, bonus, state)

    @classmethod
    def _create(
        cls,
        name: str,
        kind: type[Bonus],
        settings: Mapping[str, Any] | None,
        spaces: Spaces,
        learning_rate: float,
        width: int | None,
        seed: int,
        **own: Any,
    ) -> Self:
        chosen = cls._Settings(
            spaces=spaces,
            bonus=name,
            bonus_settings=FrozenDict(settings or {}),
            learning_rate=float(learning_rate),
            width=default_width(width, spaces),
            seed=index(seed),
            **own,
        )
        bonus = chosen.make(kind)
        return cls(chosen, bonus, chosen.init(bonus))

    @property
    def has_loss(self) -> bool:
        """Whether the bonus has networks that `learn` trains, rather than counts alone."""
        return bool(jax.tree.leaves(self._learner.params))

    def state_dict(self, tensors: bool | None = None) -> dict[str, Any]:
        """Settings and a copy of everything learned, for your own checkpoints."""
        state = storage.to_dict(type(self).__name__, asdict(self._settings), self._state())
        if tensors or (tensors is None and "torch" in sys.modules):
            state["arrays"] = to_tensors(state["arrays"])
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned, with its settings; the bonus continues bit for bit."""
        restored = storage.from_dict(state, type(self).__name__, self._Settings, type(self._bonus))
        ours, theirs = ((one.spaces, one.width, one.bonus, one.bonus_settings) for one in (self._settings, restored[0]))
        if ours != theirs:
            raise UserError(
                "the state belongs to other spaces, another width or another bonus: create the module with the "
                "original settings"
            )
        self._restore(*restored)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write settings and everything learned to one file."""
        storage.save(path, type(self).__name__, asdict(self._settings), self._state())

    @classmethod
    def _load(cls, path: str | os.PathLike[str], own: Any) -> Self:
        return cls(*storage.load(path, cls.__name__, cls._Settings, own))

    @classmethod
    def _of(cls, state: Mapping[str, Any], kind: type[Bonus]) -> Self:
        return cls(*storage.from_dict(state, cls.__name__, cls._Settings, kind))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, and processes that are started with one, get everything learned."""
        return self._of, (self.state_dict(tensors=False), type(self._bonus))

    def _state(self) -> Any:
        return self._current()

    def _restore(self, settings: Any, bonus: Bonus, state: Any) -> None:
        self._settings, self._bonus = settings, bonus
        self._replace(state)

    def _replace(self, learner: Learner, made: bool = True) -> None:
        self._learner, self._leaves, self._made = learner, learner.acting, made

    def _current(self) -> Learner:
        """What was learned; before that, the bonus as it is made with the statistics of now."""
        if not self._made:
            self._replace(self._begun(self._learner.obs_stats))
        return self._learner

    def _begun(self, stats: RunningMeanStd) -> Learner:
        return compiled.init_program(self._bonus, jnp.int32(self._settings.seed), stats)

    @property
    def _acting(self) -> tuple[jax.Array, ...]:
        self._current()
        return self._leaves

    def _observe(self, obs: Any, name: str) -> None:
        seen, _ = self._settings.spaces.observations(to_numpy(obs), name)
        learner = self._learner
        stats = compiled.update_stats(learner.obs_stats, padded(seen), len(seen))
        made = bool(learner.updates) or not self._bonus.uses_obs_stats
        self._replace(replace(learner, obs_stats=stats), made)

    def _learn_each(self, steps: Steps, lead: tuple[int, ...], valid: Any, minibatches: Minibatches) -> float:
        """Learn from the valid ones of single steps, in any order."""
        if valid is not None:
            which = flags("valid", valid, lead).ravel()
            steps = steps.each(lambda batch: batch[which])
        parts = (steps.each(itemgetter((np.newaxis, part))) for part in parts_of(len(steps.seen)))
        return self._learn(steps, parts, minibatches)

    def _learn(self, steps: Steps, visited: Iterable[Steps], minibatches: Minibatches) -> float:
        """Learn from a batch, which ``visited`` has as rollouts, too; the mean loss of its samples in the first epoch,
        each before its gradient step."""
        size, settings, bonus = len(steps.seen), self._settings, self._bonus
        if not size:  # no step of a short rollout has counted
            return 0.0
        learner, batch = self._current(), steps.each(padded)
        before = learner.obs_stats
        if not (learner.updates or before.count) and bonus.uses_obs_stats:
            learner = self._begun(compiled.update_stats(before, batch.seen, size))
        if compiled.counts_visits(bonus):
            for part, rollout in enumerate(visited):
                learner = replace(learner, state=compiled.count(bonus, learner, rollout, settings.seed, part))
        if learner.obs_stats is not before:
            learner = replace(learner, obs_stats=before)
        error = 0.0
        if self.has_loss:
            order, counts = minibatches.order(size, len(batch.seen), (settings.seed, learner.gradient_steps))
            learner, found = compiled.learn(
                bonus, learner, batch, size, order, counts, settings.learning_rate, settings.seed
            )
            errors = np.asarray(found)
            if not np.isfinite(errors).all():
                raise UserError("the predictor's error is not finite, so nothing was learned: lower learning_rate")
            first = slice(minibatches.count)
            error = float(np.average(errors[first], weights=counts[first]))
        else:
            stats = compiled.update_stats(before, batch.seen, size)
            learner = replace(learner, obs_stats=stats, updates=jnp.int32(int(learner.updates) + 1))
        self._replace(learner)
        return error


def cut(batch: jax.Array, lead: tuple[int, ...]) -> np.ndarray:
    """Results without padding, with the leading axes of the observations, as an array of the caller's own."""
    return np.array(batch)[: math.prod(lead)].reshape((*lead, *batch.shape[1:]))


def flags(name: str, given: Any, lead: tuple[int, ...]) -> np.ndarray:
    """One bool for each observation; None stands for true."""
    if given is None:
        return np.ones(lead, bool)
    array = np.asarray(to_numpy(given))
    if array.shape != lead or array.dtype.kind != "b":
        raise UserError(
            f"{name} is {array.dtype} {array.shape}, but must be bool {lead}: one entry for each observation"
        )
    return array
