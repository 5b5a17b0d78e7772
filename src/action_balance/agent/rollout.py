"""Acting: observation -> policy and action bonus -> `balance` -> environment, as one scan on the device.

Axes: T steps, N environments, A actions.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from action_balance import distributions as components
from action_balance.agent.state import Actor, Policy, TrainState, Trajectory
from action_balance.bonuses.distillation import Distillation
from action_balance.config.agent import Config
from action_balance.core import ppo
from action_balance.core.running_stats import RunningMeanStd
from action_balance.distributions import Parts
from action_balance.envs.base import Environment


def action_coef(config: Config, updates: jax.Array) -> jax.Array:
    """c of Eq. 5 after so many updates: constant, or on its way to its end."""
    begin, end = config.bonus.action_coef, config.bonus.action_coef_end
    if end is None:
        return jnp.asarray(begin, jnp.float32)
    return begin + (end - begin) * jnp.minimum(updates / max(config.updates - 1, 1), 1.0)


def act(state: TrainState | Actor, observation: jax.Array, config: Config) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Logits of pi (A,), both values (2,) and the action bonus r_ab(s, .) (A,) of one observation."""
    actor = state if isinstance(state, Actor) else state.actor(jnp.zeros(()))
    logits, values = actor.policy(policy_view(observation, actor.policy, actor.observations, config))
    if config.traits.uniform:
        logits, values = jnp.zeros_like(logits), jnp.zeros_like(values)
    if not config.traits.action:
        return logits, values, jnp.zeros_like(logits)
    module = Distillation(actor.target, actor.predictor)
    return logits, values, module.all_errors(bonus_view(observation, actor.observations, config))


def bonus_view(observation: jax.Array, moments: RunningMeanStd, config: Config) -> jax.Array:
    """An observation as both bonus networks see it: normalised; of a stack, only the newest frame."""
    newest = observation[-1] if observation.ndim > moments.mean.ndim else observation
    return moments.normalize(newest, config.bonus.observation_clip)


def policy_view(observation: jax.Array, policy: Policy, moments: RunningMeanStd | None, config: Config) -> jax.Array:
    """An observation as the policy sees it: as it is, or normalised as for the bonus networks.

    Args:
        moments: those that acted. When learning, too: the first ratio of an update is 1 only with the same ones.
    """
    if not policy.normalizes_obs:
        return observation
    if moments is None:
        raise ValueError("this policy sees whitened observations: the statistics are needed")
    return moments.normalize(observation, config.bonus.observation_clip)


def behaviour_logits(
    logits: jax.Array, bonus: jax.Array, coef: jax.Array, config: Config, parts: Parts = None
) -> jax.Array:
    """Logits of beta (Eq. 5), (A,), in each component of an action; those of pi where there is no action bonus."""
    return components.balanced(logits, bonus, coef, config.bonus.normalize, parts) if config.traits.action else logits


def rollout(environment: Environment, state: TrainState, config: Config) -> tuple[TrainState, Trajectory]:
    """``rollout_steps`` steps of all environments."""
    key, action_key, step_key = jax.random.split(state.key, 3)
    coef = action_coef(config, state.updates)
    # All that is random is drawn at once. The largest sum of logit and Gumbel noise is a sample of the softmax.
    steps = (config.ppo.rollout_steps, config.envs)
    noise = jax.random.gumbel(action_key, (*steps, environment.spec.nvec[0]))
    step_keys = jax.random.split(step_key, steps)

    def step(
        carry: tuple[Any, jax.Array], drawn: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[Any, jax.Array], Trajectory]:
        environments, observation = carry
        noise, keys = drawn
        logits, values, bonus = jax.vmap(lambda seen: act(state, seen, config))(observation)
        behaviour = jax.vmap(lambda x, y: behaviour_logits(x, y, coef, config))(logits, bonus)
        action = (behaviour + noise).argmax(axis=-1)
        environments, outcome = jax.vmap(environment.step)(environments, action, keys)
        made = Trajectory(
            observation=observation,
            next_obs=outcome.next_obs,
            action=action,
            log_prob=jax.vmap(ppo.log_prob)(behaviour, action),
            logits=logits,
            action_bonus=bonus,
            values=values,
            reward=outcome.reward,
            terminated=outcome.terminated,
            truncated=outcome.truncated,
        )
        return (environments, outcome.observation), made

    (environments, observation), trajectory = jax.lax.scan(
        step, (state.environment, state.observation), (noise, step_keys)
    )
    return replace(state, environment=environments, observation=observation, key=key), trajectory
