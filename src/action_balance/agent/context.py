"""Algorithm 1 for one environment: the settings, the action distribution, and the two bonuses of a method."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Real, UInt8

from action_balance.bonuses.base import ACTION, INTRINSIC, Bonus, BonusObs, make_bonus
from action_balance.config.agent import AgentConfig
from action_balance.core.balance import balance, mask_logits, mix_uniform
from action_balance.core.running_stats import RunningMeanStd
from action_balance.distributions import MultiCategorical
from action_balance.envs.frame_stack import push
from action_balance.envs.mixed import MixedStats, split_frame, split_images, state_number
from action_balance.envs.spec import EnvSpec
from action_balance.envs.symbolic import one_hot_frame
from action_balance.nets.mixed import MixedObs


@dataclass(frozen=True)
class AgentContext:
    """What all functions of an update share. It holds no arrays; compiled functions take it as a static argument."""

    config: AgentConfig
    spec: EnvSpec

    def __post_init__(self) -> None:
        _ = self.bonuses  # one that does not fit the environment is refused at once

    @cached_property
    def distribution(self) -> MultiCategorical:
        return MultiCategorical(self.spec.nvec)

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
            observation = stats.normalize(observation, self.config.bonus.observation_clip)
        return observation[None] if self.spec.kind == "image" else observation

    def _mixed_obs(self, observation: UInt8[Array, "*k bytes"], stats: RunningMeanStd | None) -> MixedObs:
        stack = observation if self.spec.is_stack else observation[None]
        pixels, vector = split_frame(stack, self.spec.pixels)
        if self.spec.normalize_obs:
            if not isinstance(stats, MixedStats):
                raise ValueError("this policy expects normalised vectors: pass the statistics")
            vector = stats.normalize_vector(vector, self.config.bonus.observation_clip)
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
        return BonusObs(frame, index, stats, self.config.bonus.observation_clip)

    def behaviour_logits(
        self,
        logits: Float[Array, " A"],
        scores: Float[Array, " A"],
        coef: Float[Array, ""],
        mask: Bool[Array, " A"] | None = None,
    ) -> Float[Array, " A"]:
        """Logits of the behaviour policy beta: balanced in each action component (Eq. 5) where there is a bonus, then
        mixed with a uniform policy where epsilon is above 0."""
        logits = mask_logits(logits, mask)
        kind, epsilon = self.config.normalize, self.config.epsilon
        if self.action_bonus is not None:
            logits = self.distribution.per_component(lambda x, y, m: balance(x, y, coef, kind, m), logits, scores, mask)
        if epsilon:
            logits = self.distribution.per_component(lambda x, m: mix_uniform(x, epsilon, m), logits, mask)
        return logits
