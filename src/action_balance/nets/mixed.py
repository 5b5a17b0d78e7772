"""Networks for observations with images and a vector: an encoder of each image and one of the vector, side by side.

Axes: H, W pixels, C channels, K frames of a stack, D numbers of the vector, A choices of all action components.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Real

from action_balance.nets.bonus import SLOPE, JoinedNet
from action_balance.nets.gru import GRU
from action_balance.nets.image import ImageEncoder, stack_channels
from action_balance.nets.layers import GAIN, Linear, make_layers
from action_balance.nets.policy import Heads, ResidualPolicy, make_heads, make_memory


class MixedObs(NamedTuple):
    """A stack of observations as the policy sees it."""

    images: tuple[Real[Array, "K H W C"], ...]
    vector: Float[Array, "K D"]


class MixedSizes(NamedTuple):
    """The layers of a `MixedActorCritic`."""

    channels: int  # of the first convolution of each image
    features: int  # width of the layer after the convolutions of each image
    hidden: int  # width of the layer of the vector
    trunk: int  # width of the layers that see all of them
    small_layers: int = 3  # convolutions of small images


class MixedActorCritic(ResidualPolicy):
    """The policy and its two values: encoders side by side, then the trunk and the heads as in `ImageActorCritic`."""

    encoders: list[ImageEncoder]
    dense: list[Linear]  # after the convolutions of each image
    vector: Linear | None  # None where there is no vector
    trunk: Linear
    actor: Linear
    critic: Linear
    policy_head: Linear
    value_head: Linear
    memory: GRU | None
    norm: bool = eqx.field(static=True)

    def __init__(
        self,
        images: Sequence[tuple[int, int, int]],
        numbers: int,
        stack: int,
        sizes: MixedSizes,
        heads: Heads,
        *,
        dtype: str = "float32",
        key: PRNGKeyArray,
    ) -> None:
        """For stacks of images of these shapes, (H, W, C), and of vectors of so many numbers."""
        image_key, vector_key, trunk_key, *head_keys = jax.random.split(key, 7)
        keys = jax.random.split(image_key, (len(images), 2))
        layers = sizes.small_layers
        self.encoders = [
            ImageEncoder(
                (h, w, stack * colours),
                sizes.channels,
                4,
                0.0,
                dtype,
                small_layers=layers,
                norm=heads.norm,
                key=pair[0],
            )
            for (h, w, colours), pair in zip(images, keys, strict=True)
        ]
        self.dense = [
            Linear(one.features, sizes.features, gain=GAIN, key=pair[1])
            for one, pair in zip(self.encoders, keys, strict=True)
        ]
        self.vector = Linear(stack * numbers, sizes.hidden, gain=GAIN, key=vector_key) if numbers else None
        inputs = sizes.features * len(images) + (sizes.hidden if numbers else 0)
        self.trunk = Linear(inputs, sizes.trunk, gain=GAIN, key=trunk_key)
        self.memory, width = make_memory(heads.memory, sizes.trunk, 1, key)
        self.actor, self.critic, self.policy_head, self.value_head = make_heads(width, heads, head_keys)
        self.norm = heads.norm

    @property
    def precision(self) -> str:
        exact = all(one.dtype == jnp.float32 for one in self.encoders)
        return "highest" if exact else "default"

    def trunk_outputs(self, observation: MixedObs) -> tuple[Array, ...]:
        parts = [
            dense(encoder(stack_channels(stack)))
            for encoder, dense, stack in zip(self.encoders, self.dense, observation.images, strict=True)
        ]
        if self.vector is not None:
            parts.append(self.vector(observation.vector.ravel()))
        return (self.nonlinear(self.trunk(self.nonlinear(jnp.concatenate(parts)))),)


class MixedBonusNet(JoinedNet):
    """A target or a predictor: encoders side by side, then fully connected layers, as in `ImageBonusNet`."""

    encoders: list[ImageEncoder]
    vector: Linear | None  # None where there is no vector
    joined: list[Linear]
    images: tuple[tuple[int, int, int], ...] = eqx.field(static=True)

    def __init__(
        self,
        images: Sequence[tuple[int, int, int]],
        numbers: int,
        channels: int,
        hidden: int,
        width: int,
        *,
        actions: int = 0,
        layers: int = 1,
        outputs: int | None = None,
        dtype: str = "float32",
        small_layers: int = 3,
        key: PRNGKeyArray,
    ) -> None:
        """For images of these shapes, (H, W, C), and a vector of so many numbers; else as in `ImageBonusNet`.

        The layer of the vector has ``hidden`` outputs.
        """
        image_key, vector_key, joined_key = jax.random.split(key, 3)
        keys = jax.random.split(image_key, len(images))
        self.encoders = [
            ImageEncoder(shape, channels, 3, SLOPE, dtype, small_layers=small_layers, key=k)
            for shape, k in zip(images, keys, strict=True)
        ]
        self.vector = Linear(numbers, hidden, gain=GAIN, key=vector_key) if numbers else None
        inputs = sum(one.features for one in self.encoders) + (hidden if numbers else 0)
        widths = [inputs] + [width] * (layers - 1)
        self.joined = make_layers([*widths, width if outputs is None else outputs], joined_key, actions)
        self.images = tuple(images)

    def features(self, observation: Float[Array, " n"]) -> Array:
        parts, begin = [], 0
        for encoder, (height, width, channels) in zip(self.encoders, self.images, strict=True):
            end = begin + height * width * channels
            parts.append(encoder(observation[begin:end].reshape(height, width, channels)))
            begin = end
        if self.vector is not None:
            parts.append(jax.nn.leaky_relu(self.vector(observation[begin:]), SLOPE))
        return jnp.concatenate(parts)
