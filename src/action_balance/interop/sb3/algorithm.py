"""PPO of Stable-Baselines3 with an intrinsic reward and with action balance.

Axes: T steps, N environments.
"""

from typing import Any, ClassVar

import numpy as np
import torch as th
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.distributions import DiagGaussianDistribution
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import obs_as_tensor
from stable_baselines3.common.vec_env import VecEnv

from action_balance.bonuses.base import Bonus
from action_balance.errors import MAX, UserError
from action_balance.interop.sb3.explorer import Explorer, is_used
from action_balance.interop.sb3.policy import POLICIES, ExploringPolicy, exploring
from action_balance.interop.sb3.rollout import ExploringDictRolloutBuffer, ExploringRolloutBuffer, RolloutRecorder
from action_balance.interop.settings import check_number
from action_balance.interop.tensors import stacked

#: The default length of the warm-up, in steps of each environment, and the greatest part of the training it may take.
_WARMUP, _WARMUP_PART = 128, 10
#: Observations of the warm-up are handed over in parts of this many steps.
_CHUNK = 32


class ExploringPPO(PPO):
    """PPO of Stable-Baselines3 whose rollouts are action-balanced (Eq. 5) and have an intrinsic reward, e.g. by RND
    (Eq. 1).

    It takes the arguments of ``stable_baselines3.PPO``, trains in the same environments, and is saved and loaded in the
    same way; the file includes what the bonuses have learned. ``predict`` uses the policy without action balance, on
    observations of the plain environment.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = dict(POLICIES)

    policy: ExploringPolicy
    rollout_buffer: ExploringRolloutBuffer
    explorer: Explorer

    def __init__(
        self,
        policy: Any,
        env: Any,
        *,
        intrinsic: str | type[Bonus] | None = "rnd",
        action_bonus: str | type[Bonus] | None = "distillation",
        intrinsic_kwargs: dict[str, Any] | None = None,
        action_bonus_kwargs: dict[str, Any] | None = None,
        extrinsic_coef: float = 2.0,
        intrinsic_coef: float = 1.0,
        candidates: int = 16,
        bonus_epochs: int = 4,
        bonus_minibatches: int = 4,
        warmup_steps: int | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        _init_setup_model: bool = True,
        **kwargs: Any,
    ) -> None:
        """Create an agent.

        Args:
            policy: ``"MlpPolicy"``, ``"CnnPolicy"``, ``"MultiInputPolicy"``, or a subclass of ``ActorCriticPolicy``.
            env: As for ``stable_baselines3.PPO``.
            intrinsic: The next-state bonus, which rewards rarely reached states: its name, ``MODULE:CLASS`` or a
                subclass of `Bonus`; None for none.
            action_bonus: The action bonus, which makes rarely tried actions more likely: Discrete, MultiDiscrete
                or Box actions, of which Box needs ``distillation`` or ``elliptical``. As for ``intrinsic``.
            intrinsic_kwargs: Passed to `IntrinsicBonus.create`: ``settings``, ``gamma``, ``learning_rate`` ...
            action_bonus_kwargs: Passed to `ActionBalance.create`: ``settings``, ``coef``, ``normalize`` ...
            extrinsic_coef: Weight of the advantages of the environment's rewards, if there is an intrinsic reward.
            intrinsic_coef: Weight of the advantages of the intrinsic reward.
            candidates: K: where actions are continuous, K of them are drawn from the policy, and one of these by Eq. 5.
            bonus_epochs: Passes of the bonuses over a rollout.
            bonus_minibatches: Gradient steps of the bonuses in each pass.
            warmup_steps: Steps of a random agent in each environment before training, which count as timesteps; from
                them, the bonuses learn the scale of observations (default: 128, at most a tenth of the training).
            policy_kwargs: As for ``stable_baselines3.PPO``.
            **kwargs: As for ``stable_baselines3.PPO``.
        """
        if kwargs.get("rollout_buffer_class") is not None:
            raise UserError("ExploringPPO has its own rollout buffer: leave out rollout_buffer_class")
        self.intrinsic = intrinsic
        self.action_bonus = action_bonus
        self.intrinsic_kwargs = intrinsic_kwargs or {}
        self.action_bonus_kwargs = action_bonus_kwargs or {}
        self.extrinsic_coef = extrinsic_coef
        self.intrinsic_coef = intrinsic_coef
        self.candidates = int(check_number("candidates", candidates, 2, MAX))
        self.bonus_epochs = bonus_epochs
        self.bonus_minibatches = bonus_minibatches
        self.warmup_steps = warmup_steps
        self.warmup_timesteps: int | None = None
        policy = policy if isinstance(policy, str) else exploring(policy)
        policy_kwargs = {**(policy_kwargs or {}), "intrinsic_value": is_used(intrinsic)}
        super().__init__(policy, env, policy_kwargs=policy_kwargs, _init_setup_model=_init_setup_model, **kwargs)

    def _setup_model(self) -> None:
        kinds = spaces.Discrete, spaces.MultiDiscrete, spaces.Box
        if is_used(self.action_bonus) and not isinstance(self.action_space, kinds):
            kind = type(self.action_space).__name__
            raise UserError(
                f"action balance supports Discrete, MultiDiscrete and Box actions, not {kind}: set action_bonus=None"
            )
        is_dict = isinstance(self.observation_space, spaces.Dict)
        self.rollout_buffer_class = ExploringDictRolloutBuffer if is_dict else ExploringRolloutBuffer
        super()._setup_model()
        seed = int(np.random.randint(2**31 - 1)) if self.seed is None else self.seed
        self.explorer = Explorer.create(
            self.observation_space,
            self.action_space,
            self.n_envs,
            {"action_bonus": self.action_bonus, **self.action_bonus_kwargs},
            {"intrinsic": self.intrinsic, **self.intrinsic_kwargs},
            seed,
        )
        if self.explorer.balance is not None:
            drawn = type(self.policy.action_dist)
            if isinstance(self.action_space, spaces.Box) and drawn is not DiagGaussianDistribution:
                raise UserError(
                    f"action balance of Box actions needs a DiagGaussianDistribution, and the policy has a "
                    f"{drawn.__name__}: set use_sde=False, or action_bonus=None"
                )
            self.policy.shift_of, self.policy.candidates = self.explorer.balance.shift, self.candidates

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "explorer"]

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        modules, variables = super()._get_torch_save_params()
        return [*modules, "explorer"], variables

    def _setup_learn(self, total_timesteps: int, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        before = self._last_obs
        total, callback = super()._setup_learn(total_timesteps, *args, **kwargs)
        if self._last_obs is not before:  # all environments were reset
            self.explorer.new_episodes()
        if self.explorer.bonuses and self.warmup_timesteps is None:
            self._warm_up(total_timesteps)
        return total, callback

    def _warm_up(self, total_timesteps: int) -> None:
        """Steps of a random agent, from which the bonuses learn the scale of observations."""
        assert self.env is not None
        steps = min(_WARMUP, total_timesteps // (_WARMUP_PART * self.n_envs))
        steps = max(steps, 2) if self.warmup_steps is None else self.warmup_steps
        seen = []
        for step in range(1, steps + 1):
            obs, *_ = self.env.step(np.stack([self.action_space.sample() for _ in range(self.n_envs)]))
            seen.append(obs)
            if len(seen) == _CHUNK or step == steps:
                self.explorer.observe(stacked(seen))
                seen = []
        self.warmup_timesteps = steps * self.n_envs
        self.num_timesteps += self.warmup_timesteps
        self._last_obs = self.env.reset()  # type: ignore[assignment]  # as in the base class
        self._last_episode_starts = np.ones((self.n_envs,), dtype=bool)

    def collect_rollouts(
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: RolloutBuffer, n_rollout_steps: int
    ) -> bool:
        """Collect a rollout of the behaviour policy, reward it, and let the bonuses learn from it."""
        if not self.explorer.bonuses:
            return super().collect_rollouts(env, callback, rollout_buffer, n_rollout_steps)
        recorder = RolloutRecorder(env, self.policy)
        complete = super().collect_rollouts(recorder, callback, rollout_buffer, n_rollout_steps)
        if complete:
            self._explore(recorder)
        return complete

    def _explore(self, recorder: RolloutRecorder) -> None:
        buffer, intrinsic = self.rollout_buffer, self.explorer.intrinsic
        rollout = recorder.rollout(buffer)
        if recorder.shifts is not None:
            buffer.add_shifts(recorder.shifts)
        if intrinsic is not None:
            rewards = intrinsic.reward(rollout.next_obs, **rollout.transitions)
            with th.no_grad():
                last_values = self.policy.intrinsic_values(obs_as_tensor(self._last_obs, self.device))  # type: ignore[arg-type]  # as in the base class
            coefs = self.extrinsic_coef, self.intrinsic_coef
            buffer.add_stream(rewards, recorder.intrinsic_values, last_values.cpu().numpy(), intrinsic.gamma, coefs)
            self.logger.record("explore/intrinsic_reward", float(rewards.mean()))
        errors = self.explorer.learn(rollout, self.bonus_epochs, self.bonus_minibatches)
        for name, error in errors.items():
            self.logger.record(f"explore/{name}_error", error)
