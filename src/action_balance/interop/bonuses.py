"""What a foreign loop holds: `ActionBalance` for the logits of its policy, `RND` for a reward.

A loop of somebody else's changes things as it goes, and so do these two, unlike all else here: what they have learned
is one frozen `Learner`, and `learn` puts another in its place.
Axes: ... any axes of many observations, A actions, T steps, N environments.
"""

import math
import os
from dataclasses import asdict, dataclass, replace
from operator import index
from typing import Any, Literal, Self, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.core.balance import Normalization
from action_balance.core.running_stats import ReturnScale, RunningMeanStd
from action_balance.errors import MOST, UserError, check_name
from action_balance.files import Data
from action_balance.interop import learner as programs
from action_balance.interop import storage
from action_balance.interop.inputs import Spaces, padded, parts
from action_balance.interop.learner import Learner

#: What an action is to the networks: a vector at every fully connected layer, or an image beside the frame (Eq. 3).
Embedding = Literal["one-hot", "channel"]

#: Width of the networks' layers: for vectors, and for images as in RND.
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

    def fresh(self) -> Learner:
        """Nothing learned."""
        return programs.fresh(self.spaces, self.width, self.embedding == "channel", jnp.int32(self.seed))


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

    def fresh(self) -> tuple[Learner, ReturnScale]:
        """Nothing learned."""
        params = programs.fresh(self.spaces, self.width, False, jnp.int32(self.seed))
        return params, ReturnScale.empty(self.environments)


class ActionBalance:
    """Action balance for a policy with discrete actions: what was rarely tried in a state gets tried.

    While acting, `logits` turns the policy's logits into those to sample from. Afterwards, `learn` is told what was
    done. Observations are one, or many with further axes before its own, e.g. (B, ...) or (T, N, ...).
    """

    def __init__(self, settings: _Balanced, params: Learner) -> None:
        self._settings = settings
        self._learned = params

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
    ) -> Self:
        """One that has learned nothing; the same for the same seed.

        Args:
            obs_space: a Box or Discrete space of Gymnasium, or the shape of an observation. (H, W) and (K, H, W) from
                36 x 36 pixels on are grey images from 0 to 255 and stacks of them, of which the last frame is seen.
            action_space: a Discrete space, or the number of actions.
            coef: c of Eq. 5. With ``l2``, logits are raised by at most this.
            normalize: ``Normalize`` of Eq. 5: ``l2``, ``standard`` or ``raw``, see `action_balance.normalize`.
            embedding: ``channel`` shows the action to the convolutions, too (Eq. 3); for images only.
            learning_rate: of Adam; the less is learned at a time, the longer an action stays new.
            width: of the networks' layers; without it 128 for vectors, 512 for images.
            seed: of both networks.
        """
        spaces = Spaces.of(obs_space, _given("action_space", action_space))
        rate, wide = float(learning_rate), _width(width, spaces)
        settings = _Balanced(spaces, float(coef), normalize, embedding, rate, wide, index(seed))
        return cls(settings, settings.fresh())

    def logits(self, obs: Any, logits: Any, coef: float | None = None) -> np.ndarray:
        """Logits of the behaviour policy beta (Eq. 5), (..., A) float32; sample from their softmax.

        Args:
            obs: observations, (..., *shape).
            logits: those of the policy pi, (..., A); minus infinity forbids an action.
            coef: in place of that from `create`, e.g. one that declines.
        """
        settings = self._settings
        coef = settings.coef if coef is None else _check_number("coef", coef, 0, 1e6)
        seen, lead = settings.spaces.observations(obs)
        given = settings.spaces.logits(logits, lead)
        balanced = programs.behaviour_logits(self._learned, padded(seen), padded(given), coef, settings.normalize)
        return _cut(balanced, lead)

    def bonus(self, obs: Any) -> np.ndarray:
        """The action bonus r_ab(s, .) (Eq. 4), (..., A) float32: the higher, the more rarely tried."""
        seen, lead = self._settings.spaces.observations(obs)
        return _cut(programs.action_errors(self._learned, padded(seen)), lead)

    def observe(self, obs: Any) -> None:
        """Let the observation statistics absorb observations, and learn nothing else.

        For a random agent's steps before the first `learn`: until then, nobody knows what observations look like.
        """
        self._learned = _observed(self._learned, self._settings.spaces.observations(obs)[0])

    def learn(self, obs: Any, actions: Any) -> float:
        """One gradient step on the pairs that were taken (Eq. 2), after the statistics have absorbed the observations.

        Args:
            obs: observations, (..., *shape).
            actions: what was done in each, (...).

        Returns:
            The mean error of these pairs before the step.
        """
        seen, lead = self._settings.spaces.observations(obs)
        taken = self._settings.spaces.taken(actions, lead)
        self._learned, error = _learned(self._learned, seen, taken, self._settings.learning_rate)
        return error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to one file."""
        storage.save(path, "ActionBalance", asdict(self._settings), self._learned)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """As it was when it was saved; it goes on bit for bit."""
        return cls(*storage.load(path, "ActionBalance", lambda data: _Balanced(**_read(data)), _like))


class RND:
    """Random network distillation as a reward for any agent: states rarely reached are worth more (Eq. 1).

    After a step or a rollout, first `reward`, then `learn`, each once: the reward is of what was known before.
    """

    def __init__(self, settings: _Rewarded, state: tuple[Learner, ReturnScale]) -> None:
        self._settings = settings
        self._learned, self._returns = state

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
    ) -> Self:
        """One that has learned nothing; the same for the same seed.

        Args:
            obs_space: a Box or Discrete space of Gymnasium, or the shape of an observation, as for `ActionBalance`.
            environments: N, that step together; each has an intrinsic return of its own.
            gamma: discount of the intrinsic return.
            learning_rate: of Adam.
            width: of the networks' layers; without it 128 for vectors, 512 for images.
            seed: of both networks.
        """
        spaces = Spaces.of(obs_space)
        rate, wide = float(learning_rate), _width(width, spaces)
        settings = _Rewarded(spaces, index(environments), float(gamma), rate, wide, index(seed))
        return cls(settings, settings.fresh())

    def bonus(self, next_obs: Any) -> np.ndarray:
        """The raw errors of states (Eq. 1), (...) float32."""
        seen, lead = self._settings.spaces.observations(next_obs, "next_obs")
        return _cut(programs.state_errors(self._learned, padded(seen)), lead)

    def reward(self, next_obs: Any) -> np.ndarray:
        """Rewards of the states that were reached: errors over the standard deviation of their filtered returns.

        The returns run on along time from call to call, and are not cut where episodes end. Of a single first step no
        spread along time is known yet, and its rewards are 0.

        Args:
            next_obs: what was seen after each step: (T, N, *shape) of a rollout, (N, *shape) of one step, or (*shape)
                with a single environment.

        Returns:
            Rewards, float32, with the axes before those of an observation.
        """
        bonus, environments = self.bonus(next_obs), self._settings.environments
        fits = bonus.shape[-1:] == (environments,) if bonus.ndim else environments == 1
        if bonus.ndim > 2 or not fits:
            raise UserError(
                f"next_obs has the axes {bonus.shape} before those of an observation, and there is {environments} "
                f"environment(s): hand over ({environments},) of one step or (T, {environments}) of a rollout"
            )
        for part in parts(bonus.reshape(-1, environments)):
            self._returns, reciprocal = programs.absorb_rewards(self._returns, part, self._settings.gamma)
        return bonus * np.float32(reciprocal)

    def observe(self, next_obs: Any) -> None:
        """Let the observation statistics absorb observations, e.g. a random agent's, and learn nothing else."""
        self._learned = _observed(self._learned, self._settings.spaces.observations(next_obs, "next_obs")[0])

    def learn(self, next_obs: Any) -> float:
        """One gradient step on the states that were reached, after the statistics have absorbed them.

        Returns:
            The mean error of these states before the step.
        """
        seen, _ = self._settings.spaces.observations(next_obs, "next_obs")
        self._learned, error = _learned(self._learned, seen, None, self._settings.learning_rate)
        return error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to one file."""
        storage.save(path, "RND", asdict(self._settings), (self._learned, self._returns))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """As it was when it was saved; it goes on bit for bit."""
        return cls(*storage.load(path, "RND", lambda data: _Rewarded(**_read(data)), _like))


def _observed(params: Learner, seen: np.ndarray) -> Learner:
    statistics: RunningMeanStd = params.observations
    for part in parts(seen):
        statistics = programs.update(statistics, part)
    return replace(params, observations=statistics)


def _learned(params: Learner, seen: np.ndarray, taken: np.ndarray | None, rate: float) -> tuple[Learner, float]:
    """What is known after a batch, and its mean error."""
    params = _observed(params, seen)
    actions = None if taken is None else padded(taken)
    params, error = programs.step(params, padded(seen), actions, len(seen), rate)
    if not math.isfinite(error):
        raise UserError("the error of the predictor is not finite, and nothing was learned: lower learning_rate")
    return params, float(error)


def _cut(batch: jax.Array, lead: tuple[int, ...]) -> np.ndarray:
    """Results without padding, with the axes that the observations had, as the caller's own."""
    return np.array(batch)[: math.prod(lead)].reshape((*lead, *batch.shape[1:]))


def _like(settings: _Balanced | _Rewarded) -> Any:
    return eqx.filter_eval_shape(settings.fresh)


def _read(settings: Data) -> Data:
    """Settings from plain data."""
    spaces = settings["spaces"]
    return {**settings, "spaces": Spaces(**{**spaces, "shape": tuple(spaces["shape"])})}


def _width(width: int | None, spaces: Spaces) -> int:
    usual = _IMAGE_WIDTH if spaces.images else _WIDTH
    return usual if width is None else index(width)


def _given(name: str, value: Any) -> Any:
    if value is None:
        raise UserError(f"{name} is missing: use a Discrete or the number of actions")
    return value


def _check_common(settings: _Balanced | _Rewarded) -> None:
    _check_number("learning_rate", settings.learning_rate, 0, 1)
    _check_number("width", settings.width, 1, MOST)
    _check_number("seed", settings.seed, 0, MOST)


def _check_number(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise UserError(f"{name} must be from {low:g} to {high:.12g}, not {value}")
    return float(value)
