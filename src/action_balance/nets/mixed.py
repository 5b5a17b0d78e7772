"""Networks for observations with images and a vector: an encoder of each image and one of the vector, side by side.

Axes: H, W pixels, C channels, K frames of a stack, D numbers of the vector, A choices of all action components.
"""

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Real

from action_balance.nets.gru import GRU
from action_balance.nets.image import ImageEncoder
from action_balance.nets.layers import Linear
from action_balance.nets.policy import PolicyNet, make_memory

_GAIN = 2**0.5
_SLOPE = 0.2


class MixedObs(NamedTuple):
    """A stack of observations as the policy sees it."""

    images: tuple[Real[Array, "K H W C"], ...]
    vector: Float[Array, "K D"]


class MixedSizes(NamedTuple):
    """The layers of a `MixedActorCritic`."""

    channels: int
    """Of the first convolution of each image."""
    features: int
    """Width of the layer after the convolutions of each image."""
    hidden: int
    """Width of the layer of the vector."""
    trunk: int
    """Width of the layers that see all of them."""
    small_layers: int = 3
    """Number of convolutions of small images."""


class MixedActorCritic(PolicyNet):
    """The policy and its two values: encoders side by side, then the trunk and the heads as in `ImageActorCritic`."""

    encoders: list[ImageEncoder]
    dense: list[Linear]  # after the convolutions of each image
    vector: Linear | None  # None where there is no vector
    trunk: Linear
    actor: Linear
    critic: Linear
    policy_head: Linear  # (A,)
    value_head: Linear  # (2,): intrinsic, extrinsic
    memory: GRU | None

    def __init__(
        self,
        images: Sequence[tuple[int, int, int]],
        numbers: int,
        stack: int,
        sizes: MixedSizes,
        actions: int,
        *,
        dtype: str = "float32",
        memory: int = 0,
        key: PRNGKeyArray,
    ) -> None:
        """For stacks of images of these shapes, (H, W, C), and of vectors of so many numbers; with a memory of so many
        units, or none."""
        image_key, vector_key, trunk_key, actor_key, critic_key, policy_key, value_key = jax.random.split(key, 7)
        keys = jax.random.split(image_key, (len(images), 2))
        self.encoders = [
            ImageEncoder(
                (height, width, stack * colours),
                sizes.channels,
                4,
                0.0,
                dtype,
                small_layers=sizes.small_layers,
                key=pair[0],
            )
            for (height, width, colours), pair in zip(images, keys, strict=True)
        ]
        self.dense = [
            Linear(one.features, sizes.features, gain=_GAIN, key=pair[1])
            for one, pair in zip(self.encoders, keys, strict=True)
        ]
        self.vector = Linear(stack * numbers, sizes.hidden, gain=_GAIN, key=vector_key) if numbers else None
        inputs, width = sizes.features * len(images) + (sizes.hidden if numbers else 0), sizes.trunk
        self.trunk = Linear(inputs, width, gain=_GAIN, key=trunk_key)
        self.memory, width = make_memory(memory, width, 1, key)
        self.actor = Linear(width, width, gain=0.1, key=actor_key)
        self.critic = Linear(width, width, gain=0.1, key=critic_key)
        self.policy_head = Linear(width, actions, gain=0.01, key=policy_key)
        self.value_head = Linear(width, 2, gain=0.01, key=value_key)

    @property
    def precision(self) -> str:
        """See `PolicyNet.precision`; with convolutions of another number type, the device's default."""
        exact = all(one.dtype == jnp.float32 for one in self.encoders)
        return "highest" if exact else "default"

    def trunk_outputs(self, observation: MixedObs) -> tuple[Array, ...]:
        """See `PolicyNet.trunk_outputs`."""
        parts = []
        for encoder, dense, stack in zip(self.encoders, self.dense, observation.images, strict=True):
            image = jnp.moveaxis(stack, 0, -1)
            parts.append(dense(encoder(image.reshape(*image.shape[:2], -1))))
        if self.vector is not None:
            parts.append(self.vector(observation.vector.ravel()))
        return (jax.nn.relu(self.trunk(jax.nn.relu(jnp.concatenate(parts)))),)

    def head_outputs(self, parts: tuple[Array, ...]) -> tuple[Array, Array]:
        """See `PolicyNet.head_outputs`."""
        (x,) = parts
        actor = x + jax.nn.relu(self.actor(x))
        critic = x + jax.nn.relu(self.critic(x))
        return self.policy_head(actor), self.value_head(critic)


class MixedBonusNet(eqx.Module):
    """A target or a predictor: encoders side by side, then fully connected layers, as in `ImageBonusNet`."""

    encoders: list[ImageEncoder]
    vector: Linear | None  # None where there is no vector
    joined: list[Linear]  # of features and, in the network of a pair, the action
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
            ImageEncoder(shape, channels, 3, _SLOPE, dtype, small_layers=small_layers, key=k)
            for shape, k in zip(images, keys, strict=True)
        ]
        self.vector = Linear(numbers, hidden, gain=_GAIN, key=vector_key) if numbers else None
        inputs = sum(one.features for one in self.encoders) + (hidden if numbers else 0)
        widths = [inputs] + [width] * (layers - 1) + [width if outputs is None else outputs]
        joined_keys = jax.random.split(joined_key, layers)
        self.joined = [
            Linear(a, b, gain=_GAIN, actions=actions, key=k)
            for a, b, k in zip(widths[:-1], widths[1:], joined_keys, strict=True)
        ]
        self.images = tuple(images)

    def __call__(self, observation: Float[Array, " n"], action: Int[Array, ""] | None = None) -> Float[Array, " D"]:
        """Output of a normalised frame, or of a pair."""
        y = self.joined[0](self._features(observation), action)
        for layer in self.joined[1:]:
            y = layer(jax.nn.relu(y), action)
        return y

    def all_actions(self, observation: Float[Array, " n"]) -> Float[Array, "A D"]:
        """Outputs of all actions of a frame; what they share is computed once."""
        y = self.joined[0].all_actions(self._features(observation))
        for layer in self.joined[1:]:
            y = layer.all_actions(jax.nn.relu(y))
        return y

    def _features(self, observation: Array) -> Array:
        parts, begin = [], 0
        for encoder, (height, width, channels) in zip(self.encoders, self.images, strict=True):
            end = begin + height * width * channels
            parts.append(encoder(observation[begin:end].reshape(height, width, channels)))
            begin = end
        if self.vector is not None:
            parts.append(jax.nn.leaky_relu(self.vector(observation[begin:]), _SLOPE))
        return jnp.concatenate(parts)
