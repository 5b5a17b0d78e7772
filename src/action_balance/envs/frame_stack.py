"""Stacks of the newest frames, oldest first. Axes: T times, N environments, K frames of a stack."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Shaped


def push(stack: Shaped[Array, "K ..."], frame: Shaped[Array, "..."], began: Bool[Array, ""]) -> Shaped[Array, "K ..."]:
    """Append a frame to a stack and drop its oldest one.

    Args:
        stack: the newest frames, oldest first.
        frame: the new frame.
        began: whether it is the first of an episode; then all frames before it become zero.

    Returns:
        The new stack.
    """
    return jnp.concatenate([jnp.where(began, 0, stack[1:]), frame[None]])


class Frames(eqx.Module):
    """Frames in their order, each stored once; stacks are made when they are needed. K - 1 frames are older than T."""

    frame: Shaped[Array, "frames N ..."]
    began: Bool[Array, "frames N"]  # whether it is the first frame of an episode
    depth: int = eqx.field(static=True)  # K

    def newest(self) -> Shaped[Array, "T N ..."]:
        """The last T frames."""
        return self.frame[self.depth - 1 :]

    def stacks(self) -> Shaped[Array, "T N K ..."]:
        """The stacks that end with the last T frames, as `push` makes them."""
        times = len(self.frame) - self.depth + 1
        hidden = jnp.zeros_like(self.began[:times])
        parts = []
        for place in reversed(range(self.depth)):
            part = self.frame[place : place + times]
            parts.append(jnp.where(hidden.reshape(hidden.shape + (1,) * (part.ndim - 2)), 0, part))
            hidden = hidden | self.began[place : place + times]
        return jnp.stack(parts[::-1], axis=2)
