"""The tabular agent of the paper's grid experiments (Sections IV-A and IV-B): one run, as pure functions.

Where the neural agent estimates how often a state or a pair occurred, this one counts. `docs/grid.md` states
its rules; each is one function here. Axes: S cells, A actions, T steps of a batch. ``vmap`` outside for runs.
"""

import math
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.core import returns
from action_balance.envs.grid import dynamics
from action_balance.envs.grid import world as grid
from action_balance.envs.grid.dynamics import GridState
from action_balance.envs.grid.world import Array, GridWorld
from action_balance.errors import UserError, check_name


@dataclass(frozen=True)
class TabularSettings:
    """Everything that can be set about the agent; the defaults are the paper's experiments."""

    update_every: int = 128
    """Steps between two updates; each learns from exactly the steps since the last one."""
    action_coef: float = 1.0
    """c_a, the weight of the action bonus in the policy."""
    state_coef: float = 0.1
    """c_s, the reward of reaching a cell never acted from."""
    reward_base: float = 1.02
    """How fast that reward fades: it is divided by this number for every visit."""
    gamma: float = 0.99
    """Discount of the intrinsic reward."""
    gae_lambda: float = 0.95
    """Decay of the advantage estimate."""
    value_rate: float = 0.1
    """Step size of the value table."""

    def __post_init__(self) -> None:
        if self.update_every < 1:
            raise UserError(f"the agent must learn every 1 or more steps, not {self.update_every}")
        most = {"action_coef": 1_000_000, "state_coef": 1_000_000, "gamma": 1, "gae_lambda": 1, "value_rate": 1}
        for name, limit in most.items():
            value = getattr(self, name)
            if not 0 <= value <= limit:
                raise UserError(f"{name.replace('_', '-')} must be a number from 0 to {limit:,}, not {value}")
        if not (math.isfinite(self.reward_base) and self.reward_base >= 1):
            raise UserError(f"reward-base must be a number of at least 1, not {self.reward_base}")


#: The methods, as which of the two coefficients they keep: (action bonus, next-state bonus).
METHODS: dict[str, tuple[bool, bool]] = {
    "random": (False, False),
    "action-balance": (True, False),
    "rnd": (False, True),
    "action-balance-rnd": (True, True),
}


def coefficients(method: str, settings: TabularSettings) -> tuple[float, float]:
    """(c_a, c_s) of a method. ``random`` has neither, and so its policy stays uniform."""
    balances, seeks = METHODS[check_name("method", method, METHODS)]
    return settings.action_coef * balances, settings.state_coef * seeks


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tables:
    """What the agent knows. The policy is a function of it: see `policy_logits`."""

    counts: jax.Array  # (S, A) int32, N(s, a)
    advantage: jax.Array  # (S, A) float32, A(s, a)
    value: jax.Array  # (S,) float32, V(s)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """The transitions between two updates, in the order in which they were made."""

    cell: jax.Array  # (T,) int32, s_i
    action: jax.Array  # (T,) int32, a_i
    reached: jax.Array  # (T,) int32, s'_i


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Run:
    """One run of the agent in one world."""

    key: jax.Array  # random key of the whole run
    action_coef: jax.Array  # () float32, c_a
    state_coef: jax.Array  # () float32, c_s
    goals: jax.Array  # (S,) bool, where this run ends; they replace the world's
    state: GridState
    tables: Tables
    updates: jax.Array  # () int32, batches collected so far
    steps: jax.Array  # () int32, steps taken until now or until the first goal
    reached: jax.Array  # () bool, a goal was reached


#: Steps of a loop that are compiled as one: fewer turns, a little longer to compile.
_UNROLL = 4


def _at(table: jax.Array, index: jax.Array) -> jax.Array:
    """Rows of a table; cells and pairs are always inside."""
    return table.at[index].get(mode="promise_in_bounds")


def empty_tables(cells: int) -> Tables:
    """Nothing counted, nothing valued."""
    actions = len(grid.MOVES)
    return Tables(
        counts=jnp.zeros((cells, actions), jnp.int32),
        advantage=jnp.zeros((cells, actions), jnp.float32),
        value=jnp.zeros(cells, jnp.float32),
    )


def begin(world: GridWorld, key: jax.Array, action_coef: Array, state_coef: Array, goals: Array) -> Run:
    """A run before its first step."""
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


def next_state_bonus(visits: jax.Array, state_coef: jax.Array | float, settings: TabularSettings) -> jax.Array:
    """Reward of reaching a cell that was acted from ``visits`` times: ``c_s * 1.02^(-N(s'))``."""
    return state_coef * jnp.exp(-np.float32(math.log(settings.reward_base)) * visits)


def policy_logits(counts: jax.Array, advantage: jax.Array, action_coef: jax.Array | float) -> jax.Array:
    """Logits of pi(s, .) from the counts and advantages of one cell, both (A,).

    ``c_a * sqrt(sum_b N(s, b)) / (1 + N(s, a)) + A(s, a)``: the action bonus is that of UCB. Both tables change
    only where the agent has acted, so computing this on the fly is the same as keeping a policy table; cells
    never acted from give zeros, the uniform policy.
    """
    # Sums and maxima over the four actions are written out: fewer and cheaper operations than reductions, under vmap.
    total = sum((counts[a] for a in range(1, len(counts))), counts[0])
    return action_coef * jnp.sqrt(total.astype(jnp.float32)) / (1 + counts) + advantage


def choose(logits: jax.Array, uniform: jax.Array) -> jax.Array:
    """The action that a uniform number in [0, 1) picks from softmax(logits), by the inverse of its distribution."""
    highest = reduce(jnp.maximum, (logits[a] for a in range(1, len(logits))), logits[0])
    weights = jnp.exp(logits - highest)
    upto = list(accumulate(weights[a] for a in range(len(logits))))
    passed = [(uniform * upto[-1] >= part).astype(jnp.int32) for part in upto[:-1]]
    return sum(passed, jnp.zeros_like(uniform, jnp.int32))


def learn(
    tables: Tables,
    batch: Batch,
    state_coef: jax.Array | float,
    settings: TabularSettings,
) -> Tables:
    """One update of the tables from one batch. Ends of episodes inside the batch are not noticed.

    Everything on the right-hand side is as it stood before the batch: N and V in the rewards and errors.
    """
    rewards = next_state_bonus(_at(tables.counts, batch.reached).sum(axis=-1), state_coef, settings)
    values = _at(tables.value, batch.reached)
    next_values = jnp.append(values[1:], 0.0)  # the last transition has none
    deltas = returns.td_errors(rewards, values, next_values, settings.gamma)
    advantage = returns.advantages(deltas, settings.gamma * settings.gae_lambda)

    def write(tables: Tables, transition: tuple[jax.Array, ...]) -> tuple[Tables, None]:
        cell, action, reached, delta, advantage = transition
        return Tables(
            counts=tables.counts.at[cell, action].add(1, mode="promise_in_bounds"),
            advantage=tables.advantage.at[cell, action].set(advantage, mode="promise_in_bounds"),
            value=tables.value.at[reached].add(settings.value_rate * delta, mode="promise_in_bounds"),
        ), None

    # From the end to the beginning, so that of a repeated pair the earliest advantage stays. One write at a time
    # keeps the order defined, and costs no more than one scatter with repeated indices.
    transitions = (batch.cell, batch.action, batch.reached, deltas, advantage)
    return jax.lax.scan(write, tables, transitions, reverse=True, unroll=_UNROLL)[0]


def collect(world: GridWorld, run: Run, uniforms: jax.Array) -> tuple[Run, Batch]:
    """As many steps as there are uniform numbers, (T,), all with the policy of the tables as they are.

    The same as stepping `grid.step` until the run's goal. What happens in a run after its goal does not matter, so
    episodes end by the clock alone, and the loop carries nothing but the cell.
    """
    tables, actions, steps = run.tables, len(grid.MOVES), len(uniforms)
    successor = jnp.asarray(world.successor).ravel()
    time = run.state.time + 1 + jnp.arange(steps)

    def act(cell: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
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
    """One batch of steps, then one update."""
    key = jax.random.fold_in(run.key, run.updates)
    run, batch = collect(world, run, jax.random.uniform(key, (settings.update_every,)))
    tables = learn(run.tables, batch, run.state_coef, settings)
    return replace(run, tables=tables, updates=run.updates + 1), batch
