"""What belongs to the episode that each environment is in, step by step through a rollout.

Axes: T steps, N environments.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

Carry = TypeVar("Carry")


def scan_episodes(
    step: Callable[[Carry, Any], tuple[Carry, Any]],
    clear: Callable[[Carry], Carry],
    memories: Carry,
    inputs: Any,
    ended: Bool[Array, "T N"],
) -> tuple[Carry, Any]:
    """Carry the memory of every environment through a rollout, and clear it at the ends of its episodes only.

    ``step`` takes the memory and the inputs of one environment at one step, and returns the memory after it and an
    output; ``clear`` empties one memory. Memories have a leading axis (N,), inputs and outputs (T, N).

    A memory is cleared after the last step of an episode, whose output still depends on all of the episode. What is
    returned continues with the next rollout: two short rollouts give the same as one long one.
    """

    def all_environments(memories: Carry, now: tuple[Any, Array]) -> tuple[Carry, Any]:
        given, last = now
        memories, outputs = jax.vmap(step)(memories, given)

        def choose(cleared: Array, kept: Array) -> Array:
            return jnp.where(last.reshape(-1, *[1] * (kept.ndim - 1)), cleared, kept)

        memories = jax.tree.map(choose, jax.vmap(clear)(memories), memories)
        return memories, outputs

    found: tuple[Carry, Any] = jax.lax.scan(all_environments, memories, (inputs, ended))
    return found
