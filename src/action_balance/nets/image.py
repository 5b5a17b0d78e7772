"""Networks for images: the policy and bonus networks of RND (Burda et al., 2019), and those of pairs.

Convolutions use the number type given, everything after them float32.
Axes: H, W pixels, K frames of a stack, A choices of all action components, D outputs.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Real

from action_balance.core.embedding import action_channel
from action_balance.nets.conv import Conv, convolve
from action_balance.nets.gru import GRU
from action_balance.nets.layers import Linear
from action_balance.nets.policy import PolicyNet, make_memory

Tree = TypeVar("Tree")

_SLOPE = 0.2
_GAIN = 2**0.5


def make_convolutions(
    inputs: int, shape: Sequence[int], channels: int, last: int, key: PRNGKeyArray, small_layers: int = 3
) -> list[Conv]:
    """The convolutions for images of this height and width.

    Those of RND have 8x8 pixels with stride 4, 4x4 with stride 2, and ``last`` x ``last`` with stride 1. Small images,
    such as those of MinAtar, keep their resolution: at most 3x3 pixels, with stride 1.
    """
    side, needed = min(shape), 8 + 4 * (4 + 2 * (last - 1) - 1)  # so that one output is left
    small = (min(3, 1 + (side - 1) // small_layers), 1)
    kernels = [(8, 4), (4, 2), (last, 1)] if side >= needed else [small] * small_layers
    widths = (inputs, channels, *[2 * channels] * (len(kernels) - 1))
    keys = jax.random.split(key, len(kernels))
    return [Conv(a, b, *kernel, key=k) for a, b, kernel, k in zip(widths[:-1], widths[1:], kernels, keys, strict=True)]


def count_outputs(shape: Sequence[int], convolutions: Sequence[Conv]) -> int:
    """Number of outputs of the convolutions for images of this height and width."""
    height, width = shape
    for one in convolutions:
        height, width = ((size - one.weight.shape[0]) // one.stride + 1 for size in (height, width))
    return height * width * convolutions[-1].weight.shape[-1]


def cast_kernels(tree: Tree) -> Tree:
    """Networks with kernels already in the number type that they compute in, for networks that are called often."""

    def is_net(node: object) -> bool:
        return isinstance(node, ImageActorCritic | ImageBonusNet | ImageEncoder)

    def cast(node: Any) -> Any:
        if not is_net(node):
            return node
        kernels = [one.as_type(node.dtype) for one in node.convolutions]
        return eqx.tree_at(lambda net: net.convolutions, node, kernels)

    made: Tree = jax.tree.map(cast, tree, is_leaf=is_net)
    return made


class ImageEncoder(eqx.Module):
    """The convolutions of one image alone, for networks that see something else beside it."""

    convolutions: list[Conv]
    features: int = eqx.field(static=True)
    slope: float = eqx.field(static=True)
    dtype: jnp.dtype = eqx.field(static=True)

    def __init__(
        self,
        shape: tuple[int, int, int],
        channels: int,
        last: int,
        slope: float,
        dtype: str,
        *,
        small_layers: int = 3,
        key: PRNGKeyArray,
    ) -> None:
        """For images of this shape, (H, W, C); ``slope`` is that of the ReLU below 0."""
        self.convolutions = make_convolutions(shape[2], shape[:2], channels, last, key, small_layers)
        self.features = count_outputs(shape[:2], self.convolutions)
        self.slope = slope
        self.dtype = jnp.dtype(dtype)

    def __call__(self, image: Real[Array, "H W C"]) -> Float[Array, " features"]:
        """Features of an image."""
        x = image.astype(self.dtype)
        x = x / 255 if image.dtype == jnp.uint8 else x
        for layer in self.convolutions:
            x = jax.nn.leaky_relu(layer(x), self.slope)
        return x.ravel().astype(jnp.float32)


class ImageActorCritic(PolicyNet):
    """The policy and its two values: ReLU convolutions, two layers, one residual layer each for actor and critic.

    Gains of the orthogonal initialisation: sqrt(2), but 0.1 in the residual layers and 0.01 in the heads.
    """

    convolutions: list[Conv]
    trunk: list[Linear]
    actor: Linear
    critic: Linear
    policy_head: Linear  # (A,)
    value_head: Linear  # (2,): intrinsic, extrinsic
    memory: GRU | None
    dtype: jnp.dtype = eqx.field(static=True)

    def __init__(
        self,
        shape: tuple[int, ...],
        channels: int,
        widths: tuple[int, int],
        actions: int,
        *,
        dtype: str = "float32",
        memory: int = 0,
        small_layers: int = 3,
        key: PRNGKeyArray,
    ) -> None:
        """For stacks of this shape, (K, H, W) or (K, H, W, C) in colour, with dense layers of these widths; with a
        memory of so many units, or none."""
        conv_key, first_key, second_key, actor_key, critic_key, policy_key, value_key = jax.random.split(key, 7)
        channels_in = shape[0] * math.prod(shape[3:])
        self.convolutions = make_convolutions(channels_in, shape[1:3], channels, 4, conv_key, small_layers)
        inputs = count_outputs(shape[1:3], self.convolutions)
        first, width = widths
        self.trunk = [
            Linear(inputs, first, gain=_GAIN, key=first_key),
            Linear(first, width, gain=_GAIN, key=second_key),
        ]
        self.memory, width = make_memory(memory, width, 1, key)
        self.actor = Linear(width, width, gain=0.1, key=actor_key)
        self.critic = Linear(width, width, gain=0.1, key=critic_key)
        self.policy_head = Linear(width, actions, gain=0.01, key=policy_key)
        self.value_head = Linear(width, 2, gain=0.01, key=value_key)
        self.dtype = jnp.dtype(dtype)

    @property
    def precision(self) -> str:
        """See `PolicyNet.precision`; with convolutions of another number type, the device's default."""
        return "highest" if self.dtype == jnp.float32 else "default"

    def trunk_outputs(self, observation: Real[Array, "K H W *c"]) -> tuple[Array, ...]:
        """See `PolicyNet.trunk_outputs`."""
        x = jnp.moveaxis(observation, 0, -1)
        x = x.reshape(*x.shape[:2], -1).astype(self.dtype)  # colours of all frames become channels
        x = x / 255 if observation.dtype == jnp.uint8 else x
        for layer in self.convolutions:
            x = jax.nn.relu(layer(x))
        x = x.ravel().astype(jnp.float32)
        for dense in self.trunk:
            x = jax.nn.relu(dense(x))
        return (x,)

    def head_outputs(self, parts: tuple[Array, ...]) -> tuple[Array, Array]:
        """See `PolicyNet.head_outputs`."""
        (x,) = parts
        actor = x + jax.nn.relu(self.actor(x))
        critic = x + jax.nn.relu(self.critic(x))
        return self.policy_head(actor), self.value_head(critic)


class ImageBonusNet(eqx.Module):
    """A target, or a predictor, which has more layers: leaky ReLU convolutions, then fully connected layers.

    In the network of a pair, the action is one-hot at every fully connected layer; with a channel, it is also an image
    beside the frame (Eq. 3). The first layer is linear: ``conv([s, M_a]) = conv_s(s) + conv_M(M_a)``, and the second
    term is constant for each action. So all actions of a state need one pass of the state through the first layer.
    """

    convolutions: list[Conv]  # of the frame
    channel: Float[Array, "k k 1 out"] | None  # kernel of the action channel in the first layer
    joined: list[Linear]  # of features and, in the network of a pair, the action
    shape: tuple[int, ...] = eqx.field(static=True)
    actions: int = eqx.field(static=True)
    dtype: jnp.dtype = eqx.field(static=True)

    def __init__(
        self,
        shape: tuple[int, ...],
        channels: int,
        width: int,
        *,
        actions: int = 0,
        as_channel: bool = False,
        layers: int = 1,
        outputs: int | None = None,
        dtype: str = "float32",
        small_layers: int = 3,
        key: PRNGKeyArray,
    ) -> None:
        """For frames of this shape, (H, W) or (H, W, C). A network of a pair has ``actions``.

        Layers have ``width`` outputs; the last one ``outputs``, where given.
        """
        conv_key, joined_key = jax.random.split(key)
        colours = math.prod(shape[2:])
        self.convolutions = make_convolutions(colours + as_channel, shape[:2], channels, 3, conv_key, small_layers)
        self.channel = None
        if as_channel:
            # Both are drawn together, so that the whole kernel is orthogonal.
            both = self.convolutions[0].weight
            self.channel = both[:, :, colours:]
            self.convolutions[0] = eqx.tree_at(lambda conv: conv.weight, self.convolutions[0], both[:, :, :colours])
        widths = (
            [count_outputs(shape[:2], self.convolutions)]
            + [width] * (layers - 1)
            + [width if outputs is None else outputs]
        )
        keys = jax.random.split(joined_key, layers)
        self.joined = [
            Linear(a, b, gain=_GAIN, actions=actions, key=k)
            for a, b, k in zip(widths[:-1], widths[1:], keys, strict=True)
        ]
        self.shape = tuple(shape)
        self.actions = actions
        self.dtype = jnp.dtype(dtype)

    def __call__(self, observation: Float[Array, "H W *c"], action: Int[Array, ""] | None = None) -> Float[Array, " D"]:
        """Output of a normalised frame, or of a pair."""
        x = self._first(observation)
        if self.channel is not None and action is not None:
            # A product, as in `Linear`.
            mine = jax.nn.one_hot(action, self.actions, dtype=x.dtype) @ self._constants().reshape(self.actions, -1)
            x = x + mine.reshape(x.shape)
        y = self.joined[0](self._features(x), action)
        for layer in self.joined[1:]:
            y = layer(jax.nn.relu(y), action)
        return y

    def all_actions(self, observation: Float[Array, "H W *c"]) -> Float[Array, "A D"]:
        """Outputs of all actions of a frame; what they share is computed once."""
        x = self._first(observation)
        features = self._features(x) if self.channel is None else jax.vmap(self._features)(x + self._constants())
        y = self.joined[0].all_actions(features)
        for layer in self.joined[1:]:
            y = layer.all_actions(jax.nn.relu(y))
        return y

    def _first(self, frame: Array) -> Array:
        return self.convolutions[0](frame.reshape(*self.shape[:2], -1).astype(self.dtype))

    def _constants(self) -> Array:
        """Contribution of each action channel to the first layer, (A, H', W', out)."""
        if self.channel is None:
            raise TypeError("this network has no action channel")
        kernel, stride = self.channel.astype(self.dtype), self.convolutions[0].stride
        images = jax.vmap(lambda action: action_channel(action, self.actions, *self.shape[:2]))(
            jnp.arange(self.actions)
        )
        return jax.vmap(lambda image: convolve(image[..., None].astype(self.dtype), kernel, stride))(images)

    def _features(self, x: Array) -> Array:
        """The layers between the first convolution and the fully connected ones."""
        for layer in self.convolutions[1:]:
            x = layer(jax.nn.leaky_relu(x, _SLOPE))
        return jax.nn.leaky_relu(x, _SLOPE).ravel().astype(jnp.float32)
