"""Grid worlds in motion: `reset` and `step` as pure functions of a `GridWorld`."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from action_balance.envs.grid.world import GridWorld

# Worlds are arguments of compiled functions, their arrays as leaves.
jax.tree_util.register_dataclass(
    GridWorld,
    data_fields=["walls", "start", "goals", "episode_steps", "successor"],
    meta_fields=["width", "height"],
)


class GridState(eqx.Module):
    """Position of the agent, and the time."""

    cell: Int[Array, ""]
    time: Int[Array, ""]  # steps taken in this episode


class GridStep(eqx.Module):
    """Outcome of one step, before a new episode begins."""

    cell: Int[Array, ""]  # the cell that was reached: s'
    reward: Float[Array, ""]  # 1 on a goal
    terminated: Bool[Array, ""]  # a goal was reached
    truncated: Bool[Array, ""]  # the time limit was reached


def reset(world: GridWorld) -> GridState:
    return GridState(cell=jnp.asarray(world.start, jnp.int32), time=jnp.zeros((), jnp.int32))


def step(world: GridWorld, state: GridState, action: Int[Array, ""]) -> tuple[GridState, GridStep]:
    """Take one step; a blocked move stays where it is."""
    cell = jnp.asarray(world.successor)[state.cell, action]
    time = state.time + 1
    terminated = jnp.asarray(world.goals)[cell]
    truncated = ~terminated & (time >= world.episode_steps)
    ended = terminated | truncated
    following = GridState(cell=jnp.where(ended, world.start, cell), time=jnp.where(ended, 0, time))
    return following, GridStep(cell, terminated.astype(jnp.float32), terminated, truncated)
