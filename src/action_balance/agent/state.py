"""What training carries from update to update, and what a rollout hands to it.

Axes: T steps of a rollout, N environments, A actions, S states that can be counted.
"""

from typing import Any

import equinox as eqx
import jax
import optax

from action_balance.core.running_stats import ReturnScale, RunningMeanStd
from action_balance.nets.actor_critic import ActorCritic
from action_balance.nets.bonus import BonusNet
from action_balance.nets.image import ImageActorCritic, ImageBonusNet, ready

Policy = ActorCritic | ImageActorCritic


class Params(eqx.Module):
    """All that is trained: theta, eta and theta' of Algorithm 1."""

    policy: Policy
    next_state: BonusNet | ImageBonusNet  # predictor f_hat
    action: BonusNet | ImageBonusNet  # predictor g_hat


class TargetParams(eqx.Module):
    """The fixed random networks."""

    next_state: BonusNet | ImageBonusNet  # f
    action: BonusNet | ImageBonusNet  # g


class Actor(eqx.Module):
    """What acting depends on; it stays as it is while the learner goes on."""

    policy: Policy
    predictor: BonusNet | ImageBonusNet  # of the action bonus
    target: BonusNet | ImageBonusNet
    observations: RunningMeanStd
    coef: jax.Array  # (), c of Eq. 5


class Trajectory(eqx.Module):
    """One rollout."""

    observation: Any  # (T, N, ...), or `Frames` of stacks
    next_obs: jax.Array  # (T, N, ...), s_{t+1}, before a new episode began; the newest frame of a stack
    action: jax.Array  # (T, N) int32, or (T, N, C) of C components
    log_prob: jax.Array  # (T, N), log beta(a|s) when acting
    logits: jax.Array  # (T, N, A), of pi
    action_bonus: jax.Array  # (T, N, A), the bonus vector that was used to act
    values: jax.Array  # (T, N, 2), intrinsic and extrinsic
    reward: jax.Array  # (T, N)
    terminated: jax.Array  # (T, N) bool
    truncated: jax.Array  # (T, N) bool


class TrainState(eqx.Module):
    """Everything that the next update depends on."""

    params: Params
    target_params: TargetParams
    optimizer: optax.OptState
    observations: (
        RunningMeanStd  # of observations, or of the newest frame of a stack: for the bonus networks, and `policy_view`
    )
    returns: ReturnScale
    environment: Any  # states of the N environments; None where they are on the host
    observation: jax.Array  # (N, ...), what the agents see; (0,) where environments are on the host
    episode_return: jax.Array  # (N,) float32, of the episodes under way
    visits: jax.Array  # (S, A) int32, how often each action was taken in each state; (0, A) where none are counted
    state_visits: jax.Array  # (S,) int32, how often each state was reached
    first_reward: jax.Array  # () int32, environment steps until the first positive reward; -1 before
    key: jax.Array
    updates: jax.Array  # () int32

    def actor(self, coef: jax.Array) -> Actor:
        """Who acts, with this c of Eq. 5."""
        predictor, target = ready(self.params.action), ready(self.target_params.action)
        return Actor(ready(self.params.policy), predictor, target, self.observations, coef)
