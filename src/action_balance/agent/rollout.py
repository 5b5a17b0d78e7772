"""Acting: observation -> policy and action bonus -> `balance` -> environment, as one scan on the device.

Axes: T steps, N environments, A choices of all action components.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Real

from action_balance.agent.algorithm import Algorithm
from action_balance.agent.state import Actor, TrainedAgent, TrainState, Trajectory
from action_balance.bonuses.base import ACTION
from action_balance.config.agent import AgentConfig
from action_balance.core.balance import mask_logits
from action_balance.core.sharding import each_environment, split
from action_balance.envs.base import Environment
from action_balance.nets.image import cast_kernels


def action_coef(config: AgentConfig, state: TrainState | TrainedAgent) -> Float[Array, ""]:
    """c of Eq. 5 in the next rollout: constant, linear from start to end, or as it has adapted.

    Args:
        config: Settings of the agent.
        state: The agent.

    Returns:
        The coefficient.
    """
    if state.action_coef is not None:
        return state.action_coef
    start, end = config.action_coef, config.bonus.action_coef_end
    if isinstance(start, str):
        raise ValueError("this coefficient adapts, but the state has none")
    if end is None:
        return jnp.asarray(start, jnp.float32)
    return start + (end - start) * jnp.minimum(state.updates / max(config.updates - 1, 1), 1.0)


def make_actor(state: TrainState | TrainedAgent, algorithm: Algorithm) -> Actor:
    """The policy and the action bonus as they are now.

    Args:
        state: The agent.
        algorithm: Settings, distribution and bonuses.

    Returns:
        What the next rollout acts with.
    """
    params, bonus_state = state.params.bonuses.get(ACTION), state.bonus_states.get(ACTION)
    if algorithm.action_bonus is not None:
        bonus_state = algorithm.action_bonus.acting_state(bonus_state)
    acting = cast_kernels((state.params.policy, params, bonus_state))
    return Actor(*acting, state.obs_stats, action_coef(algorithm.config, state))


def act(
    actor: Actor,
    observation: Real[Array, "..."],
    index: Int[Array, ""] | int,
    algorithm: Algorithm,
    mask: Bool[Array, " A"] | None = None,
) -> tuple[Float[Array, " A"], Float[Array, " 2"], Float[Array, " A"]]:
    """Evaluate the policy and the action bonus on one observation.

    Args:
        actor: The agent that acts.
        observation: One observation.
        index: Number of the state; 0 where states cannot be enumerated.
        algorithm: Settings, distribution and bonuses.
        mask: Which choices are allowed; None if all of them are.

    Returns:
        Logits of pi, the intrinsic and extrinsic values, and the action bonus r_ab(s, .), which is zero without one and
        for forbidden choices.
    """
    logits, values = actor.policy(algorithm.policy_obs(observation, actor.obs_stats))
    if algorithm.config.uniform:
        logits, values = jnp.zeros_like(logits), jnp.zeros_like(values)
    logits = mask_logits(logits, mask)
    if algorithm.action_bonus is None:
        return logits, values, jnp.zeros_like(logits)
    obs = algorithm.bonus_obs(observation, jnp.asarray(index, jnp.int32), actor.obs_stats)
    scores = algorithm.action_bonus.scores(actor.bonus_params, actor.bonus_state, obs)
    return logits, values, scores if mask is None else jnp.where(mask, scores, 0.0)


def rollout(environment: Environment, state: TrainState, algorithm: Algorithm) -> tuple[TrainState, Trajectory]:
    """Step all environments ``rollout_steps`` times.

    Args:
        environment: The environment.
        state: The agent and the states of its environments.
        algorithm: Settings, distribution and bonuses.

    Returns:
        The state with the environments after the rollout, and the rollout.
    """
    config, distribution = algorithm.config, algorithm.distribution
    key, action_key, step_key = jax.random.split(state.key, 3)
    actor = make_actor(state, algorithm)
    # All randomness is drawn at once.
    steps = (config.ppo.rollout_steps, config.envs)
    noise = split(jax.random.gumbel(action_key, (*steps, distribution.choices)), axis=1)
    step_keys = split(jax.random.split(step_key, steps), axis=1)

    def index(observation: Array) -> Array:
        return environment.index(observation) if algorithm.spec.states else jnp.zeros((), jnp.int32)

    def step(carry: tuple[Any, Array], drawn: tuple[Array, Array]) -> tuple[tuple[Any, Array], Trajectory]:
        environments, observation = carry
        noise, keys = drawn
        number = jax.vmap(index)(observation)
        logits, values, bonus = jax.vmap(lambda obs, i: act(actor, obs, i, algorithm))(observation, number)
        behaviour = jax.vmap(lambda x, y: algorithm.behaviour_logits(x, y, actor.coef))(logits, bonus)
        action = jax.vmap(distribution.sample)(behaviour, noise)
        environments, outcome = each_environment(environment.step)(environments, action, keys)
        made = Trajectory(
            observation=observation,
            next_obs=outcome.next_obs,
            action=action,
            log_prob=jax.vmap(distribution.log_prob)(behaviour, action),
            logits=logits,
            action_bonus=bonus,
            values=values,
            reward=outcome.reward,
            terminated=outcome.terminated,
            truncated=outcome.truncated,
            index=number,
            next_index=jax.vmap(index)(outcome.next_obs),
            info=outcome.info,
        )
        return (environments, outcome.observation), made

    (environments, observation), trajectory = jax.lax.scan(
        step, (state.env_state, state.observation), (noise, step_keys)
    )
    return replace(state, env_state=environments, observation=observation, key=key), split(trajectory, axis=1)
