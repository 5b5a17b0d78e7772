"""PPO as a plain, minimal loop in JAX, for comparison: one reward stream, one value, nothing recorded but the return.

It has the form that PureJaxRL (Lu et al., 2022, https://arxiv.org/abs/2210.05639) made common: environments, networks
and update in one compiled function. Networks, optimiser and settings are those of our PPO. Axes: T steps, N
environments, B samples of a minibatch.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from action_balance.algorithms.base import Algorithm
from action_balance.algorithms.networks import Policy
from action_balance.algorithms.ppo.ppo import PPO
from action_balance.envs.base import Environment


class Loop(NamedTuple):
    """What the loop carries from update to update."""

    policy: Policy
    optimizer: optax.OptState
    env_state: Any
    observation: Array
    key: Array


class Sample(NamedTuple):
    """One step of every environment."""

    observation: Array
    action: Array
    log_prob: Array
    value: Array
    reward: Array
    done: Array


class MinimalPPO:
    """PPO with the settings of an agent, of which it uses those that PPO has."""

    def __init__(self, environment: Environment, algorithm: Algorithm) -> None:
        self.environment, self.algorithm, self.config = environment, algorithm, algorithm.config
        self.entropy_coef = PPO(self.config, algorithm.spec).entropy_coef
        ppo = self.config.algorithm
        clip = optax.identity() if ppo.max_grad_norm is None else optax.clip_by_global_norm(ppo.max_grad_norm)
        self.adam = optax.chain(clip, optax.adam(ppo.learning_rate))

    def init(self, key: Array) -> Loop:
        """A fresh policy, and environments at the beginning of their first episodes."""
        policy_key, reset_key, key = jax.random.split(key, 3)
        policy = self.algorithm.network(policy_key)
        env_state, observation = jax.vmap(self.environment.reset)(jax.random.split(reset_key, self.config.envs))
        return Loop(policy, self.adam.init(policy), env_state, observation, key)

    def _policy(self, policy: Policy, observation: Array) -> tuple[Array, Array]:
        logits, values = policy(self.algorithm.policy_obs(observation, None))
        return logits, values[1]

    def step(self, loop: Loop) -> tuple[Loop, Array]:
        """One rollout and one update; the second result is the mean reward."""
        key, order_key = jax.random.split(loop.key)
        loop, batch = self.rollout(loop._replace(key=key))
        order_keys = jax.random.split(order_key, self.config.algorithm.epochs)
        orders = jax.vmap(lambda key: jax.random.permutation(key, self.config.steps_per_update))(order_keys)
        return self.learn(loop, batch, orders), batch.reward.mean()

    def rollout(self, loop: Loop) -> tuple[Loop, Sample]:
        """Steps of all environments, (T, N)."""
        envs = self.config.envs

        def act(carry: tuple[Any, Array, Array], _: None) -> tuple[tuple[Any, Array, Array], Sample]:
            env_state, observation, key = carry
            key, action_key, step_key = jax.random.split(key, 3)
            logits, value = jax.vmap(lambda obs: self._policy(loop.policy, obs))(observation)
            action = jax.random.categorical(action_key, logits)
            log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
            env_state, outcome = jax.vmap(self.environment.step)(env_state, action, jax.random.split(step_key, envs))
            done = outcome.terminated | outcome.truncated
            sample = Sample(observation, action, log_prob, value, outcome.reward, done)
            return (env_state, outcome.observation, key), sample

        carry = (loop.env_state, loop.observation, loop.key)
        (env_state, observation, key), batch = jax.lax.scan(act, carry, None, self.config.algorithm.rollout_steps)
        return loop._replace(env_state=env_state, observation=observation, key=key), batch

    def learn(self, loop: Loop, batch: Sample, orders: Array) -> Loop:
        """Epochs of minibatches, each epoch with its order of the samples."""
        ppo: Any = self.config.algorithm
        last = jax.vmap(lambda obs: self._policy(loop.policy, obs)[1])(loop.observation)

        def backward(carry: tuple[Array, Array], sample: Sample) -> tuple[tuple[Array, Array], Array]:
            advantage, following = carry
            going = ppo.gamma_ext * (1 - sample.done)
            advantage = sample.reward + going * (following + ppo.gae_lambda * advantage) - sample.value
            return (advantage, sample.value), advantage

        advantages = jax.lax.scan(backward, (jnp.zeros_like(last), last), batch, reverse=True)[1]
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), (batch, advantages))

        def loss(policy: Policy, part: tuple[Sample, Array]) -> Array:
            sample, advantage = part
            logits, value = jax.vmap(lambda obs: self._policy(policy, obs))(sample.observation)
            log_probs = jax.nn.log_softmax(logits)
            log_prob = jnp.take_along_axis(log_probs, sample.action[:, None], 1)[:, 0]
            ratio = jnp.exp(log_prob - sample.log_prob)
            normalized = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            clipped = jnp.clip(ratio, 1 - ppo.clip, 1 + ppo.clip)
            gain = jnp.minimum(ratio * normalized, clipped * normalized).mean()
            error = 0.5 * ((value - (sample.value + advantage)) ** 2).mean()
            entropy = -(jnp.exp(log_probs) * log_probs).sum(axis=-1).mean()
            return ppo.value_coef * error - gain - self.entropy_coef * entropy

        def minibatch(carry: tuple[Policy, optax.OptState], part: tuple[Sample, Array]) -> tuple[Any, None]:
            policy, optimizer = carry
            changes, optimizer = self.adam.update(jax.grad(loss)(policy, part), optimizer)
            return (optax.apply_updates(policy, changes), optimizer), None

        def epoch(carry: tuple[Policy, optax.OptState], order: Array) -> tuple[Any, None]:
            parts = jax.tree.map(lambda leaf: leaf[order].reshape(ppo.minibatches, -1, *leaf.shape[1:]), flat)
            return jax.lax.scan(minibatch, carry, parts)[0], None

        (policy, optimizer), _ = jax.lax.scan(epoch, (loop.policy, loop.optimizer), orders)
        return loop._replace(policy=policy, optimizer=optimizer)
