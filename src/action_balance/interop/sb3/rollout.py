"""One rollout of Stable-Baselines3: where episodes ended, what was added to the logits, and the second stream.

Axes: T steps, N environments, A choices of all action components. Where actions are continuous, what was added is one
array for each field of `Resampled`.
"""

from typing import Any, NamedTuple

import numpy as np
from stable_baselines3.common.buffers import DictRolloutBuffer, RolloutBuffer
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from action_balance.interop.autoreset import Reached
from action_balance.interop.sb3.policy import ExploringPolicy, ShiftedObs
from action_balance.interop.tensors import mapped, stacked, to_numpy


class Rollout(NamedTuple):
    """The transitions of a rollout, (T, N, ...), as the bonuses take them."""

    next_obs: Any
    transitions: dict[str, Any]  # obs, actions and ended


class RolloutRecorder(VecEnvWrapper):
    """The environments during one rollout: remembers what the buffer of Stable-Baselines3 does not."""

    def __init__(self, venv: VecEnv, policy: ExploringPolicy) -> None:
        super().__init__(venv)
        self._policy = policy
        self._reached = Reached(venv)
        self._shifts: list[Any] = []
        self._values: list[np.ndarray] = []
        self._next: list[Any] = []
        self._ended: list[np.ndarray] = []

    def reset(self) -> VecEnvObs:
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        """Step, and remember the last observations of episodes."""
        acted = self._policy.acted
        if acted.shift is not None:
            self._shifts.append(to_numpy(acted.shift))
        if acted.intrinsic_value is not None:
            self._values.append(acted.intrinsic_value.cpu().numpy())
        obs, rewards, dones, infos = self.venv.step_wait()
        self._next.append(self._reached(obs, dones, infos)[0])
        self._ended.append(np.array(dones, bool))
        return obs, rewards, dones, infos

    @property
    def shifts(self) -> Any:
        """What was added to the logits, (T, N, A), if anything was."""
        return stacked(self._shifts) if self._shifts else None

    @property
    def intrinsic_values(self) -> np.ndarray:
        return np.stack(self._values)

    def rollout(self, buffer: RolloutBuffer) -> Rollout:
        """The steps that a buffer has, and what followed each: at the end of an episode, its last observation."""
        next_obs = stacked(self._next)
        obs = mapped(lambda part, like: part.reshape(like.shape), buffer.observations, next_obs)
        actions = buffer.actions.reshape(*buffer.actions.shape[:2], *(self.action_space.shape or ()))
        return Rollout(next_obs, {"obs": obs, "actions": actions, "ended": np.stack(self._ended)})


class ExploringRolloutBuffer(RolloutBuffer):
    """A rollout that also knows what was added to the logits, and has a second stream of returns."""

    shifts: Any = None  # added to the logits, (T * N, A) in the order of the minibatches' indices

    def reset(self) -> None:
        super().reset()
        self.shifts = None

    def add_shifts(self, shifts: Any) -> None:
        self.shifts = mapped(self.swap_and_flatten, shifts)

    def add_stream(
        self, rewards: np.ndarray, values: np.ndarray, last_values: np.ndarray, gamma: float, coefs: tuple[float, float]
    ) -> None:
        """Add a stream of rewards that does not end with episodes; advantages become the weighted sum of both."""
        advantages = gae(rewards, np.concatenate([values, last_values[None]]), gamma, self.gae_lambda)
        self.values = np.stack([self.values, values], axis=-1)
        self.returns = np.stack([self.returns, advantages + values], axis=-1)
        self.advantages = coefs[0] * self.advantages + coefs[1] * advantages

    def _get_samples(self, batch_inds: np.ndarray, env: Any = None) -> Any:
        samples: Any = super()._get_samples(batch_inds, env)
        if self.shifts is None:
            return samples
        shift = mapped(lambda part: self.to_torch(part[batch_inds]), self.shifts)
        return samples._replace(observations=ShiftedObs(samples.observations, shift))


class ExploringDictRolloutBuffer(ExploringRolloutBuffer, DictRolloutBuffer):
    """The same for Dict observations."""


def gae(rewards: np.ndarray, values: np.ndarray, gamma: float, gae_lambda: float) -> np.ndarray:
    """Advantages of rewards that never end: what follows the end of an episode counts, as in RND."""
    advantages = np.zeros((len(rewards) + 1, *rewards.shape[1:]), np.float32)
    errors = rewards + gamma * values[1:] - values[:-1]
    for step in reversed(range(len(rewards))):
        advantages[step] = errors[step] + gamma * gae_lambda * advantages[step + 1]
    return advantages[:-1]
