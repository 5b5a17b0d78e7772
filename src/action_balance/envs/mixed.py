"""Statistics of frames, and frames that have images and a vector, which are bytes until a network sees them.

Axes: B samples, H, W pixels, C channels, D numbers of a vector.
"""

import math
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Real, Shaped, UInt8

from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import NUMBER, EnvSpec
from action_balance.envs.symbolic import SymbolicStats


def empty_stats(spec: EnvSpec) -> RunningMeanStd:
    stats = RunningMeanStd.empty(spec.stats_shape)
    if spec.is_symbolic:
        return SymbolicStats(stats.count, stats.mean, stats.squares, spec.categories)
    return MixedStats(stats.count, stats.mean, stats.squares, spec.pixels) if spec.is_mixed else stats


def split_frame(frame: UInt8[Array, "*b bytes"], pixels: int) -> tuple[UInt8[Array, "*b P"], Float[Array, "*b D"]]:
    rest = frame[..., pixels:]
    numbers = rest.reshape(*rest.shape[:-1], rest.shape[-1] // NUMBER, NUMBER)
    return frame[..., :pixels], jax.lax.bitcast_convert_type(numbers, jnp.float32)


def split_images(
    numbers: Shaped[Array, "*b P"], images: tuple[tuple[int, int, int], ...]
) -> list[Shaped[Array, "..."]]:
    found, begin = [], 0
    for shape in images:
        end = begin + math.prod(shape)
        found.append(numbers[..., begin:end].reshape(*numbers.shape[:-1], *shape))
        begin = end
    return found


class MixedStats(RunningMeanStd):
    """Statistics of mixed frames: of the pixels, then of the numbers of the vector."""

    pixels: int = eqx.field(static=True)  # P

    def update(self, samples: UInt8[Array, "B bytes"], where: Bool[Array, " B"] | None = None) -> "MixedStats":
        halves, updated = (slice(self.pixels), slice(self.pixels, None)), []
        for half, part in zip(halves, split_frame(samples, self.pixels), strict=True):
            updated.append(RunningMeanStd(self.count, self.mean[half], self.squares[half]).update(part, where))
        mean, squares = (jnp.concatenate([getattr(one, name) for one in updated]) for name in ("mean", "squares"))
        return replace(self, count=updated[0].count, mean=mean, squares=squares)

    def normalize(
        self, sample: UInt8[Array, "*b bytes"], clip: float | Float[Array, ""] = 5.0
    ) -> Float[Array, "*b numbers"]:
        pixels, vector = split_frame(sample, self.pixels)
        return super().normalize(jnp.concatenate([pixels.astype(jnp.float32), vector], axis=-1), clip)

    def normalize_vector(
        self, vector: Float[Array, "*b D"], clip: float | Float[Array, ""] = 5.0
    ) -> Float[Array, "*b D"]:
        """The normalised vector, as the policy sees it beside the images."""
        stats = RunningMeanStd(self.count, self.mean[self.pixels :], self.squares[self.pixels :])
        return stats.normalize(vector, clip)


def state_number(spec: EnvSpec, frame: Real[Array, "*b D"]) -> Int[Array, " *b"]:
    number = jnp.zeros(frame.shape[: frame.ndim - len(spec.frame_shape)], jnp.int32)
    if not spec.discrete:
        return number
    for digit, count in zip(component_values(spec, frame), spec.discrete, strict=True):
        number = number * count + digit
    return number


def component_values(spec: EnvSpec, frame: Real[Array, "*b D"]) -> list[Int[Array, " *b"]]:
    """The values of the components of frames that consist of one-hot numbers only."""
    found, begin = [], 0
    for count in spec.discrete:
        found.append(jnp.argmax(frame[..., begin : begin + count], axis=-1).astype(jnp.int32))
        begin += count
    return found
