"""A vector environment of Gymnasium whose steps come with intrinsic rewards, for any learner.

Axes: T steps, N environments, A choices of all action components.
"""

from typing import Any, Protocol

import numpy as np
from jaxtyping import Bool

from action_balance.envs.masks import BadMask, mask_rows, sample_allowed
from action_balance.errors import MAX, UserError
from action_balance.files import missing
from action_balance.interop.autoreset import Reached
from action_balance.interop.bonuses import IntrinsicBonus
from action_balance.interop.settings import check_number
from action_balance.interop.tensors import mapped, stacked

try:
    from gymnasium.spaces import Discrete, MultiDiscrete
    from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
except ImportError:
    raise missing("gymnasium", "IntrinsicReward", "gym") from None

#: Observations of the warm-up are handed over in parts of this many steps.
_CHUNK = 32


class StateBonus(Protocol):
    """A source of intrinsic rewards: an `IntrinsicBonus` that rewards states, or your own class.

    If it has a method ``observe``, it is warmed up.
    """

    def reward(self, next_obs: Any) -> Any:
        """Intrinsic rewards of one step, (N,), for the observations that it has reached, (N, *shape)."""

    def learn(self, next_obs: Any) -> Any:
        """Learn from observations that were reached, (B, *shape); the return value is `IntrinsicReward.error`."""


class IntrinsicReward(VectorWrapper[Any, Any, Any]):
    """Adds intrinsic rewards to a vector environment.

    Every step has ``info["intrinsic_reward"]`` and ``info["extrinsic_reward"]``, (N,) each; the reward itself is
    ``extrinsic + coef * intrinsic``. The bonus sees the observation that a step has reached: at the end of an episode,
    the last one of this episode, in every autoreset mode. In the mode ``NEXT_STEP``, a step that only begins an episode
    has no intrinsic reward, and the bonus does not learn from it.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        bonus: StateBonus,
        coef: float = 0.0,
        learn_every: int | None = 128,
        learn_kwargs: dict[str, Any] | None = None,
        warmup_steps: int = 128,
    ) -> None:
        """Wrap an environment.

        Args:
            env: A vector environment.
            bonus: An `IntrinsicBonus` for as many environments that rewards states, or anything with its methods
                ``reward`` and ``learn``.
            coef: Weight of the intrinsic reward that is added to the reward; 0 leaves rewards unchanged.
            learn_every: Number of steps between updates of the bonus; None if you call `learn` yourself.
            learn_kwargs: Further arguments of the bonus's ``learn``, e.g. ``{"epochs": 4, "minibatches": 4}``.
            warmup_steps: Steps of a random agent in each environment at the first reset, from which the bonus learns
                the scale of observations. It takes only allowed actions if infos have an ``action_mask``. The
                environments are reset again afterwards. 0 for a bonus that was loaded.
        """
        super().__init__(env)
        if (made_for := getattr(bonus, "environments", env.num_envs)) != env.num_envs:
            raise UserError(f"the bonus is for {made_for} environments: create it with environments={env.num_envs}")
        if not getattr(bonus, "rewards_states", True):
            raise UserError(
                "IntrinsicReward passes states only, and the bonus rewards transitions: use rnd, count, hash, "
                "coin-flip or elliptical, or ExploringPPO"
            )
        check_number("coef", coef, 0, 1e6)
        check_number("warmup_steps", warmup_steps, 0, MAX)
        if learn_every is not None:
            check_number("learn_every", learn_every, 1, MAX)
        self.bonus = bonus
        self.error: Any = None
        """What the bonus's last ``learn`` returned, e.g. its mean error; None before that."""
        self.warmup_timesteps = 0
        """Steps of the warm-up in all environments together, which no learner has seen."""
        self._coef, self._learn_every, self._learn_kwargs = coef, learn_every, learn_kwargs or {}
        self._warmup = warmup_steps if hasattr(bonus, "observe") else 0
        self._reached = Reached(env)
        self._seen: list[Any] = []
        self._valid: list[np.ndarray] = []

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environments; the first time, after the warm-up."""
        if self._warmup:
            self._warm_up(seed, options)
        if not (options and "reset_mask" in options):
            self._reached.reset()
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the environments, and add intrinsic rewards."""
        obs, reward, terminated, truncated, info = self.env.step(actions)
        reached, valid = self._reached(obs, np.logical_or(terminated, truncated), info)
        if isinstance(self.bonus, IntrinsicBonus):
            intrinsic = self.bonus.reward(reached, valid=valid)
        else:
            intrinsic = np.where(valid, self.bonus.reward(reached), 0)
        self._seen.append(mapped(np.array, reached))  # which the environment may change
        self._valid.append(valid)
        if self._learn_every is not None and len(self._seen) >= self._learn_every:
            self.learn()
        info = {**info, "intrinsic_reward": intrinsic, "_intrinsic_reward": valid}
        info |= {"extrinsic_reward": np.array(reward), "_extrinsic_reward": valid}
        return obs, reward + self._coef * intrinsic if self._coef else reward, terminated, truncated, info

    def learn(self) -> None:
        """Let the bonus learn from the steps since its last update."""
        valid = np.array(self._valid)
        if valid.any():
            self.error = self.bonus.learn(_chosen(self._seen, valid), **self._learn_kwargs)
        self._seen, self._valid = [], []

    def _warm_up(self, seed: Any, options: dict[str, Any] | None) -> None:
        bonus: Any = self.bonus
        manual = self.env.metadata.get("autoreset_mode") == AutoresetMode.DISABLED
        _, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self.env.action_space.seed(seed if isinstance(seed, int) else int(next(iter(seed)) or 0))
        seen, masks = [], self._masks(info)
        for step in range(1, self._warmup + 1):
            obs, _, terminated, truncated, info = self.env.step(self._random_actions(masks))
            seen.append(mapped(np.array, obs))
            ended, masks = np.logical_or(terminated, truncated), self._masks(info)
            if manual and ended.any():
                begun = self._masks(self.env.reset(options={"reset_mask": ended})[1])
                masks = begun if masks is None or begun is None else np.where(ended[:, None], begun, masks)
            if len(seen) == _CHUNK or step == self._warmup:
                bonus.observe(_chosen(seen, np.ones((len(seen), self.num_envs), bool)))
                seen = []
        self.warmup_timesteps = self._warmup * self.num_envs
        self._warmup = 0

    def _masks(self, info: dict[str, Any]) -> Bool[np.ndarray, "N A"] | None:
        """Which choices the infos allow, all of them for an environment without a mask; None if none has one."""
        given, nvec = info.get("action_mask"), _choices(self.single_action_space)
        if given is None or not nvec:
            return None
        has = np.asarray(info.get("_action_mask", np.ones(self.num_envs, bool)))
        if isinstance(given, np.ndarray) and given.dtype == object:
            given = [one if known else np.ones(sum(nvec)) for one, known in zip(given, has, strict=True)]
        try:
            return mask_rows(given, self.num_envs, nvec).astype(bool) | ~has[:, None]
        except BadMask as error:
            raise UserError(f"the environment cannot be used: {error}") from None

    def _random_actions(self, masks: Bool[np.ndarray, "N A"] | None) -> Any:
        space = self.env.action_space
        single: Any = self.single_action_space  # Discrete or MultiDiscrete where there are masks
        if masks is None:
            return space.sample()
        drawn = sample_allowed(space.np_random, masks, _choices(single))
        return (drawn.reshape(self.num_envs, *single.shape) + single.start).astype(single.dtype)


def _choices(space: Any) -> tuple[int, ...]:
    """Number of choices of each action component; empty where actions are not discrete."""
    if isinstance(space, Discrete):
        return (int(space.n),)
    return tuple(space.nvec.ravel().tolist()) if isinstance(space, MultiDiscrete) else ()


def _chosen(seen: list[Any], valid: np.ndarray) -> Any:
    """Observations of several steps as one batch, without those that do not count, (T, N)."""
    return mapped(lambda part: part[valid], stacked(seen))
