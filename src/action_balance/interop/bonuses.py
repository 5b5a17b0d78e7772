"""Bonuses for other training loops: `ActionBalance` for the logits of a policy, `RND` for an intrinsic reward.

Both wrap the agent's own bonus classes. They take and return NumPy arrays or PyTorch tensors.
Axes: ... leading axes of many observations, A choices of all action components, T steps, N environments.
"""

from operator import index
from typing import Any, ClassVar, Self

import numpy as np

from action_balance.config.bonuses import Embedding
from action_balance.core.options import Normalization
from action_balance.core.running_stats import ReturnScale
from action_balance.envs.gymnasium.layouts import ObsLayout
from action_balance.errors import UserError
from action_balance.interop import learner as compiled
from action_balance.interop.inputs import Spaces, padded
from action_balance.interop.learner import Learner
from action_balance.interop.minibatches import Minibatches
from action_balance.interop.module import Module, counted, cut
from action_balance.interop.settings import BalanceSettings, RNDSettings, check_number, default_width
from action_balance.interop.tensors import is_tensor, like, to_numpy


class ActionBalance(Module):
    """Action balance for a policy with discrete actions: it makes rarely tried actions of a state more likely (Eq. 5).

    While acting, add `shift` to the policy's logits before sampling. Afterwards, pass the actions that were taken to
    `learn`. Pass one observation, or many with leading axes, e.g. (B, ...) or (T, N, ...).
    """

    _Settings: ClassVar[type[BalanceSettings]] = BalanceSettings
    _settings: BalanceSettings

    def _restore(self, settings: BalanceSettings, state: Learner) -> None:
        super()._restore(settings, state)
        self._shifts = compiled.shifts(settings.bonus, settings.normalize)

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
        """Create an untrained bonus; the same seed creates the same bonus.

        Args:
            obs_space: A Gymnasium space, or the shape of an observation. Arrays of 44 x 44 pixels or more are
                images, whose other axes are channels, unless ``layout`` specifies otherwise.
            action_space: A Discrete, MultiDiscrete or MultiBinary space, or the number of actions. A counts the choices
                of all components.
            coef: c of Eq. 5. With ``l2``, logits increase by at most this much.
            normalize: ``Normalize`` of Eq. 5: ``l2``, ``standard`` or ``raw``, see `action_balance.normalize`.
            embedding: ``channel`` also shows the action to the convolutions (Eq. 3); images only.
            learning_rate: Adam learning rate; the lower it is, the longer an action stays novel.
            width: Width of the networks' layers (default: 128 for vectors, 512 for images).
            seed: Random seed of both networks.
            layout: How arrays of observations are laid out: ``auto``, ``hwc``, ``chw``, ``stack`` or ``vector``.

        Returns:
            The bonus.
        """
        if action_space is None:
            raise UserError("action_space is missing: pass a Discrete space or the number of actions")
        spaces = Spaces.of(obs_space, action_space, layout)
        settings = BalanceSettings(
            spaces=spaces,
            coef=float(coef),
            normalize=normalize,
            embedding=embedding,
            learning_rate=float(learning_rate),
            width=default_width(width, spaces),
            seed=index(seed),
        )
        return cls(settings, settings.init())

    def shift(self, obs: Any, mask: Any = None, coef: float | None = None) -> Any:
        """What to add to the policy's logits, ``c * Normalize(r_ab(s, .))`` (Eq. 5); sample from their softmax.

        Store it with the rollout: a policy-gradient update adds the same numbers to the logits in every epoch.

        Args:
            obs: Observations, (..., *shape).
            mask: Which actions are allowed, (..., A) of True and False or 1 and 0; None if all of them are. The bonus
                is normalised over the allowed actions; the others get 0.
            coef: Replaces the coefficient of `create`, e.g. by a schedule.

        Returns:
            Finite numbers, (..., A) float32; of a MultiDiscrete space, the choices of all components one after another.
        """
        seen, lead = self._settings.spaces.observations(to_numpy(obs))
        allowed = None if mask is None else self._allowed(mask, lead)
        return like(self._shift(seen, lead, allowed, coef), obs, mask)

    def logits(self, obs: Any, logits: Any, coef: float | None = None) -> Any:
        """Logits of the behaviour policy beta (Eq. 5); sample from their softmax.

        Args:
            obs: Observations, (..., *shape).
            logits: Logits of the policy pi, (..., A); minus infinity forbids an action, as does `shift`'s mask.
            coef: Replaces the coefficient of `create`, e.g. by a schedule.

        Returns:
            Logits plus `shift`, (..., A): float32, or a tensor of the type and with the gradient of ``logits``.
        """
        seen, lead = self._settings.spaces.observations(to_numpy(obs))
        given = self._settings.spaces.logits(to_numpy(logits), lead)
        forbidden = np.isneginf(given)
        shift = self._shift(seen, lead, ~forbidden if forbidden.any() else None, coef)
        if is_tensor(logits):
            return logits + like(shift, logits).to(logits.dtype)
        return like(given.reshape(shift.shape) + shift, obs)

    def bonus(self, obs: Any) -> Any:
        """The action bonus r_ab(s, .) (Eq. 4): the higher, the more rarely an action was tried.

        Args:
            obs: Observations, (..., *shape).

        Returns:
            One bonus per action, (..., A) float32.
        """
        seen, lead = self._settings.spaces.observations(to_numpy(obs))
        errors = compiled.action_errors(self._settings.bonus, self._acting, padded(seen))
        return like(cut(errors, lead), obs)

    def observe(self, obs: Any) -> None:
        """Update the observation statistics only.

        For the steps of a random agent before the first `learn`: until then, the scale of observations is unknown.

        Args:
            obs: Observations, (..., *shape).
        """
        self._observe(obs, "obs")

    def learn(
        self,
        obs: Any,
        actions: Any,
        epochs: int = 1,
        minibatches: int = 1,
        *,
        update_proportion: float = 1.0,
        valid: Any = None,
    ) -> float:
        """Update the observation statistics once, then take gradient steps on the pairs that were taken (Eq. 2).

        All gradient steps are one compiled program. By default, there is one step, on all pairs.

        Args:
            obs: Observations, (..., *shape).
            actions: The action taken in each, (...), or (..., C) of a MultiDiscrete space with C components.
            epochs: Number of passes over all pairs.
            minibatches: Number of random minibatches per epoch, with one gradient step each.
            update_proportion: Proportion of each minibatch, chosen at random, that its gradient step uses.
            valid: False for each step to ignore, (...), see `Reached`; None to use all steps.

        Returns:
            The mean error of the pairs of the first epoch, each before the gradient step on it; 0 if none counts.
        """
        parts = Minibatches.of(epochs, minibatches, update_proportion)
        seen, lead = self._settings.spaces.observations(to_numpy(obs))
        taken = self._settings.spaces.taken(to_numpy(actions), lead)
        if valid is not None:
            which = counted(valid, lead).ravel()
            seen, taken = seen[which], taken[which]
        return self._learn(seen, taken, parts)

    def _shift(
        self, seen: np.ndarray, lead: tuple[int, ...], allowed: np.ndarray | None, coef: float | None
    ) -> np.ndarray:
        strength = self._settings.coef if coef is None else check_number("coef", coef, 0, 1e6)
        mask = None if allowed is None else padded(allowed)
        return cut(self._shifts(self._acting, padded(seen), mask, strength), lead)

    def _allowed(self, mask: Any, lead: tuple[int, ...]) -> np.ndarray:
        """Allowed actions as a batch, (B, A) bool."""
        nvec, given = self._settings.bonus.spec.nvec, np.asarray(to_numpy(mask))
        if given.shape != (*lead, sum(nvec)) or given.dtype.kind not in "biu":
            raise UserError(
                f"mask is {given.dtype} {given.shape}, but must be bool {(*lead, sum(nvec))}: one entry for each action"
            )
        allowed = given.reshape(-1, sum(nvec)) != 0
        if not all(part.any(axis=1).all() for part in np.split(allowed, np.cumsum(nvec)[:-1], axis=1)):
            raise UserError("mask forbids all actions for an observation: allow at least one")
        return allowed


class RND(Module):
    """Random network distillation as an intrinsic reward for any agent: rarely reached states give more reward (Eq. 1).

    After a step or a rollout, call `reward` first, then `learn`, once each: the reward uses what was known before.
    At the end of an episode, pass the final observation of that episode; `Reached` provides it.
    """

    _Settings: ClassVar[type[RNDSettings]] = RNDSettings
    _settings: RNDSettings

    def _state(self) -> tuple[Learner, ReturnScale]:
        return self._learner, self._scale

    def _restore(self, settings: RNDSettings, state: tuple[Learner, ReturnScale]) -> None:
        learner, self._scale = state
        super()._restore(settings, learner)

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
        """Create an untrained bonus; the same seed creates the same bonus.

        Args:
            obs_space: A Gymnasium space, or the shape of an observation, as for `ActionBalance.create`.
            environments: N, the number of environments that step together; each has its own intrinsic return.
            gamma: Discount factor of the intrinsic return.
            learning_rate: Adam learning rate.
            width: Width of the networks' layers (default: 128 for vectors, 512 for images).
            seed: Random seed of both networks.
            layout: How arrays of observations are laid out: ``auto``, ``hwc``, ``chw``, ``stack`` or ``vector``.

        Returns:
            The bonus.
        """
        spaces = Spaces.of(obs_space, layout=layout)
        settings = RNDSettings(
            spaces=spaces,
            environments=index(environments),
            gamma=float(gamma),
            learning_rate=float(learning_rate),
            width=default_width(width, spaces),
            seed=index(seed),
        )
        return cls(settings, settings.init())

    @property
    def gamma(self) -> float:
        """Discount factor of the intrinsic return."""
        return self._settings.gamma

    @property
    def environments(self) -> int:
        """Number of environments that step together."""
        return self._settings.environments

    def bonus(self, next_obs: Any) -> Any:
        """The raw errors of states (Eq. 1).

        Args:
            next_obs: Observations, (..., *shape).

        Returns:
            One error per observation, (...) float32.
        """
        seen, lead = self._settings.spaces.observations(to_numpy(next_obs), "next_obs")
        errors = compiled.state_errors(self._settings.bonus, self._acting, padded(seen))
        return like(cut(errors, lead), next_obs)

    def reward(self, next_obs: Any, valid: Any = None) -> Any:
        """Intrinsic rewards: errors of the reached states, divided by the standard deviation of their returns.

        Returns continue over time from call to call, and do not end with episodes. Their spread over time is unknown
        after a single first step, so the rewards of that step are 0.

        Args:
            next_obs: Observations after each step: (T, N, *shape) of a rollout, (N, *shape) of one step, or (*shape)
                with a single environment.
            valid: False for each step to ignore, with the leading axes of the observations, see
                `Reached`: its reward is 0, and the return skips it. None to use all steps.

        Returns:
            Rewards, float32, with the leading axes of the observations.
        """
        settings, environments = self._settings, self._settings.environments
        seen, lead = settings.spaces.observations(to_numpy(next_obs), "next_obs")
        fits = lead[-1:] == (environments,) if lead else environments == 1
        if len(lead) > 2 or not fits:
            raise UserError(
                f"next_obs has the leading axes {lead}, but there is {environments} environment(s): pass "
                f"({environments},) for one step or (T, {environments}) for a rollout"
            )
        steps = seen.reshape(-1, environments, *seen.shape[1:])
        batch = padded(steps)
        which = np.zeros((len(batch), environments), bool)
        which[: len(steps)] = counted(valid, lead).reshape(-1, environments)
        if not which.any():
            return like(np.zeros(lead, np.float32), next_obs)
        self._scale, rewards = compiled.rewards(settings.bonus, self._acting, self._scale, batch, which, settings.gamma)
        return like(np.array(rewards)[: len(steps)].reshape(lead), next_obs)

    def observe(self, next_obs: Any) -> None:
        """Update the observation statistics only, e.g. with the steps of a random agent.

        Args:
            next_obs: Observations, (..., *shape).
        """
        self._observe(next_obs, "next_obs")

    def learn(
        self,
        next_obs: Any,
        epochs: int = 1,
        minibatches: int = 1,
        *,
        update_proportion: float = 1.0,
        valid: Any = None,
    ) -> float:
        """Update the observation statistics once, then take gradient steps on the states that were reached.

        All gradient steps are one compiled program. By default, there is one step, on all states.

        Args:
            next_obs: Observations after each step, (..., *shape).
            epochs: Number of passes over all states.
            minibatches: Number of random minibatches per epoch, with one gradient step each.
            update_proportion: Proportion of each minibatch, chosen at random, that its gradient step uses.
            valid: False for each step to ignore, (...), see `Reached`; None to use all steps.

        Returns:
            The mean error of the states of the first epoch, each before the gradient step on it; 0 if none counts.
        """
        parts = Minibatches.of(epochs, minibatches, update_proportion)
        seen, lead = self._settings.spaces.observations(to_numpy(next_obs), "next_obs")
        return self._learn(seen if valid is None else seen[counted(valid, lead).ravel()], None, parts)
