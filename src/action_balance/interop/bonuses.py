"""Bonuses for other training loops: `ActionBalance` for the logits of a policy, `IntrinsicBonus` for rewards.

Both wrap the agent's own bonus classes, or a user's. They take and return NumPy arrays or PyTorch tensors.
Axes: ... leading axes of many observations, A choices of all action components, K candidates, T steps, N environments.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from operator import index
from typing import Any, ClassVar, Self

import numpy as np

from action_balance.bonuses.base import Bonus
from action_balance.config.bonuses import default_normalization
from action_balance.core.options import Normalization
from action_balance.core.running_stats import ReturnScale
from action_balance.envs.gymnasium.layouts import ObsLayout
from action_balance.errors import UserError
from action_balance.interop import learner as compiled
from action_balance.interop.inputs import Spaces, padded
from action_balance.interop.learner import Learner, Steps
from action_balance.interop.minibatches import Minibatches
from action_balance.interop.module import Module, cut, flags
from action_balance.interop.settings import BalanceSettings, IntrinsicSettings, check_number, find_class
from action_balance.interop.tensors import is_tensor, like, to_numpy


class ActionBalance(Module):
    """Action balance for a policy: it makes rarely tried actions of a state more likely (Eq. 5).

    While acting, add `shift` to the policy's logits before sampling; where actions are continuous, draw candidates from
    the policy, and one of them by the softmax of their `shift`. Afterwards, pass the actions that were taken to
    `learn`. Pass one observation, or many with leading axes, e.g. (B, ...) or (T, N, ...).
    """

    _Settings: ClassVar[type[BalanceSettings]] = BalanceSettings
    _settings: BalanceSettings

    def _restore(self, settings: BalanceSettings, bonus: Bonus, state: Learner) -> None:
        super()._restore(settings, bonus, state)
        self._shifts = compiled.shifts(bonus, settings.normalize)

    @classmethod
    def create(
        cls,
        obs_space: Any,
        action_space: Any,
        *,
        action_bonus: str | type[Bonus] = "distillation",
        settings: Mapping[str, Any] | None = None,
        coef: float = 1.0,
        normalize: Normalization | None = None,
        learning_rate: float = 3e-4,
        width: int | None = None,
        seed: int = 0,
        layout: ObsLayout = "auto",
    ) -> Self:
        """Create an untrained bonus; the same seed creates the same bonus.

        Args:
            obs_space: A Gymnasium space, or the shape of an observation. Arrays of 44 x 44 pixels or more are
                images, whose other axes are channels, unless ``layout`` specifies otherwise.
            action_space: A Discrete, MultiDiscrete, MultiBinary or Box space, a Dict or Tuple of them, or the number of
                actions. A counts the choices of all discrete components.
            action_bonus: Name of an action bonus, ``MODULE:CLASS`` or a subclass of `Bonus`. Continuous actions need
                ``distillation`` or ``elliptical``, or a bonus of your own with ``scores_of``.
            settings: The bonus's own settings, e.g. ``{"table_bits": 20}`` of ``hash``.
            coef: c of Eq. 5. With ``l2``, logits increase by at most this much, and this is the root mean square of the
                shifts of candidates.
            normalize: ``Normalize`` of Eq. 5: ``l2``, ``standard`` or ``raw``, see `action_balance.normalize` (default:
                ``l2``; ``raw`` for ``ucb``).
            learning_rate: Adam learning rate of networks; the lower it is, the longer an action stays novel.
            width: Width of the networks' layers (default: 128 for vectors, 512 for images).
            seed: Random seed of the bonus.
            layout: How arrays of observations are laid out: ``auto``, ``hwc``, ``chw``, ``stack`` or ``vector``.

        Returns:
            The bonus.
        """
        if action_space is None:
            raise UserError("action_space is missing: pass a Discrete space or the number of actions")
        name, kind = find_class(action_bonus, BalanceSettings)
        spaces = Spaces.of(obs_space, action_space, layout)
        own: dict[str, Any] = {"coef": float(coef), "normalize": normalize or default_normalization(name)}
        return cls._create(name, kind, settings, spaces, learning_rate, width, seed, **own)

    @classmethod
    def load(cls, path: str | os.PathLike[str], action_bonus: str | type[Bonus] | None = None) -> Self:
        """Load a bonus written by `save`; it continues bit for bit. Nothing that the file names is imported: pass a
        bonus of your own as ``action_bonus``, the class or ``MODULE:CLASS``."""
        return cls._load(path, action_bonus)

    def shift(self, obs: Any, mask: Any = None, coef: float | None = None, *, candidates: Any = None) -> Any:
        """What to add to the policy's logits, ``c * Normalize(r_ab(s, .))`` (Eq. 5); sample from their softmax.

        Store it with the rollout: a policy-gradient update adds the same numbers to the logits in every epoch. Of
        candidates, which were drawn from the policy, the softmax of the shift alone is the behaviour policy; see
        `candidate_log_weight` for the update.

        Args:
            obs: Observations, (..., *shape).
            mask: Which actions are allowed, (..., A) of True and False or 1 and 0; None if all of them are. The bonus
                is normalised over the allowed actions; the others get 0.
            coef: Replaces the coefficient of `create`, e.g. by a schedule.
            candidates: Where actions are continuous: actions drawn from the policy, (..., K, *action shape), in the
                units of the environment.

        Returns:
            Finite numbers, (..., A) float32; of a MultiDiscrete space, the choices of all components one after another.
            Of candidates, (..., K).
        """
        seen, lead = self._settings.spaces.observations(to_numpy(obs))
        drawn = self._candidates(candidates, lead, mask)
        allowed = None if mask is None else self._allowed(mask, lead)
        return like(self._shift(seen, lead, allowed, coef, drawn), obs, mask, candidates)

    def logits(self, obs: Any, logits: Any, coef: float | None = None) -> Any:
        """Logits of the behaviour policy beta (Eq. 5); sample from their softmax.

        Args:
            obs: Observations, (..., *shape).
            logits: Logits of the policy pi, (..., A); minus infinity forbids an action, as does `shift`'s mask.
            coef: Replaces the coefficient of `create`, e.g. by a schedule.

        Returns:
            Logits plus `shift`, (..., A): float32, or a tensor of the type and with the gradient of ``logits``.
        """
        if not self._bonus.spec.lists_actions:
            raise UserError("continuous actions have no logits: draw one of some candidates by the softmax of shift")
        seen, lead = self._settings.spaces.observations(to_numpy(obs))
        given = self._settings.spaces.logits(to_numpy(logits), lead)
        forbidden = np.isneginf(given)
        shift = self._shift(seen, lead, ~forbidden if forbidden.any() else None, coef)
        if is_tensor(logits):
            return logits + like(shift, logits).to(logits.dtype)
        return like(given.reshape(shift.shape) + shift, obs)

    def bonus(self, obs: Any, candidates: Any = None) -> Any:
        """The action bonus r_ab(s, .) (Eq. 4): the higher, the more rarely an action was tried.

        Args:
            obs: Observations, (..., *shape).
            candidates: As for `shift`.

        Returns:
            One bonus per action, (..., A) or (..., K) float32.
        """
        seen, lead = self._settings.spaces.observations(to_numpy(obs))
        drawn = self._candidates(candidates, lead)
        return like(cut(compiled.action_scores(self._bonus, self._acting, padded(seen), drawn), lead), obs, candidates)

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
        """Count the pairs that were taken, update the observation statistics, and take gradient steps (Eq. 2).

        All gradient steps are one compiled program. By default, there is one step, on all pairs. Bonuses that only
        count take none.

        Args:
            obs: Observations, (..., *shape).
            actions: The action taken in each, (..., *action shape) as in the action space.
            epochs: Number of passes over all pairs.
            minibatches: Number of random minibatches per epoch, with one gradient step each.
            update_proportion: Proportion of each minibatch, chosen at random, that its gradient step uses.
            valid: False for each step to ignore, (...), see `Reached`; None to use all steps.

        Returns:
            The mean error of the pairs of the first epoch, each before the gradient step on it; 0 without errors.
        """
        parts = Minibatches.of(epochs, minibatches, update_proportion)
        seen, lead = self._settings.spaces.observations(to_numpy(obs))
        taken = self._settings.spaces.taken(to_numpy(actions), lead)
        return self._learn_each(Steps(seen, taken), lead, valid, parts)

    def _shift(
        self,
        seen: np.ndarray,
        lead: tuple[int, ...],
        allowed: np.ndarray | None,
        coef: float | None,
        candidates: np.ndarray | None = None,
    ) -> np.ndarray:
        strength = self._settings.coef if coef is None else check_number("coef", coef, 0, 1e6)
        mask = None if allowed is None else padded(allowed)
        return cut(self._shifts(self._acting, padded(seen), mask, strength, candidates), lead)

    def _candidates(self, given: Any, lead: tuple[int, ...], mask: Any = None) -> np.ndarray | None:
        """Candidates as a batch, (B, K, n), where actions are continuous."""
        if self._bonus.spec.lists_actions:
            if given is not None:
                raise UserError("all discrete actions are balanced at once: leave out candidates")
            return None
        if given is None:
            raise UserError("continuous actions are balanced by candidates: pass candidates=actions")
        if mask is not None:
            raise UserError("candidates have no mask: leave it out, and draw candidates that are allowed")
        return padded(self._settings.spaces.candidates(to_numpy(given), lead))

    def _allowed(self, mask: Any, lead: tuple[int, ...]) -> np.ndarray:
        """Allowed actions as a batch, (B, A) bool."""
        nvec, given = self._bonus.spec.nvec, np.asarray(to_numpy(mask))
        if given.shape != (*lead, sum(nvec)) or given.dtype.kind not in "biu":
            raise UserError(
                f"mask is {given.dtype} {given.shape}, but must be bool {(*lead, sum(nvec))}: one entry for each action"
            )
        allowed = given.reshape(-1, sum(nvec)) != 0
        if not all(part.any(axis=1).all() for part in np.split(allowed, np.cumsum(nvec)[:-1], axis=1)):
            raise UserError("mask forbids all actions for an observation: allow at least one")
        return allowed


class IntrinsicBonus(Module):
    """An intrinsic reward for any agent: rarely reached states give more reward, by RND (Eq. 1) or any other bonus.

    After a step or a rollout, call `reward` first, then `learn`, once each: the reward uses what was known before.
    At the end of an episode, pass the final observation of that episode; `Reached` provides it.

    Most bonuses reward states and need ``next_obs`` only. Others, such as ``icm``, ``ngu`` and ``e3b``, reward
    transitions of whole rollouts, (T, N, ...): they also need ``obs``, ``actions`` and ``ended``. `RND` is another name
    of this class.
    """

    _Settings: ClassVar[type[IntrinsicSettings]] = IntrinsicSettings
    _settings: IntrinsicSettings

    def _state(self) -> tuple[Learner, ReturnScale]:
        return self._current(), self._scale

    def _restore(self, settings: IntrinsicSettings, bonus: Bonus, state: tuple[Learner, ReturnScale]) -> None:
        learner, self._scale = state
        super()._restore(settings, bonus, learner)

    @classmethod
    def create(
        cls,
        obs_space: Any,
        action_space: Any = None,
        *,
        intrinsic: str | type[Bonus] = "rnd",
        settings: Mapping[str, Any] | None = None,
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
            action_space: As for `ActionBalance.create`; only bonuses that reward transitions need it.
            intrinsic: Name of a next-state bonus, ``MODULE:CLASS`` or a subclass of `Bonus`.
            settings: The bonus's own settings, e.g. ``{"features": "fourier"}`` of ``elliptical``.
            environments: N, the number of environments that step together; each has its own intrinsic return.
            gamma: Discount factor of the intrinsic return.
            learning_rate: Adam learning rate of networks.
            width: Width of the networks' layers (default: 128 for vectors, 512 for images).
            seed: Random seed of the bonus.
            layout: How arrays of observations are laid out: ``auto``, ``hwc``, ``chw``, ``stack`` or ``vector``.

        Returns:
            The bonus.
        """
        name, kind = find_class(intrinsic, IntrinsicSettings)
        if action_space is None and not kind.rewards_states:
            raise UserError(f"{name} rewards transitions, so it needs the actions: pass action_space")
        spaces = Spaces.of(obs_space, None if kind.rewards_states else action_space, layout)
        own: dict[str, Any] = {"environments": index(environments), "gamma": float(gamma)}
        return cls._create(name, kind, settings, spaces, learning_rate, width, seed, **own)

    @classmethod
    def load(cls, path: str | os.PathLike[str], intrinsic: str | type[Bonus] | None = None) -> Self:
        """Load a bonus written by `save`; it continues bit for bit. Nothing that the file names is imported: pass a
        bonus of your own as ``intrinsic``, the class or ``MODULE:CLASS``."""
        return cls._load(path, intrinsic)

    @property
    def gamma(self) -> float:
        """Discount factor of the intrinsic return."""
        return self._settings.gamma

    @property
    def environments(self) -> int:
        """Number of environments that step together."""
        return self._settings.environments

    @property
    def rewards_states(self) -> bool:
        """Whether ``next_obs`` is all that the bonus needs."""
        return self._bonus.rewards_states

    def bonus(self, next_obs: Any) -> Any:
        """The raw bonus of states (Eq. 1), before it is divided by the standard deviation of returns.

        Args:
            next_obs: Observations, (..., *shape).

        Returns:
            One number per observation, (...) float32.
        """
        if not self.rewards_states:
            raise UserError(f"{self._settings.bonus} rewards transitions, and a state alone has no bonus: use reward")
        seen, lead = self._settings.spaces.observations(to_numpy(next_obs), "next_obs")
        return like(cut(compiled.state_bonus(self._bonus, self._acting, padded(seen)), lead), next_obs)

    def reward(
        self, next_obs: Any, valid: Any = None, *, obs: Any = None, actions: Any = None, ended: Any = None
    ) -> Any:
        """Intrinsic rewards: the bonus of each step, divided by the standard deviation of its returns.

        Returns continue over time from call to call, and do not end with episodes. Their spread over time is unknown
        after a single first step, so the rewards of that step are 0.

        Args:
            next_obs: Observations after each step: (T, N, *shape) of a rollout, (N, *shape) of one step, or (*shape)
                with a single environment.
            valid: False for each step to ignore, with the leading axes of the observations, see
                `Reached`: its reward is 0, and the return skips it. None to use all steps.
            obs: Observations before each step, where the bonus rewards transitions.
            actions: The action of each step, where the bonus rewards transitions.
            ended: Whether each step ended its episode, ``terminated | truncated``, where the bonus rewards transitions.

        Returns:
            Rewards, float32, with the leading axes of the observations.
        """
        steps, lead = self._steps(next_obs, obs, actions, ended)
        which = self._rollouts(self._valid(valid, lead), lead)
        if not which.any():
            return like(np.zeros(lead, np.float32), next_obs)
        rollout, size = steps.each(lambda part: self._rollouts(part, lead)), len(which)
        if self.rewards_states:
            rollout = rollout.each(padded)
            which = np.concatenate([which, np.zeros((len(rollout.seen) - size, *which.shape[1:]), bool)])
        draws = self._settings.seed, self._learner.updates
        self._scale, rewards = compiled.rewards(
            self._bonus, self._acting, self._scale, rollout, which, self._settings.gamma, *draws
        )
        return like(np.array(rewards)[:size].reshape(lead), next_obs)

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
        obs: Any = None,
        actions: Any = None,
        ended: Any = None,
    ) -> float:
        """Count the steps, update the observation statistics, and take gradient steps.

        All gradient steps are one compiled program. By default, there is one step, on all states. Bonuses that only
        count take none.

        Args:
            next_obs: Observations after each step, (..., *shape); those of `reward`, where the bonus rewards
                transitions.
            epochs: Number of passes over all states.
            minibatches: Number of random minibatches per epoch, with one gradient step each.
            update_proportion: Proportion of each minibatch, chosen at random, that its gradient step uses.
            valid: False for each step to ignore, (...), see `Reached`; None to use all steps.
            obs: As for `reward`.
            actions: As for `reward`.
            ended: As for `reward`.

        Returns:
            The mean loss of the steps of the first epoch, each before the gradient step on it; 0 without a loss.
        """
        parts = Minibatches.of(epochs, minibatches, update_proportion)
        steps, lead = self._steps(next_obs, obs, actions, ended)
        if self.rewards_states:
            return self._learn_each(steps, lead, valid, parts)
        self._valid(valid, lead)
        return self._learn(steps, [steps.each(lambda part: self._rollouts(part, lead))], parts)

    def new_episodes(self) -> None:
        """Forget the episodes under way; call it when the loop resets all environments."""
        learner = self._current()
        self._replace(replace(learner, state=self._bonus.new_episodes(learner.state)))

    def _steps(self, next_obs: Any, obs: Any, actions: Any, ended: Any) -> tuple[Steps, tuple[int, ...]]:
        """What the bonus needs, as batches, and the leading axes."""
        spaces, given = self._settings.spaces, {"obs": obs, "actions": actions, "ended": ended}
        reached, lead = spaces.observations(to_numpy(next_obs), "next_obs")
        if self.rewards_states:
            return Steps(next_obs=reached), lead
        if missing := [name for name, value in given.items() if value is None]:
            raise UserError(f"{self._settings.bonus} rewards transitions: pass {', '.join(missing)} as well")
        seen, axes = spaces.observations(to_numpy(obs))
        if axes != lead:
            raise UserError(f"obs has the leading axes {axes}, but next_obs has {lead}: pass one for each step")
        return Steps(seen, spaces.taken(to_numpy(actions), lead), reached, flags("ended", ended, lead).ravel()), lead

    def _rollouts(self, batch: np.ndarray, lead: tuple[int, ...]) -> np.ndarray:
        """A batch as a rollout, (T, N, ...)."""
        environments = self.environments
        fits = lead[-1:] == (environments,) if lead else environments == 1
        if len(lead) > 2 or not fits:
            raise UserError(
                f"next_obs has the leading axes {lead}, but there is {environments} environment(s): pass "
                f"({environments},) for one step or (T, {environments}) for a rollout"
            )
        return batch.reshape(-1, environments, *batch.shape[1:])

    def _valid(self, valid: Any, lead: tuple[int, ...]) -> np.ndarray:
        """Which steps count, (B,)."""
        which = flags("valid", valid, lead).ravel()
        if not (self.rewards_states or which.all()):
            raise UserError(
                f"{self._settings.bonus} follows episodes, and some steps are not valid: create the vector environment "
                f"with autoreset_mode=AutoresetMode.SAME_STEP"
            )
        return which


#: RND is the default of `IntrinsicBonus.create`.
RND = IntrinsicBonus
