"""What every algorithm shares in one environment: its two bonuses, what they and the policy observe, and how the shift
of Eq. 5 and random actions make the behaviour policy."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Real, Shaped, UInt8

from action_balance.bonuses.base import ACTION, INTRINSIC, Batch, Bonus, BonusObs, Transitions, make_bonus
from action_balance.config.agent import AgentConfig
from action_balance.core.balance import mix_uniform
from action_balance.core.keys import named_key
from action_balance.core.losses import linear_decay
from action_balance.core.running_stats import RunningMeanStd
from action_balance.distributions import Distribution
from action_balance.envs.actions import distribution_of, for_environment
from action_balance.envs.frame_stack import push
from action_balance.envs.mixed import MixedStats, split_frame, split_images, state_number
from action_balance.envs.spec import EnvSpec
from action_balance.envs.symbolic import one_hot_frame
from action_balance.errors import UserError
from action_balance.nets.mixed import MixedObs


@dataclass(frozen=True)
class Exploration:
    """The exploration of one agent in one environment. It holds settings only; arrays are in the state."""

    config: AgentConfig
    spec: EnvSpec

    def __post_init__(self) -> None:
        _ = self.bonuses  # one that does not fit the environment is refused at once
        if not self.spec.lists_actions and (self.config.epsilon or self.config.exploration.epsilon_end is not None):
            raise UserError("--epsilon is for discrete actions, not continuous ones: leave it out, or use --method ppo")

    @cached_property
    def distribution(self) -> Distribution:
        return distribution_of(self.spec, self.config)

    @cached_property
    def bonuses(self) -> dict[str, Bonus]:
        names = {INTRINSIC: self.config.intrinsic_name, ACTION: self.config.action_bonus_name}
        made = {slot: make_bonus(name, slot, self.config, self.spec) for slot, name in names.items()}
        return {slot: bonus for slot, bonus in made.items() if bonus is not None}

    @property
    def intrinsic(self) -> Bonus | None:
        return self.bonuses.get(INTRINSIC)

    @property
    def action_bonus(self) -> Bonus | None:
        return self.bonuses.get(ACTION)

    @property
    def uses_obs_stats(self) -> bool:
        """Whether anything sees normalised observations, so that their statistics must be initialised."""
        policy = self.spec.normalize_obs and not self.config.uniform
        return policy or any(bonus.uses_obs_stats for bonus in self.bonuses.values())

    def policy_obs(self, observation: Real[Array, "..."], stats: RunningMeanStd | None) -> Any:
        """An observation as the policy sees it: images as stacks, symbols one-hot, and normalised where its scale is
        unknown. Learning uses the statistics that acted: otherwise the first ratio of an update would not be 1."""
        if self.spec.is_mixed:
            return self._mixed_obs(observation, stats)
        if self.spec.is_symbolic:
            return one_hot_frame(observation, self.spec.categories)
        if self.spec.normalize_obs:
            if stats is None:
                raise ValueError("this policy expects normalised observations: pass the statistics")
            observation = stats.normalize(observation, self.config.exploration.observation_clip)
        return observation[None] if self.spec.kind == "image" else observation

    def _mixed_obs(self, observation: UInt8[Array, "*k bytes"], stats: RunningMeanStd | None) -> MixedObs:
        stack = observation if self.spec.is_stack else observation[None]
        pixels, vector = split_frame(stack, self.spec.pixels)
        if self.spec.normalize_obs:
            if not isinstance(stats, MixedStats):
                raise ValueError("this policy expects normalised vectors: pass the statistics")
            vector = stats.normalize_vector(vector, self.config.exploration.observation_clip)
        return MixedObs(tuple(split_images(pixels, self.spec.images)), vector)

    def first_obs(self, frame: Real[Array, "..."]) -> Real[Array, "..."]:
        """What the agent observes at the beginning of an episode on the device."""
        return push(jnp.zeros(self.spec.shape, frame.dtype), frame, jnp.ones((), bool)) if self.spec.is_stack else frame

    def following_obs(
        self, observation: Real[Array, "..."], frame: Real[Array, "..."], began: Bool[Array, ""]
    ) -> Real[Array, "..."]:
        """What the agent observes after a step on the device."""
        return push(observation, frame, began) if self.spec.is_stack else frame

    def newest_frame(self, observation: Real[Array, "..."]) -> Real[Array, "..."]:
        return observation[-1] if self.spec.is_stack else observation

    def bonus_obs(self, observation: Real[Array, "..."], index: Int[Array, ""], stats: RunningMeanStd) -> BonusObs:
        frame = self.newest_frame(observation)
        index = state_number(self.spec, frame) if self.spec.discrete else index
        return BonusObs(frame, index, stats, self.config.exploration.observation_clip)

    def rewards(
        self,
        params: dict[str, Any],
        states: dict[str, Any],
        stats: RunningMeanStd,
        rollout: Transitions,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, "T N"], dict[str, Any]]:
        """Intrinsic rewards of a rollout, with everything as it was before it, and the bonuses' states after it."""
        rewards, after = jnp.zeros(rollout.index.shape), {}
        for slot, bonus in self.bonuses.items():
            batch = Batch(rollout, stats, self.config.exploration.observation_clip, named_key(key, slot))
            found, after[slot] = bonus.reward(params[slot], states[slot], batch)
            rewards = found if slot == INTRINSIC else rewards
        return rewards, after

    def shift(
        self,
        preferences: Float[Array, " L"],
        bonus: Any,
        coef: Float[Array, ""],
        mask: Bool[Array, " A"] | None = None,
    ) -> Any:
        """Preferences, shifted by Eq. 5 where there is an action bonus."""
        preferences = self.distribution.masked(preferences, mask)
        if self.action_bonus is None:
            return preferences
        return self.distribution.shift(preferences, bonus, coef, self.config.normalize, mask)

    def mix(self, policy: Any, epsilon: Float[Array, ""] | None, mask: Bool[Array, " A"] | None = None) -> Any:
        """A policy that is uniform with probability epsilon; None for what the settings say."""
        if epsilon is None and not self.config.epsilon:
            return policy
        chance = self.config.epsilon if epsilon is None else epsilon
        return self.distribution.discrete.per_component(lambda x, m: mix_uniform(x, chance, m), policy, mask)

    def executed(self, action: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
        """What the environment gets of an action."""
        return for_environment(self.spec, self.distribution.executed(action))

    def epsilon(self, updates: Int[Array, ""]) -> Float[Array, " N"] | None:
        """The probability of random actions in every environment after so many updates; None where it is the same
        everywhere and always."""
        exploration, start = self.config.exploration, self.config.epsilon
        if not exploration.epsilon_spread and exploration.epsilon_end is None:
            return None
        end = start if exploration.epsilon_end is None else exploration.epsilon_end
        now = linear_decay(start, end, updates / max(1.0, exploration.epsilon_decay * (self.config.updates - 1)))
        first = 0.0 if exploration.epsilon_spread and self.config.envs > 1 else 1.0
        return now * jnp.linspace(first, 1.0, self.config.envs)
