"""Stacks of the newest frames, oldest first. Axes: T times, N environments, K frames of a stack."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Shaped


def push(stack: Shaped[Array, "K ..."], frame: Shaped[Array, "..."], began: Bool[Array, ""]) -> Shaped[Array, "K ..."]:
    """Append a frame to a stack and drop its oldest one."""
    return jnp.concatenate([jnp.where(began, jnp.zeros_like(stack[1:]), stack[1:]), frame[None]])


class Frames(eqx.Module):
    """Frames in their order, each stored once; stacks are made when they are needed. K - 1 frames are older than T."""

    frame: Shaped[Array, "frames N ..."]
    began: Bool[Array, "frames N"]  # whether it is the first frame of an episode
    depth: int = eqx.field(static=True)  # K

    def newest(self) -> Shaped[Array, "T N ..."]:
        return self.frame[self.depth - 1 :]

    def stacks(self) -> Shaped[Array, "T N K ..."]:
        """The stacks that end with the last T frames, as `push` makes them."""
        times = len(self.frame) - self.depth + 1
        return self._stacked([slice(place, place + times) for place in range(self.depth)], axis=2)

    def at(self, times: Int[Array, " B"], environments: Int[Array, " B"]) -> Shaped[Array, "B K ..."]:
        return self._stacked([(times + place, environments) for place in range(self.depth)], axis=1)

    def _stacked(self, places: Sequence[Any], axis: int) -> Array:
        """The frames in K places, oldest first; what is older than the beginning of an episode is zero."""
        hidden = jnp.zeros_like(self.began[places[0]])
        parts = []
        for place in reversed(places):
            part = self.frame[place]
            parts.append(
                jnp.where(hidden.reshape(hidden.shape + (1,) * (part.ndim - hidden.ndim)), jnp.zeros_like(part), part)
            )
            hidden = hidden | self.began[place]
        return jnp.stack(parts[::-1], axis=axis)
