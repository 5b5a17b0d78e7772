"""Acting: observation -> policy and action bonus -> `balance` -> environment, as one scan on the device.

Axes: T steps, N environments, A choices of all action components, L preferences, K frames of a stack, P cells of a
policy's memory with U units each.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Real

from action_balance.algorithms.base import Algorithm
from action_balance.algorithms.networks import Policy
from action_balance.algorithms.state import Actor, TrainedAgent, TrainState, Trajectory
from action_balance.bonuses.base import ACTION
from action_balance.config.agent import AgentConfig
from action_balance.core.sharding import each_environment, shard
from action_balance.envs.base import Environment
from action_balance.envs.frame_stack import Frames
from action_balance.nets.image import cast_kernels


def action_coef(config: AgentConfig, state: TrainState | TrainedAgent) -> Float[Array, ""]:
    """c of Eq. 5 in the next rollout: constant, linear from start to end, or as it has adapted."""
    if state.action_coef is not None:
        return state.action_coef
    start, end = config.action_coef, config.exploration.action_coef_end
    if isinstance(start, str):
        raise ValueError("this coefficient adapts, but the state has none")
    if end is None:
        return jnp.asarray(start, jnp.float32)
    return start + (end - start) * jnp.minimum(state.updates / max(config.updates - 1, 1), 1.0)


def make_actor(state: TrainState | TrainedAgent, algorithm: Algorithm) -> Actor:
    """The policy and the action bonus as they are now."""
    params, bonus_state = state.params.bonuses.get(ACTION), state.bonus_states.get(ACTION)
    if algorithm.action_bonus is not None:
        bonus_state = algorithm.action_bonus.acting_state(bonus_state)
    acting = cast_kernels((state.params.policy, params, bonus_state))
    coef, epsilon = action_coef(algorithm.config, state), algorithm.epsilon(state.updates)
    return Actor(*acting, state.obs_stats, coef, epsilon)


class Acted(NamedTuple):
    """What an agent makes of one observation, or of several with leading axes."""

    preferences: Float[Array, "*b L"]  # logits or Q-values, before they are shifted
    values: Float[Array, "*b 2"]  # intrinsic and extrinsic
    action_bonus: Any  # r_ab(s, .), (..., A), or `Candidates`; zero or empty without one, zero for forbidden choices
    memory: Float[Array, "*b P U"] | None  # with this observation


def act(
    actor: Actor,
    observation: Real[Array, "..."],
    index: Int[Array, ""] | int,
    algorithm: Algorithm,
    mask: Bool[Array, " A"] | None = None,
    memory: Float[Array, "P U"] | None = None,
    noise: Float[Array, " draws"] | None = None,
) -> Acted:
    """Evaluate the policy and the action bonus on one observation.

    Candidates of an action bonus are drawn with the noise, or without it with one that is always the same. The index is
    the number of the state, 0 where states cannot be enumerated; a policy with memory needs what it remembers of the
    episode.
    """
    first, second, memory = actor.policy.step(algorithm.policy_obs(observation, actor.obs_stats), memory)
    preferences, values = algorithm.evaluate(first, second, mask)
    if algorithm.config.uniform:
        preferences, values = jnp.zeros_like(preferences), jnp.zeros_like(values)
    preferences = algorithm.distribution.masked(preferences, mask)
    if (bonus := algorithm.action_bonus) is None:
        return Acted(preferences, values, algorithm.distribution.unscored(preferences), memory)
    obs = algorithm.bonus_obs(observation, jnp.asarray(index, jnp.int32), actor.obs_stats)
    known = actor.bonus_params, actor.bonus_state, obs
    scores = algorithm.distribution.score(
        preferences, noise, mask, lambda: bonus.scores(*known), lambda actions: bonus.scores_of(*known, actions)
    )
    return Acted(preferences, values, scores, memory)


def empty_memory(policy: Policy, *lead: int) -> Float[Array, "*lead P U"] | None:
    return None if policy.memory is None else jnp.zeros((*lead, *policy.memory.shape))


def forget(memory: Float[Array, "*e P U"], began: Bool[Array, "*e"]) -> Float[Array, "*e P U"]:
    return jnp.where(began[..., None, None], 0.0, memory)


def rollout(environment: Environment, state: TrainState, algorithm: Algorithm) -> tuple[TrainState, Trajectory]:
    """Step all environments ``rollout_steps`` times."""
    config, distribution = algorithm.config, algorithm.distribution
    key, action_key, step_key = jax.random.split(state.key, 3)
    actor = make_actor(state, algorithm)
    # All randomness is drawn at once.
    steps = (config.algorithm.rollout_steps, config.envs)
    noise = shard(distribution.noise(action_key, steps), axis=1)
    step_keys = shard(jax.random.split(step_key, steps), axis=1)

    def index(observation: Array) -> Array:
        return environment.index(observation) if algorithm.spec.states else jnp.zeros((), jnp.int32)

    Carry = tuple[Any, Array, Array | None]

    def step(carry: Carry, drawn: tuple[Array, Array]) -> tuple[Carry, Trajectory]:
        environments, observation, memory = carry
        noise, keys = drawn
        frame = jax.vmap(algorithm.newest_frame)(observation)
        number = jax.vmap(index)(frame)
        acted = jax.vmap(lambda obs, i, before, drawn: act(actor, obs, i, algorithm, memory=before, noise=drawn))(
            observation, number, memory, noise
        )
        behaviour = jax.vmap(lambda x, y, e: algorithm.behaviour_logits(x, y, actor.coef, None, e))(
            acted.preferences, acted.action_bonus, actor.epsilon
        )
        action = jax.vmap(distribution.sample)(behaviour, noise)
        executed = jax.vmap(algorithm.executed)(action)
        environments, outcome = each_environment(environment.step)(environments, executed, keys)
        made = Trajectory(
            observation=frame,
            next_obs=outcome.next_obs,
            action=action,
            log_prob=jax.vmap(distribution.log_prob)(behaviour, action),
            preferences=acted.preferences,
            action_bonus=acted.action_bonus,
            values=acted.values,
            reward=outcome.reward,
            terminated=outcome.terminated,
            truncated=outcome.truncated,
            index=number,
            next_index=jax.vmap(index)(outcome.next_obs),
            info=outcome.info,
            memory=memory,
            epsilon=actor.epsilon,
        )
        ended = outcome.terminated | outcome.truncated
        following = jax.vmap(algorithm.following_obs)(observation, outcome.observation, ended)
        memory = None if acted.memory is None else forget(acted.memory, ended)
        return (environments, following, memory), made

    (environments, observation, memory), trajectory = jax.lax.scan(
        step, (state.env_state, state.observation, state.memory), (noise, step_keys)
    )
    if algorithm.spec.is_stack:
        trajectory = replace(trajectory, observation=_frames(state.observation, trajectory))
    state = replace(state, env_state=environments, observation=observation, memory=memory, key=key)
    return state, shard(trajectory, axis=1)


def _frames(stacks: Real[Array, "N K ..."], trajectory: Trajectory) -> Frames:
    """The frames of a rollout, each once, after those that the environments' stacks began with."""
    depth = stacks.shape[1]
    older = jnp.moveaxis(stacks[:, :-1], 1, 0)  # already zero where they are of an earlier episode
    began = jnp.concatenate([jnp.zeros((depth, stacks.shape[0]), bool), trajectory.ended[:-1]])
    return Frames(jnp.concatenate([older, trajectory.observation]), began, depth)
