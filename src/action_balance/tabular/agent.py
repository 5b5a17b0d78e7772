"""The tabular agent of the paper's grid experiments (Sections IV-A and IV-B): one run, as pure functions.

The neural agent estimates how often states and state-action pairs occurred; this agent counts them. `docs/grid.md`
states its rules, and each rule is one function here. Axes: S cells, A actions, T steps of a batch. Use ``vmap`` for
several runs.
"""

import math
from dataclasses import replace
from functools import reduce
from itertools import accumulate

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Int32, PRNGKeyArray

from action_balance.core import returns
from action_balance.envs.grid import dynamics
from action_balance.envs.grid import world as grid
from action_balance.envs.grid.dynamics import GridState
from action_balance.envs.grid.world import GridWorld
from action_balance.tabular.settings import TabularSettings

Scalar = Float[Array, ""] | float


class Tables(eqx.Module):
    """What the agent has learned. `policy_logits` computes the policy from it."""

    counts: Int32[Array, "S A"]  # N(s, a)
    advantage: Float[Array, "S A"]  # A(s, a)
    value: Float[Array, " S"]  # V(s)


class Batch(eqx.Module):
    """The transitions between two updates, in order."""

    cell: Int32[Array, " T"]  # s_i
    action: Int32[Array, " T"]  # a_i
    reached: Int32[Array, " T"]  # s'_i


class Run(eqx.Module):
    """One run of the agent in one world."""

    key: PRNGKeyArray  # of the whole run
    action_coef: Float[Array, ""]  # c_a
    state_coef: Float[Array, ""]  # c_s
    goals: Bool[Array, " S"]  # cells that end this run; they replace those of the world
    state: GridState
    tables: Tables
    updates: Int32[Array, ""]  # batches collected so far
    steps: Int32[Array, ""]  # steps so far, or until the first goal
    reached: Bool[Array, ""]  # whether a goal was reached


#: Iterations of a loop that are unrolled: fewer turns for a slightly longer compilation.
_UNROLL = 4


def _at(table: Array, index: Array) -> Array:
    """Entries of a table; cells and pairs are never out of bounds."""
    return table.at[index].get(mode="promise_in_bounds")


def empty_tables(cells: int) -> Tables:
    actions = len(grid.MOVES)
    return Tables(
        counts=jnp.zeros((cells, actions), jnp.int32),
        advantage=jnp.zeros((cells, actions), jnp.float32),
        value=jnp.zeros(cells, jnp.float32),
    )


def begin(
    world: GridWorld,
    key: PRNGKeyArray,
    action_coef: Float[ArrayLike, ""],
    state_coef: Float[ArrayLike, ""],
    goals: Bool[ArrayLike, " S"],
) -> Run:
    zero = jnp.zeros((), jnp.int32)
    return Run(
        key=key,
        action_coef=jnp.asarray(action_coef, jnp.float32),
        state_coef=jnp.asarray(state_coef, jnp.float32),
        goals=jnp.asarray(goals, bool),
        state=dynamics.reset(world),
        tables=empty_tables(world.cells),
        updates=zero,
        steps=zero,
        reached=jnp.zeros((), bool),
    )


def next_state_bonus(
    visits: Int[Array, "*batch"], state_coef: Scalar, settings: TabularSettings
) -> Float[Array, "*batch"]:
    """Reward of reaching a cell, ``c_s * reward_base^(-N(s'))``."""
    return state_coef * jnp.exp(-np.float32(math.log(settings.reward_base)) * visits)


def policy_logits(counts: Int[Array, " A"], advantage: Float[Array, " A"], action_coef: Scalar) -> Float[Array, " A"]:
    """Logits of the policy in one cell, ``c_a * sqrt(sum_b N(s, b)) / (1 + N(s, a)) + A(s, a)``.

    The action bonus is that of UCB. Both tables change only where the agent has acted, so computing the policy on the
    fly is the same as keeping a table of it. The policy of a cell never acted from is uniform.
    """
    # The sum over the four actions is written out: under vmap that is cheaper than a reduction.
    total = sum((counts[a] for a in range(1, len(counts))), counts[0])
    return action_coef * jnp.sqrt(total.astype(jnp.float32)) / (1 + counts) + advantage


def choose(logits: Float[Array, " A"], uniform: Float[Array, ""]) -> Int32[Array, ""]:
    """Sample an action from softmax(logits) by inverting its cumulative distribution."""
    highest = reduce(jnp.maximum, (logits[a] for a in range(1, len(logits))), logits[0])
    weights = jnp.exp(logits - highest)
    upto = list(accumulate(weights[a] for a in range(len(logits))))
    passed = [(uniform * upto[-1] >= part).astype(jnp.int32) for part in upto[:-1]]
    return sum(passed, jnp.zeros_like(uniform, jnp.int32))


def learn(tables: Tables, batch: Batch, state_coef: Scalar, settings: TabularSettings) -> Tables:
    """Update the tables from one batch. Episode boundaries inside the batch are ignored.

    Rewards and TD errors use N and V from before the batch.
    """
    rewards = next_state_bonus(_at(tables.counts, batch.reached).sum(axis=-1), state_coef, settings)
    values = _at(tables.value, batch.reached)
    next_values = jnp.append(values[1:], 0.0)  # the last transition has no successor in the batch
    deltas = returns.td_errors(rewards, values, next_values, settings.gamma)
    advantage = returns.advantages(deltas, settings.gamma * settings.gae_lambda)

    def write(tables: Tables, transition: tuple[Array, ...]) -> tuple[Tables, None]:
        cell, action, reached, delta, advantage = transition
        return Tables(
            counts=tables.counts.at[cell, action].add(1, mode="promise_in_bounds"),
            advantage=tables.advantage.at[cell, action].set(advantage, mode="promise_in_bounds"),
            value=tables.value.at[reached].add(settings.value_rate * delta, mode="promise_in_bounds"),
        ), None

    # From the last transition to the first, so that a repeated pair keeps its earliest advantage. Writing one at a
    # time defines the order and costs no more than one scatter with repeated indices.
    transitions = (batch.cell, batch.action, batch.reached, deltas, advantage)
    return jax.lax.scan(write, tables, transitions, reverse=True, unroll=_UNROLL)[0]


def collect(world: GridWorld, run: Run, uniforms: Float[Array, " T"]) -> tuple[Run, Batch]:
    """Take T steps with the policy of the current tables.

    The result is that of calling `dynamics.step` until the run's goal. Whatever happens after the goal does not matter,
    so episodes end by the time limit alone, and the loop carries nothing but the cell.
    """
    tables, actions, steps = run.tables, len(grid.MOVES), len(uniforms)
    successor = jnp.asarray(world.successor).ravel()
    time = run.state.time + 1 + jnp.arange(steps)

    def act(cell: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        uniform, episode_ends = now
        logits = policy_logits(_at(tables.counts, cell), _at(tables.advantage, cell), run.action_coef)
        pair = cell * actions + choose(logits, uniform)
        return jnp.where(episode_ends, world.start, _at(successor, pair)), pair

    episode_ends = time % world.episode_steps == 0
    cell, pairs = jax.lax.scan(act, run.state.cell, (uniforms, episode_ends), unroll=_UNROLL)
    reached = _at(successor, pairs)
    at_goal = _at(run.goals, reached)
    until_goal = jnp.where(at_goal.any(), at_goal.argmax() + 1, steps)
    return replace(
        run,
        state=GridState(cell, time[-1] % world.episode_steps),
        steps=run.steps + jnp.where(run.reached, 0, until_goal),
        reached=run.reached | at_goal.any(),
    ), Batch(pairs // actions, pairs % actions, reached)


def advance(world: GridWorld, run: Run, settings: TabularSettings) -> tuple[Run, Batch]:
    key = jax.random.fold_in(run.key, run.updates)
    run, batch = collect(world, run, jax.random.uniform(key, (settings.update_every,)))
    tables = learn(run.tables, batch, run.state_coef, settings)
    return replace(run, tables=tables, updates=run.updates + 1), batch
