"""Running statistics: mean and variance that merge batches exactly, and the scale of intrinsic returns.

Axes: T time, N environments.
"""

from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp


class RunningMeanStd(eqx.Module):
    """Mean and variance of all that was absorbed; fields have the shape of one sample."""

    count: jax.Array  # () float32
    mean: jax.Array  # sample shape
    squares: jax.Array  # sample shape, sum of squared deviations from the mean

    @classmethod
    def empty(cls, shape: tuple[int, ...] = ()) -> Self:
        """Nothing absorbed: mean 0, variance 1."""
        return cls(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))

    @property
    def variance(self) -> jax.Array:
        """Population variance; 1 before anything was absorbed."""
        return jnp.where(self.count > 0, self.squares / jnp.maximum(self.count, 1), 1.0)

    def update(self, samples: jax.Array) -> Self:
        """Merge a batch, (B, ...), by the parallel rule of Chan et al.: exact whatever the split into batches."""
        size = samples.shape[0]
        # From the first sample on, so that sums stay small far from zero and what never changes has variance 0.
        first = samples[0].astype(self.mean.dtype)
        offsets = samples - first
        offset = offsets.mean(axis=0)
        mean = first + offset
        squares = ((offsets - offset) ** 2).sum(axis=0)
        total = self.count + size
        shift = mean - self.mean
        return type(self)(
            total,
            self.mean + shift * (size / total),
            self.squares + squares + shift**2 * (self.count * size / total),
        )

    def normalize(self, sample: jax.Array, clip: float = 5.0) -> jax.Array:
        """``clip((x - mean) / std, -clip, clip)``, as both bonus networks see an observation."""
        return jnp.clip((sample - self.mean) / jnp.sqrt(self.variance + 1e-8), -clip, clip)


class ReturnScale(eqx.Module):
    """Standard deviation of the discounted, forward-filtered sum of intrinsic rewards.

    ``x_t = gamma * x_{t-1} + r_t`` runs along time, separately for each environment, and is never reset. Rewards are
    divided by the running standard deviation of x; no mean is subtracted.
    """

    filtered: jax.Array  # (N,) float32, x of each environment
    moments: RunningMeanStd  # of x over time and environments

    @classmethod
    def empty(cls, environments: int) -> Self:
        """No reward seen."""
        return cls(jnp.zeros(environments), RunningMeanStd.empty())

    def update(self, rewards: jax.Array, gamma: float) -> Self:
        """Filter a rollout of rewards, (T, N), and absorb every filtered value."""

        def forward(filtered: jax.Array, reward: jax.Array) -> tuple[jax.Array, jax.Array]:
            filtered = gamma * filtered + reward
            return filtered, filtered

        filtered, trace = jax.lax.scan(forward, self.filtered, rewards)
        return type(self)(filtered, self.moments.update(trace.ravel()))

    @property
    def scale(self) -> jax.Array:
        """What intrinsic rewards are divided by."""
        return jnp.sqrt(self.moments.variance + 1e-8)
