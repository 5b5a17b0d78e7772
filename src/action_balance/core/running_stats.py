"""Running statistics: a mean and variance that merge batches exactly, and the scales of both returns.

Axes: T time, N environments, B samples of a batch.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Real

from action_balance.core.sharding import merge_axes

#: Largest size of a reward in units of the return.
MAX_UNITS = 10.0


class RunningMeanStd(eqx.Module):
    """Mean and variance of all samples so far; fields have the shape of one sample."""

    count: Float[Array, ""]
    mean: Float[Array, " *s"]
    squares: Float[Array, " *s"]  # sum of squared deviations from the mean

    @classmethod
    def empty(cls, shape: tuple[int, ...] = ()) -> "RunningMeanStd":
        """Empty statistics: mean 0, variance 1.

        Args:
            shape: Shape of one sample.

        Returns:
            The empty statistics.
        """
        return cls(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))

    @property
    def variance(self) -> Float[Array, "..."]:
        """Population variance; 1 before the first sample."""
        return jnp.where(self.count > 0, self.squares / jnp.maximum(self.count, 1), 1.0)

    def update(self, samples: Real[Array, "B *s"], where: Bool[Array, " B"] | None = None) -> "RunningMeanStd":
        """Merge a batch by the parallel rule of Chan et al. (1983), which is exact however samples are batched.

        Args:
            samples: The batch.
            where: Which samples count, at least one; None if all of them do.

        Returns:
            The statistics with the batch.
        """
        size = samples.shape[0] if where is None else where.sum()
        counted = None if where is None else where.reshape(-1, *[1] * (samples.ndim - 1))
        # Relative to the first sample: sums stay small far from zero, and what never changes has variance 0.
        first = samples[0 if where is None else where.argmax()].astype(self.mean.dtype)
        offsets = samples - first
        offset = offsets.mean(axis=0, where=counted)
        mean = first + offset
        squares = ((offsets - offset) ** 2).sum(axis=0, where=counted)
        total = self.count + size
        shift = mean - self.mean
        return RunningMeanStd(
            total,
            self.mean + shift * (size / total),
            self.squares + squares + shift**2 * (self.count * size / total),
        )

    def normalize(self, sample: Real[Array, "..."], clip: float | Float[Array, ""] = 5.0) -> Float[Array, "..."]:
        """``clip((x - mean) / std, -clip, clip)``, as bonus networks see an observation.

        Args:
            sample: One sample, or several along leading axes.
            clip: Largest absolute value of the result.

        Returns:
            The normalised sample.
        """
        return jnp.clip((sample - self.mean) / jnp.sqrt(self.variance + 1e-8), -clip, clip)


class ReturnScale(eqx.Module):
    """Standard deviation of the discounted, forward-filtered sum of intrinsic rewards (Burda et al., 2019).

    ``x_t = gamma * x_{t-1} + r_t`` runs along time, separately for each environment, and is never reset. Rewards are
    divided by the running standard deviation of x; no mean is subtracted.
    """

    filtered: Float[Array, " N"]  # x of each environment
    moments: RunningMeanStd  # of x over time and environments

    @classmethod
    def empty(cls, environments: int) -> "ReturnScale":
        """The scale before the first reward.

        Args:
            environments: N.

        Returns:
            The empty statistics.
        """
        return cls(jnp.zeros(environments), RunningMeanStd.empty())

    def update(
        self,
        rewards: Float[Array, "T N"],
        gamma: float | Float[Array, ""],
        where: Bool[Array, "T N"] | None = None,
    ) -> "ReturnScale":
        """Filter the rewards of a rollout and merge every filtered value.

        Args:
            rewards: Intrinsic rewards of the rollout.
            gamma: Discount of the filter.
            where: Which rewards count, at least one; the filter skips the others. None if all of them do.

        Returns:
            The statistics with the rollout.
        """

        def forward(filtered: Array, step: tuple[Array, Array | None]) -> tuple[Array, Array]:
            reward, counts = step
            passed = gamma * filtered + reward
            filtered = passed if counts is None else jnp.where(counts, passed, filtered)
            return filtered, filtered

        filtered, trace = jax.lax.scan(forward, self.filtered, (rewards, where))
        counted = None if where is None else merge_axes(where)
        return type(self)(filtered, self.moments.update(merge_axes(trace), counted))

    @property
    def scale(self) -> Float[Array, "..."]:
        """The divisor of intrinsic rewards."""
        return jnp.sqrt(self.moments.variance + 1e-8)


class RewardScale(eqx.Module):
    """The unit of extrinsic rewards: the standard deviation of the discounted return (Engstrom et al., 2020,
    https://arxiv.org/abs/2005.12729, Section 3).

    ``x_t = gamma * x_{t-1} + r_t`` runs along time, separately for each environment, and begins again with each
    episode. Rewards are divided by the running standard deviation of x; no mean is subtracted. Where rewards are so
    rare that a reward would be more than 10 units, the unit is a tenth of the largest reward instead: rewards keep
    their proportions, which clipping them to 10 units would not.
    """

    filtered: Float[Array, " N"]  # x of each environment
    moments: RunningMeanStd  # of x over time and environments
    largest: Float[Array, ""]  # largest |r| so far

    @classmethod
    def empty(cls, environments: int) -> "RewardScale":
        """The scale before the first reward.

        Args:
            environments: N.

        Returns:
            The empty statistics.
        """
        return cls(jnp.zeros(environments), RunningMeanStd.empty(), jnp.zeros(()))

    def update(
        self, rewards: Float[Array, "T N"], ended: Bool[Array, "T N"], gamma: float | Float[Array, ""]
    ) -> "RewardScale":
        """Filter the rewards of a rollout and merge every filtered value.

        Args:
            rewards: Extrinsic rewards of the rollout.
            ended: Where a step ended an episode.
            gamma: Discount of the filter.

        Returns:
            The statistics with the rollout.
        """

        def forward(filtered: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
            reward, ended = step
            filtered = gamma * filtered + reward
            return jnp.where(ended, 0.0, filtered), filtered

        filtered, trace = jax.lax.scan(forward, self.filtered, (rewards, ended))
        largest = jnp.maximum(self.largest, jnp.abs(rewards).max())
        return type(self)(filtered, self.moments.update(merge_axes(trace)), largest)

    @property
    def scale(self) -> Float[Array, "..."]:
        """The divisor of extrinsic rewards; 1 where all have been zero."""
        unit = jnp.maximum(jnp.sqrt(self.moments.variance), self.largest / MAX_UNITS)
        return jnp.where(self.largest > 0, unit, 1.0)
