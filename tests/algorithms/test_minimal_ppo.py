"""Our PPO beside the plain loop of ``benchmarks/minimal_ppo.py``: the same rollouts give the same parameters."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from minimal_ppo import Loop, MinimalPPO, Sample
from small_agent import PPO, SMALL, WORLD, algorithm, begun

from action_balance.algorithms import rollout, update
from action_balance.algorithms.state import TrainState

SHUFFLED = replace(PPO, minibatches=4, minibatch_of="samples", normalize_advantages=True, max_grad_norm=0.5, clip=0.1)
CONFIG = replace(SMALL, method="entropy", algorithm=replace(SHUFFLED, value_coef=0.5))


def test_three_updates_of_ppo_are_those_of_the_plain_loop() -> None:
    ours = algorithm(CONFIG)
    plain = MinimalPPO(WORLD, ours)

    @jax.jit
    def both(state: TrainState, loop: Loop) -> tuple[TrainState, Loop, jax.Array, jax.Array]:
        acted, made = rollout.rollout(WORLD, state, ours)
        learned, info = update.learn(acted, made, ours)
        _, batch, _ = update.prepare(acted, made, jnp.zeros((CONFIG.envs, 2)), jnp.ones(()), ours)  # for its orders
        samples = Sample(made.observation, made.action, made.log_prob, made.values[..., 1], made.reward, made.ended)
        loop = loop._replace(observation=acted.observation)
        loop = plain.learn(loop, samples, batch.order.reshape(CONFIG.algorithm.epochs, -1))
        return learned, loop, made.reward.sum(), info.losses["clip_fraction"].mean()

    state = begun(CONFIG)
    first = state.params.policy
    loop = Loop(first, plain.adam.init(first), None, state.observation, state.key)
    rewards = clipped = 0.0
    for _ in range(3):
        state, loop, reward, fraction = both(state, loop)
        rewards, clipped = rewards + float(reward), clipped + float(fraction)
    assert min(rewards, clipped, plain.entropy_coef) > 0  # all parts of the loss are at work
    leaves = (jax.device_get(jax.tree.leaves(one)) for one in (state.params.policy, loop.policy, first))
    for mine, plains, before in zip(*leaves, strict=True):
        np.testing.assert_allclose(mine, plains, atol=1e-5)
        assert np.abs(mine - before).max() > 1e-2
