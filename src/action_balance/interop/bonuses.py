"""Bonuses for foreign training loops: `ActionBalance` for the logits of a policy, `RND` for an intrinsic reward.

Both are shells around the agent's own bonus classes. Unlike everything else here they are mutable, as such loops
expect: what they have learned is one frozen `Learner`, which `learn` replaces.
Axes: ... leading axes of many observations, A actions, T steps, N environments.
"""

import math
import os
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from operator import index
from typing import Any, Self, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.bonuses.base import Bonus
from action_balance.config.bonuses import Embedding
from action_balance.core.options import Normalization
from action_balance.core.running_stats import ReturnScale
from action_balance.envs.gymnasium.leaves import ObsLayout
from action_balance.errors import MOST, UserError, check_name
from action_balance.files import Data
from action_balance.interop import learner as compiled
from action_balance.interop import storage
from action_balance.interop.inputs import Spaces, padded, parts
from action_balance.interop.learner import Learner

#: Default width of the networks' layers: for vectors, and for images as in RND.
_WIDTH, _IMAGE_WIDTH = 128, 512


@dataclass(frozen=True)
class _Balanced:
    """Settings of an `ActionBalance`; `ActionBalance.create` explains them."""

    spaces: Spaces
    coef: float
    normalize: Normalization
    embedding: Embedding
    learning_rate: float
    width: int
    seed: int

    def __post_init__(self) -> None:
        _check_number("coef", self.coef, 0, 1e6)
        _check_common(self)
        check_name("normalize", self.normalize, get_args(Normalization))
        check_name("embedding", self.embedding, get_args(Embedding))
        if self.embedding == "channel" and not self.spaces.images:
            raise UserError("an action channel is for images: leave out embedding, or set it to one-hot")
        if self.embedding == "channel" and self.spaces.actions > self.spaces.seen_shape[0]:
            raise UserError(f"images are too low for an action channel of {self.spaces.actions} actions: use one-hot")

    @cached_property
    def bonus(self) -> Bonus:
        """The bonus class of the agent with these settings."""
        return compiled.make_bonus(self.spaces, self.width, self.embedding == "channel")

    def init(self) -> Learner:
        """A bonus that has learned nothing."""
        return compiled.init(self.bonus, jnp.int32(self.seed))


@dataclass(frozen=True)
class _Rewarded:
    """Settings of an `RND`; `RND.create` explains them."""

    spaces: Spaces
    environments: int
    gamma: float
    learning_rate: float
    width: int
    seed: int

    def __post_init__(self) -> None:
        _check_number("environments", self.environments, 1, MOST)
        _check_number("gamma", self.gamma, 0, 1)
        _check_common(self)

    @cached_property
    def bonus(self) -> Bonus:
        """The bonus class of the agent with these settings."""
        return compiled.make_bonus(self.spaces, self.width, as_channel=False)

    def init(self) -> tuple[Learner, ReturnScale]:
        """A bonus that has learned nothing."""
        return compiled.init(self.bonus, jnp.int32(self.seed)), ReturnScale.empty(self.environments)


class ActionBalance:
    """Action balance for a policy with discrete actions: rarely tried actions of a state get tried (Eq. 5).

    While acting, `logits` turns the policy's logits into those to sample from. Afterwards, `learn` takes the actions
    that were taken. Observations are single, or many with leading axes, e.g. (B, ...) or (T, N, ...).
    """

    def __init__(self, settings: _Balanced, learner: Learner) -> None:
        self._settings = settings
        self._learner = learner

    @classmethod
    def create(
        cls,
        obs_space: Any,
        action_space: Any,
        *,
        coef: float = 1.0,
        normalize: Normalization = "l2",
        embedding: Embedding = "one-hot",
        learning_rate: float = 3e-4,
        width: int | None = None,
        seed: int = 0,
        layout: ObsLayout = "auto",
    ) -> Self:
        """Create a bonus that has learned nothing; the same seed creates the same bonus.

        Args:
            obs_space: A space of Gymnasium, or the shape of an observation. Arrays of 44 x 44 pixels or more are
                images, whose other axes are channels, unless ``layout`` says otherwise.
            action_space: A Discrete, MultiDiscrete or MultiBinary space, or the number of actions. A counts the choices
                of all components.
            coef: c of Eq. 5. With ``l2``, logits increase by at most this much.
            normalize: ``Normalize`` of Eq. 5: ``l2``, ``standard`` or ``raw``, see `action_balance.normalize`.
            embedding: ``channel`` also shows the action to the convolutions (Eq. 3); images only.
            learning_rate: Learning rate of Adam; the lower, the longer an action stays new.
            width: Width of the networks' layers (default: 128 for vectors, 512 for images).
            seed: Seed of both networks.
            layout: How arrays of observations are laid out: ``auto``, ``hwc``, ``chw``, ``stack`` or ``vector``.

        Returns:
            The bonus.
        """
        spaces = Spaces.of(obs_space, _given("action_space", action_space), layout)
        rate, wide = float(learning_rate), _width(width, spaces)
        settings = _Balanced(spaces, float(coef), normalize, embedding, rate, wide, index(seed))
        return cls(settings, settings.init())

    def logits(self, obs: Any, logits: Any, coef: float | None = None) -> np.ndarray:
        """Logits of the behaviour policy beta (Eq. 5); sample from their softmax.

        Args:
            obs: Observations, (..., *shape).
            logits: Logits of the policy pi, (..., A); minus infinity forbids an action.
            coef: Replaces the coefficient of `create`, e.g. by a schedule.

        Returns:
            Balanced logits, (..., A) float32.
        """
        settings = self._settings
        coef = settings.coef if coef is None else _check_number("coef", coef, 0, 1e6)
        seen, lead = settings.spaces.observations(obs)
        given = settings.spaces.logits(logits, lead)
        balanced = compiled.behaviour_logits(
            settings.bonus, self._learner, padded(seen), padded(given), coef, settings.normalize
        )
        return _cut(balanced, lead)

    def bonus(self, obs: Any) -> np.ndarray:
        """The action bonus r_ab(s, .) (Eq. 4): the higher, the more rarely an action was tried.

        Args:
            obs: Observations, (..., *shape).

        Returns:
            One bonus per action, (..., A) float32.
        """
        seen, lead = self._settings.spaces.observations(obs)
        return _cut(compiled.action_errors(self._settings.bonus, self._learner, padded(seen)), lead)

    def observe(self, obs: Any) -> None:
        """Update the observation statistics only.

        For the steps of a random agent before the first `learn`: until then, the scale of observations is unknown.

        Args:
            obs: Observations, (..., *shape).
        """
        self._learner = _observe(self._learner, self._settings.spaces.observations(obs)[0])

    def learn(self, obs: Any, actions: Any) -> float:
        """Update the observation statistics, then take one gradient step on the pairs that were taken (Eq. 2).

        Args:
            obs: Observations, (..., *shape).
            actions: The action taken in each, (...).

        Returns:
            The mean error of these pairs before the step.
        """
        seen, lead = self._settings.spaces.observations(obs)
        taken = self._settings.spaces.taken(actions, lead)
        settings = self._settings
        self._learner, error = _learn(settings.bonus, self._learner, seen, taken, settings.learning_rate)
        return error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write settings and everything learned to one file.

        Args:
            path: The file.
        """
        storage.save(path, "ActionBalance", asdict(self._settings), self._learner)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a bonus that `save` wrote; it continues bit for bit.

        Args:
            path: The file.

        Returns:
            The bonus.
        """
        return cls(*storage.load(path, "ActionBalance", lambda data: _Balanced(**_read(data)), _like))


class RND:
    """Random network distillation as a reward for any agent: rarely reached states are worth more (Eq. 1).

    After a step or a rollout, call `reward` first, then `learn`, once each: the reward uses what was known before.
    """

    def __init__(self, settings: _Rewarded, state: tuple[Learner, ReturnScale]) -> None:
        self._settings = settings
        self._learner, self._scale = state

    @classmethod
    def create(
        cls,
        obs_space: Any,
        *,
        environments: int = 1,
        gamma: float = 0.99,
        learning_rate: float = 3e-4,
        width: int | None = None,
        seed: int = 0,
        layout: ObsLayout = "auto",
    ) -> Self:
        """Create a bonus that has learned nothing; the same seed creates the same bonus.

        Args:
            obs_space: A Box or Discrete space of Gymnasium, or the shape of an observation, as for `ActionBalance`.
            environments: N, the number of environments that step together; each has its own intrinsic return.
            gamma: Discount of the intrinsic return.
            learning_rate: Learning rate of Adam.
            width: Width of the networks' layers (default: 128 for vectors, 512 for images).
            seed: Seed of both networks.
            layout: How arrays of observations are laid out: ``auto``, ``hwc``, ``chw``, ``stack`` or ``vector``.

        Returns:
            The bonus.
        """
        spaces = Spaces.of(obs_space, layout=layout)
        rate, wide = float(learning_rate), _width(width, spaces)
        settings = _Rewarded(spaces, index(environments), float(gamma), rate, wide, index(seed))
        return cls(settings, settings.init())

    def bonus(self, next_obs: Any) -> np.ndarray:
        """The raw errors of states (Eq. 1).

        Args:
            next_obs: Observations, (..., *shape).

        Returns:
            One error per observation, (...) float32.
        """
        seen, lead = self._settings.spaces.observations(next_obs, "next_obs")
        return _cut(compiled.state_errors(self._settings.bonus, self._learner, padded(seen)), lead)

    def reward(self, next_obs: Any) -> np.ndarray:
        """Intrinsic rewards: errors of the states that were reached, over the standard deviation of their returns.

        Returns run along time from call to call, and are not cut at episode ends. The spread along time is not known
        after a single first step, and its rewards are 0.

        Args:
            next_obs: Observations after each step: (T, N, *shape) of a rollout, (N, *shape) of one step, or (*shape)
                with a single environment.

        Returns:
            Rewards, float32, with the leading axes of the observations.
        """
        bonus, environments = self.bonus(next_obs), self._settings.environments
        fits = bonus.shape[-1:] == (environments,) if bonus.ndim else environments == 1
        if bonus.ndim > 2 or not fits:
            raise UserError(
                f"next_obs has the leading axes {bonus.shape}, and there is {environments} environment(s): pass "
                f"({environments},) for one step or (T, {environments}) for a rollout"
            )
        for part in parts(bonus.reshape(-1, environments)):
            self._scale, reciprocal = compiled.update_scale(self._scale, part, self._settings.gamma)
        return bonus * np.float32(reciprocal)

    def observe(self, next_obs: Any) -> None:
        """Update the observation statistics only, e.g. with the steps of a random agent.

        Args:
            next_obs: Observations, (..., *shape).
        """
        self._learner = _observe(self._learner, self._settings.spaces.observations(next_obs, "next_obs")[0])

    def learn(self, next_obs: Any) -> float:
        """Update the observation statistics, then take one gradient step on the states that were reached.

        Args:
            next_obs: Observations after each step, (..., *shape).

        Returns:
            The mean error of these states before the step.
        """
        seen, _ = self._settings.spaces.observations(next_obs, "next_obs")
        settings = self._settings
        self._learner, error = _learn(settings.bonus, self._learner, seen, None, settings.learning_rate)
        return error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write settings and everything learned to one file.

        Args:
            path: The file.
        """
        storage.save(path, "RND", asdict(self._settings), (self._learner, self._scale))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a bonus that `save` wrote; it continues bit for bit.

        Args:
            path: The file.

        Returns:
            The bonus.
        """
        return cls(*storage.load(path, "RND", lambda data: _Rewarded(**_read(data)), _like))


def _observe(learner: Learner, seen: np.ndarray) -> Learner:
    stats = learner.obs_stats
    for part in parts(seen):
        stats = compiled.update_stats(stats, part)
    return replace(learner, obs_stats=stats)


def _learn(
    bonus: Bonus, learner: Learner, seen: np.ndarray, taken: np.ndarray | None, rate: float
) -> tuple[Learner, float]:
    """The learner after a batch, and the mean error of the batch."""
    learner = _observe(learner, seen)
    actions = None if taken is None else padded(taken)
    learner, error = compiled.step(bonus, learner, padded(seen), actions, len(seen), rate)
    if not math.isfinite(error):
        raise UserError("the error of the predictor is not finite, and nothing was learned: lower learning_rate")
    return learner, float(error)


def _cut(batch: jax.Array, lead: tuple[int, ...]) -> np.ndarray:
    """Results without padding, with the leading axes of the observations, as an array of the caller's own."""
    return np.array(batch)[: math.prod(lead)].reshape((*lead, *batch.shape[1:]))


def _like(settings: _Balanced | _Rewarded) -> Any:
    return eqx.filter_eval_shape(settings.init)


def _read(settings: Data) -> Data:
    """Settings from plain data."""
    return {**settings, "spaces": Spaces.from_dict(settings["spaces"])}


def _width(width: int | None, spaces: Spaces) -> int:
    default = _IMAGE_WIDTH if spaces.images else _WIDTH
    return default if width is None else index(width)


def _given(name: str, value: Any) -> Any:
    if value is None:
        raise UserError(f"{name} is missing: pass a Discrete space or the number of actions")
    return value


def _check_common(settings: _Balanced | _Rewarded) -> None:
    _check_number("learning_rate", settings.learning_rate, 0, 1)
    _check_number("width", settings.width, 1, MOST)
    _check_number("seed", settings.seed, 0, MOST)


def _check_number(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise UserError(f"{name} must be from {low:g} to {high:.12g}, not {value}")
    return float(value)
