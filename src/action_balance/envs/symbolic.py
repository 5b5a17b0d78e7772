"""Symbolic frames: grids of small integers, stored as bytes, which networks see one-hot.

Axes: B samples, H, W cells, C channels, D numbers of a one-hot frame.
"""

from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Integer

from action_balance.core.running_stats import RunningMeanStd


def one_hot_frame(frame: Integer[Array, "*b H W C"], categories: tuple[int, ...]) -> Bool[Array, "*b D"]:
    """The symbols of a frame, one-hot: of every cell, one after the other, the categories of each channel."""
    parts = [frame[..., place, None] == jnp.arange(count) for place, count in enumerate(categories)]
    return jnp.concatenate(parts, axis=-1).reshape(*frame.shape[:-3], -1)


class SymbolicStats(RunningMeanStd):
    """Statistics of one-hot frames: how often each symbol is in each cell."""

    categories: tuple[int, ...] = eqx.field(static=True)

    def update(self, samples: Integer[Array, "B H W C"], where: Bool[Array, " B"] | None = None) -> "SymbolicStats":
        """Merge a batch; see `RunningMeanStd.update`. Numbers of 0 and 1 with mean p have the variance p (1 - p)."""
        size = samples.shape[0] if where is None else where.sum()
        seen = one_hot_frame(samples, self.categories)
        mean = seen.mean(axis=0, where=None if where is None else where[:, None])
        total, shift = self.count + size, mean - self.mean
        return replace(
            self,
            count=total,
            mean=self.mean + shift * (size / total),
            squares=self.squares + size * mean * (1 - mean) + shift**2 * (self.count * size / total),
        )

    def normalize(
        self, sample: Integer[Array, "*b H W C"], clip: float | Float[Array, ""] = 5.0
    ) -> Float[Array, "*b D"]:
        return super().normalize(one_hot_frame(sample, self.categories).astype(self.mean.dtype), clip)
