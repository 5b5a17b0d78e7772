"""Action balance for a policy of your own, without our trainer: one online update per step, in plain JAX.

The policy here is a poor one that mostly walks left and down, away from everything. The program prints how many cells
of a 12x12 grid it visits without and with action balance.
"""

import jax
import jax.numpy as jnp
import optax

import action_balance as ab
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.maps import open_world

environment = GridEnvironment(open_world(12, episode_steps=50))
optimizer = optax.adam(1e-3)


def my_policy(observation: jax.Array) -> jax.Array:
    """Logits of left, right, up, down; yours would depend on the observation."""
    return jnp.array([0.5, 0.0, 0.0, 0.5]) + 0 * observation.sum()


def visited_cells(coef: float, key: jax.Array, steps: int = 5000) -> jax.Array:
    """The number of cells that the agent acts from if the action bonus has this weight."""
    target_key, predictor_key, reset_key, steps_key = jax.random.split(key, 4)
    inputs = environment.spec.shape[0]
    target = ab.BonusNet(inputs, 64, 32, actions=environment.spec.nvec[0], key=target_key)
    predictor = ab.BonusNet(inputs, 64, 32, actions=environment.spec.nvec[0], key=predictor_key)

    def step(carry, key):
        predictor, optimizer_state, state, observation, seen = carry
        bonus = ab.Distillation(target, predictor).all_errors(observation)  # how rarely each action was tried here
        action = jax.random.categorical(key, ab.balance(my_policy(observation), bonus, coef))
        gradient = jax.grad(lambda p: ab.Distillation(target, p).error(observation, action))(predictor)
        changes, optimizer_state = optimizer.update(gradient, optimizer_state)
        predictor = optax.apply_updates(predictor, changes)
        seen = seen.at[environment.index(observation)].set(True)
        state, outcome = environment.step(state, action, key)
        return (predictor, optimizer_state, state, outcome.observation, seen), None

    state, observation = environment.reset(reset_key)
    carry = (predictor, optimizer.init(predictor), state, observation, jnp.zeros(environment.spec.states, bool))
    return jax.lax.scan(step, carry, jax.random.split(steps_key, steps))[0][-1].sum()


if __name__ == "__main__":
    keys = [jax.random.key(seed) for seed in range(5)]
    for coef in (0.0, 1.0, 3.0):
        counts = [int(jax.jit(visited_cells, static_argnums=0)(coef, key)) for key in keys]
        print(f"action balance x {coef}: {counts} of {environment.spec.states} cells")
