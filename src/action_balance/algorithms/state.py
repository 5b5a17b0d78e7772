"""What training carries from update to update, and what a rollout hands to an update.

Axes: T steps of a rollout, N environments, A choices of all action components, L preferences, S enumerable states, P
cells of a policy's memory with U units each.
"""

from typing import Any

import equinox as eqx
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, Real

from action_balance.algorithms.networks import Policy
from action_balance.core.running_stats import ReturnScale, RewardScale, RunningMeanStd


class Params(eqx.Module):
    """Everything that is trained: theta, eta and theta' of Algorithm 1."""

    policy: Policy
    bonuses: dict[str, PyTree]  # of the bonuses in use, by slot


class Actor(eqx.Module):
    """What acting depends on; it stays the same while the learner continues."""

    policy: Policy
    bonus_params: PyTree  # of the action bonus; None without one
    bonus_state: PyTree
    obs_stats: RunningMeanStd
    coef: Float[Array, ""]  # c of Eq. 5
    epsilon: Float[Array, " N"] | None = None  # probability of random actions, where it is not constant


class Trajectory(eqx.Module):
    """One rollout, (T, N), or one step of it, (N,)."""

    observation: Any  # (T, N, ...), or `Frames` of stacks
    next_obs: Real[Array, "..."]  # (T, N, ...), s_{t+1}, before a new episode began; the newest frame of a stack
    action: Real[Array, "..."]  # (T, N), or (T, N, n) of several components, as it was drawn
    log_prob: Float[Array, "*T N"]  # log beta(a|s) when acting
    preferences: Float[Array, "*T N L"]  # logits or Q-values, before they are shifted
    action_bonus: Any  # the scores that acting used: (T, N, A), or `Candidates`
    values: Float[Array, "*T N 2"]  # intrinsic and extrinsic
    reward: Float[Array, "*T N"]
    terminated: Bool[Array, "*T N"]
    truncated: Bool[Array, "*T N"]
    index: Int[Array, "*T N"]  # number of s_t; 0 where states cannot be enumerated
    next_index: Int[Array, "*T N"]  # number of s_{t+1}
    mask: Bool[Array, "*T N A"] | None = None  # which choices were allowed; None where the environment gives no masks
    info: dict[str, Float[Array, "*T N"]] = eqx.field(default_factory=dict)  # numbers of the episodes so far, by name
    memory: Float[Array, "*T N P U"] | None = None  # before s_t was seen, zero where it began an episode
    epsilon: Float[Array, "*T N"] | None = None  # probability of a random action, where it is not constant

    @property
    def ended(self) -> Bool[Array, "*T N"]:
        """Whether each step is the last of its episode."""
        return self.terminated | self.truncated


class TrainState(eqx.Module):
    """Everything that the next update depends on."""

    params: Params
    bonus_states: dict[str, PyTree]  # what bonuses keep besides their parameters, by slot
    optimizer: optax.OptState
    obs_stats: RunningMeanStd  # of observations, or of the newest frame of a stack
    return_scale: ReturnScale
    env_state: Any  # states of the N environments; None where they are on the host
    observation: Real[Array, "..."]  # (N, ...), current observations or stacks; (0,) where environments are on the host
    episode_return: Float[Array, " _"]  # (N,), of the episodes under way; (0,) where environments are on the host
    visits: Int[Array, "S A"]  # how often each action was taken in each state
    state_visits: Int[Array, " S"]  # how often each state was reached
    first_reward: Int[Array, ""]  # environment steps until the first positive reward; -1 before
    key: PRNGKeyArray
    updates: Int[Array, ""]
    action_coef: Float[Array, ""] | None = None  # c of Eq. 5, where it adapts
    reward_scale: RewardScale | None = None  # of extrinsic rewards, where returns are normalised
    memory: Float[Array, "N P U"] | None = None  # of the policy, before the current observations; None without memory


class TrainedAgent(eqx.Module):
    """What is left of a `TrainState` when an agent only acts: its networks, their bonuses and the statistics."""

    params: Params
    bonus_states: dict[str, PyTree]
    obs_stats: RunningMeanStd
    updates: Int[Array, "..."]
    action_coef: Float[Array, "..."] | None = None
    reward_unit: Float[Array, "..."] | None = None  # of the extrinsic value, where returns are normalised

    @classmethod
    def of(cls, state: TrainState) -> "TrainedAgent":
        unit = None if state.reward_scale is None else state.reward_scale.scale
        return cls(state.params, state.bonus_states, state.obs_stats, state.updates, state.action_coef, unit)


#: The terms of the loss of a minibatch, by name. Those of bonuses are named after their slot.
Losses = dict[str, Float[Array, "..."]]


class Samples(eqx.Module):
    """What the agent's loss needs of each sample; axes (T, N), or (B,) inside a minibatch."""

    observation: Any  # (..., *shape), or `Frames` of stacks
    action: Real[Array, "..."]
    action_bonus: Any  # (..., A), or `Candidates`
    targets: PyTree  # of the algorithm
    mask: Bool[Array, "*b A"] | None = None  # which choices were allowed; None where the environment gives no masks
    epsilon: Float[Array, "*b"] | None = None  # probability of a random action, where it is not constant
    began: Bool[Array, "*b"] | None = None  # where an episode begins after the first step; None without memory
    memory: Float[Array, "*e P U"] | None = None  # the policy's at the first step, (1, N), or (n,) inside a minibatch


class UpdateInfo(eqx.Module):
    """What an update reports besides the new state."""

    reward: Float[Array, "T N"]  # raw intrinsic reward
    scale: Float[Array, ""]  # its divisor
    noted: dict[str, Array]  # by the algorithm, for its metrics
    losses: Losses  # each (M,)
