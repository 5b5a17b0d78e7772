"""Networks for images: the policy and bonus networks of RND (Burda et al., 2019), and those of pairs.

Convolutions use the number type given, everything after them float32.
Axes: H, W pixels, K frames of a stack, A choices of all action components, D outputs.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Real

from action_balance.core.embedding import action_channel
from action_balance.nets.bonus import SLOPE, JoinedNet
from action_balance.nets.conv import Conv, convolve
from action_balance.nets.gru import GRU
from action_balance.nets.layers import GAIN, Linear, make_layers, normalizing
from action_balance.nets.policy import Heads, ResidualPolicy, make_heads, make_memory

Tree = TypeVar("Tree")


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
    return [Conv(*sizes, *kernel, key=k) for sizes, kernel, k in zip(pairwise(widths), kernels, keys, strict=True)]


def count_outputs(shape: Sequence[int], convolutions: Sequence[Conv]) -> int:
    """Number of outputs of the convolutions for images of this height and width."""
    height, width = shape
    for one in convolutions:
        height, width = ((size - one.weight.shape[0]) // one.stride + 1 for size in (height, width))
    return height * width * convolutions[-1].weight.shape[-1]


def image_features(
    convolutions: Sequence[Conv],
    image: Real[Array, "H W C"],
    dtype: jnp.dtype,
    nonlinear: Callable[[Array], Array] = jax.nn.relu,
) -> Float[Array, " features"]:
    """What the convolutions find in an image; bytes are scaled to 0..1."""
    x = image.astype(dtype)
    x = x / 255 if image.dtype == jnp.uint8 else x
    for layer in convolutions:
        x = nonlinear(layer(x))
    return x.ravel().astype(jnp.float32)


def stack_channels(stack: Real[Array, "K H W *c"]) -> Real[Array, "H W channels"]:
    """A stack as one image: the colours of all frames become channels."""
    image = jnp.moveaxis(stack, 0, -1)
    return image.reshape(*image.shape[:2], -1)


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
    norm: bool = eqx.field(static=True)
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
        norm: bool = False,
        key: PRNGKeyArray,
    ) -> None:
        """For images of this shape, (H, W, C); ``slope`` is that of the ReLU below 0."""
        self.convolutions = make_convolutions(shape[2], shape[:2], channels, last, key, small_layers)
        self.features = count_outputs(shape[:2], self.convolutions)
        self.slope, self.norm = slope, norm
        self.dtype = jnp.dtype(dtype)

    def __call__(self, image: Real[Array, "H W C"]) -> Float[Array, " features"]:
        nonlinear = partial(jax.nn.leaky_relu, negative_slope=self.slope)
        return image_features(self.convolutions, image, self.dtype, normalizing(nonlinear, self.norm))


class ImageActorCritic(ResidualPolicy):
    """The network of an agent: ReLU convolutions, two layers, one residual layer each for actor and critic.

    Gains of the orthogonal initialisation: sqrt(2), but 0.1 in the residual layers and 0.01 in the heads.
    """

    convolutions: list[Conv]
    trunk: list[Linear]
    actor: Linear
    critic: Linear
    policy_head: Linear
    value_head: Linear
    memory: GRU | None
    dtype: jnp.dtype = eqx.field(static=True)
    norm: bool = eqx.field(static=True)

    def __init__(
        self,
        shape: tuple[int, ...],
        channels: int,
        widths: tuple[int, int],
        heads: Heads,
        *,
        dtype: str = "float32",
        small_layers: int = 3,
        key: PRNGKeyArray,
    ) -> None:
        """For stacks of this shape, (K, H, W) or (K, H, W, C) in colour, with dense layers of these widths."""
        conv_key, first_key, second_key, *head_keys = jax.random.split(key, 7)
        channels_in = shape[0] * math.prod(shape[3:])
        self.convolutions = make_convolutions(channels_in, shape[1:3], channels, 4, conv_key, small_layers)
        inputs = count_outputs(shape[1:3], self.convolutions)
        first, width = widths
        sizes = ((inputs, first, first_key), (first, width, second_key))
        self.trunk = [Linear(a, b, gain=GAIN, key=k) for a, b, k in sizes]
        self.memory, width = make_memory(heads.memory, width, 1, key)
        self.actor, self.critic, self.policy_head, self.value_head = make_heads(width, heads, head_keys)
        self.dtype, self.norm = jnp.dtype(dtype), heads.norm

    @property
    def precision(self) -> str:
        return "highest" if self.dtype == jnp.float32 else "default"

    def trunk_outputs(self, observation: Real[Array, "K H W *c"]) -> tuple[Array, ...]:
        x = image_features(self.convolutions, stack_channels(observation), self.dtype, self.nonlinear)
        for dense in self.trunk:
            x = self.nonlinear(dense(x))
        return (x,)


class ImageBonusNet(JoinedNet):
    """A target, or a predictor, which has more layers: leaky ReLU convolutions, then fully connected layers.

    With a channel, an action is also an image beside the frame (Eq. 3). The first layer is linear:
    ``conv([s, M_a]) = conv_s(s) + conv_M(M_a)``, and the second term is constant for each action. So all actions of a
    state need one pass of the state through the first layer.
    """

    convolutions: list[Conv]  # of the frame
    channel: Float[Array, "k k 1 out"] | None  # kernel of the action channel in the first layer
    joined: list[Linear]
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
        """For frames of this shape, (H, W) or (H, W, C). Layers have ``width`` outputs, the last one ``outputs``."""
        conv_key, joined_key = jax.random.split(key)
        colours = math.prod(shape[2:])
        self.convolutions = make_convolutions(colours + as_channel, shape[:2], channels, 3, conv_key, small_layers)
        self.channel = None
        if as_channel:
            # Both are drawn together, so that the whole kernel is orthogonal.
            both = self.convolutions[0].weight
            self.channel = both[:, :, colours:]
            self.convolutions[0] = eqx.tree_at(lambda conv: conv.weight, self.convolutions[0], both[:, :, :colours])
        widths = [count_outputs(shape[:2], self.convolutions)] + [width] * (layers - 1)
        self.joined = make_layers([*widths, width if outputs is None else outputs], joined_key, actions)
        self.shape = tuple(shape)
        self.actions = actions
        self.dtype = jnp.dtype(dtype)

    def features(self, observation: Float[Array, "H W *c"]) -> Array:
        return self._rest(self._first(observation))

    def features_of_pair(self, observation: Float[Array, "H W *c"], action: Real[Array, "..."] | None) -> Array:
        x = self._first(observation)
        if self.channel is not None and action is not None:
            # A product, as in `Linear`.
            mine = jax.nn.one_hot(action, self.actions, dtype=x.dtype) @ self._constants().reshape(self.actions, -1)
            x = x + mine.reshape(x.shape)
        return self._rest(x)

    def features_of_all(self, observation: Float[Array, "H W *c"]) -> Array:
        x = self._first(observation)
        return self._rest(x) if self.channel is None else jax.vmap(self._rest)(x + self._constants())

    def _first(self, frame: Array) -> Array:
        return self.convolutions[0](frame.reshape(*self.shape[:2], -1).astype(self.dtype))

    def _constants(self) -> Array:
        """Contribution of each action channel to the first layer, (A, H', W', out)."""
        if self.channel is None:
            raise TypeError("this network has no action channel")
        kernel, stride = self.channel.astype(self.dtype), self.convolutions[0].stride
        shape = self.actions, *self.shape[:2]
        images = jax.vmap(lambda action: action_channel(action, *shape))(jnp.arange(self.actions))
        return jax.vmap(lambda image: convolve(image[..., None].astype(self.dtype), kernel, stride))(images)

    def _rest(self, x: Array) -> Array:
        """The layers between the first convolution and the fully connected ones."""
        for layer in self.convolutions[1:]:
            x = layer(jax.nn.leaky_relu(x, SLOPE))
        return jax.nn.leaky_relu(x, SLOPE).ravel().astype(jnp.float32)
