"""Networks for images beside plain ones of `jax.lax` and concatenated inputs, with the same weights."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.learner import init_agent
from action_balance.config.agent import AgentConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec
from action_balance.nets.image import ImageActorCritic, ImageBonusNet
from action_balance.nets.policy import Heads

ACTIONS = 5
KEY = jax.random.key(0)
SHAPE = (47, 52)  # rows and columns are left over in the convolutions, and two rows in the action channel
FRAMES = jax.random.normal(jax.random.key(1), (3, *SHAPE))
PAIRS = (jnp.repeat(FRAMES, ACTIONS, axis=0), jnp.tile(jnp.arange(ACTIONS), 3))


def fresh(kind: str, key: jax.Array, layers: int = 3, dtype: str = "float32") -> ImageBonusNet:
    """A small one, as it is made."""
    actions, as_channel = 0 if kind == "state" else ACTIONS, kind == "channel"
    return ImageBonusNet(SHAPE, 3, 6, actions=actions, as_channel=as_channel, layers=layers, dtype=dtype, key=key)


@cache
def make(kind: str, layers: int = 3, seed: int = 0, dtype: str = "float32") -> ImageBonusNet:
    """A small one with any weights, and biases that are not zero."""
    made: ImageBonusNet = filled(lambda key: fresh(kind, key, layers, dtype), seed)
    return made


def filled(build: Callable[[jax.Array], Any], seed: int = 0) -> Any:
    """What is built, with weights of NumPy: nothing is compiled for it."""
    rng = np.random.default_rng(seed)

    def draw(leaf: Any) -> jax.Array:
        inputs = {4: math.prod(leaf.shape[:3]), 2: leaf.shape[-1], 1: 20}[leaf.ndim]
        return jnp.asarray(rng.normal(0, (2 / inputs) ** 0.5, leaf.shape).astype(np.float32))

    return jax.tree.map(draw, jax.eval_shape(build, KEY))


def plain_conv(x: jax.Array, weight: jax.Array, bias: jax.Array, stride: int) -> jax.Array:
    dimensions = ("NHWC", "HWIO", "NHWC")
    return (
        jax.lax.conv_general_dilated(x[None], weight, (stride, stride), "VALID", dimension_numbers=dimensions)[0] + bias
    )


def plain_bonus(net: ImageBonusNet, frame: jax.Array, action: jax.Array | None) -> jax.Array:
    """Protocol 2.10 and Eq. 3: frame and channel are two channels of one image, the one-hot joins every layer."""
    first, second, third = net.convolutions
    image, kernel = frame[..., None], first.weight
    if net.channel is not None and action is not None:
        band = SHAPE[0] // ACTIONS
        row = jnp.arange(SHAPE[0])[:, None]
        mine = (row >= action * band) & (row < (action + 1) * band)
        channel = jnp.broadcast_to(0.01 * mine, SHAPE)
        image, kernel = jnp.stack([frame, channel], axis=-1), jnp.concatenate([first.weight, net.channel], axis=2)
    x = plain_conv(image, kernel, first.bias, 4)
    x = plain_conv(jnp.where(x > 0, x, 0.2 * x), second.weight, second.bias, 2)
    x = plain_conv(jnp.where(x > 0, x, 0.2 * x), third.weight, third.bias, 1)
    x = jnp.where(x > 0, x, 0.2 * x).reshape(-1)
    for place, layer in enumerate(net.joined):
        x = jnp.maximum(x, 0) if place else x
        weight = layer.weight
        if action is not None:
            assert layer.action_weight is not None
            weight = jnp.concatenate([weight, layer.action_weight.T], axis=1)
            x = jnp.concatenate([x, (jnp.arange(ACTIONS) == action).astype(jnp.float32)])
        x = weight @ x + layer.bias
    return x


def plain_policy(net: ImageActorCritic, stack: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Protocol 2.11."""
    x = stack.astype(jnp.float32).transpose(1, 2, 0) / 255.0
    for conv, stride in zip(net.convolutions, (4, 2, 1), strict=True):
        x = jnp.maximum(plain_conv(x, conv.weight, conv.bias, stride), 0)
    x = x.reshape(-1)
    for layer in net.trunk:
        x = jnp.maximum(layer.weight @ x + layer.bias, 0)
    actor = x + jnp.maximum(net.actor.weight @ x + net.actor.bias, 0)
    critic = x + jnp.maximum(net.critic.weight @ x + net.critic.bias, 0)
    heads = net.policy_head, net.value_head
    return heads[0].weight @ actor + heads[0].bias, heads[1].weight @ critic + heads[1].bias


def many(net: ImageBonusNet, observations: jax.Array, actions: jax.Array | None) -> jax.Array:
    return jax.vmap(net)(observations) if actions is None else jax.vmap(net)(observations, actions)


def inputs(kind: str) -> tuple[jax.Array, jax.Array | None]:
    return (FRAMES, None) if kind == "state" else PAIRS


@pytest.mark.parametrize("kind", ["state", "channel"])
def test_a_bonus_network_and_its_gradients_are_the_plain_ones(kind: str) -> None:
    observations, actions = inputs(kind)
    noise = np.random.default_rng(1).normal(size=(len(observations), 6)).astype(np.float32)

    def plain(net: ImageBonusNet) -> jax.Array:
        if actions is None:
            return jax.vmap(lambda seen: plain_bonus(net, seen, None))(observations)
        return jax.vmap(lambda seen, action: plain_bonus(net, seen, action))(observations, actions)

    def weighed(net: ImageBonusNet, plainly: bool) -> tuple[jax.Array, jax.Array]:
        outputs = plain(net) if plainly else many(net, observations, actions)
        return (outputs * noise).sum(), outputs

    @jax.jit
    def both(net: ImageBonusNet) -> list[Any]:
        return [jax.grad(lambda net, one=one: weighed(net, one), has_aux=True)(net) for one in (False, True)]

    (ours, outputs), (theirs, expected) = jax.device_get(both(make(kind)))
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-4)
    assert np.abs(expected).max() > 0.5
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert np.abs(other).max() > 0
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())


def test_the_policy_is_the_plain_one() -> None:
    shape = (4, *SHAPE)
    net = filled(lambda key: ImageActorCritic(shape, 2, (7, 6), Heads(ACTIONS), key=key))
    stacks = np.random.default_rng(2).integers(0, 256, (3, *shape)).astype(np.uint8)

    @jax.jit
    def both(net: ImageActorCritic, stacks: jax.Array) -> Any:
        return jax.vmap(net)(stacks), jax.vmap(lambda stack: plain_policy(net, stack))(stacks)

    ours, theirs = jax.device_get(both(net, stacks))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        assert np.ptp(other, axis=0).max() > 1e-4  # the stacks differ in it
    assert ours[0].shape == (3, ACTIONS)
    assert ours[1].shape == (3, 2)


def sizes(kernel: int, inputs: int, outputs: int) -> int:
    """Weights and biases of a convolution, or with a kernel of 1 of a layer."""
    return kernel * kernel * inputs * outputs + outputs


def count(tree: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def test_default_sizes_are_those_of_the_protocol_counted_by_hand() -> None:
    def build(method: str) -> Any:
        spec = EnvSpec("image-stack", (4, 84, 84), (18,), "uint8")
        stats = RunningMeanStd.empty((84, 84))
        state = jax.eval_shape(
            lambda key: init_agent(make_algorithm(AgentConfig(method=method), spec), stats, key), KEY
        )
        return state.params, state.bonus_states

    params, targets = build("action-balance-rnd")
    # 84 -> 20 -> 9 -> 6 with a last side of 4, or 7 with 3.
    policy = sizes(8, 4, 32) + sizes(4, 32, 64) + sizes(4, 64, 64)
    policy += sizes(1, 6 * 6 * 64, 256) + sizes(1, 256, 448) + 2 * sizes(1, 448, 448)
    policy += sizes(1, 448, 18) + sizes(1, 448, 2)
    assert count(params.policy) == policy == 1_223_156
    target = sizes(8, 1, 32) + sizes(4, 32, 64) + sizes(3, 64, 64) + sizes(1, 7 * 7 * 64, 512)
    assert count(targets["intrinsic"]) == target == 1_677_984
    assert count(params.bonuses["intrinsic"]) == target + 2 * sizes(1, 512, 512)
    assert count(targets["action"]) == target + 18 * 512
    assert count(params.bonuses["action"]) == target + 2 * sizes(1, 512, 512) + 3 * 18 * 512
    params, targets = build("action-balance-rnd-channel")
    assert count(targets["intrinsic"]) == target
    # The channel has a kernel of its own, and the one-hot stays.
    assert count(targets["action"]) == target + 18 * 512 + 8 * 8 * 32
    assert count(params.bonuses["action"]) == target + 2 * sizes(1, 512, 512) + 3 * 18 * 512 + 8 * 8 * 32
    assert [(conv.weight.shape[0], conv.stride) for conv in params.policy.convolutions] == [(8, 4), (4, 2), (4, 1)]
    kernels = [(conv.weight.shape[0], conv.stride) for conv in params.bonuses["action"].convolutions]
    assert kernels == [(8, 4), (4, 2), (3, 1)]


@pytest.mark.parametrize(("side", "kernel"), [(10, 3), (4, 2), (1, 1)])
def test_small_images_keep_their_resolution(side: int, kernel: int) -> None:
    policy = jax.eval_shape(lambda key: ImageActorCritic((1, side, side, 4), 2, (7, 6), Heads(ACTIONS), key=key), KEY)
    assert [(conv.weight.shape[0], conv.stride) for conv in policy.convolutions] == [(kernel, 1)] * 3
    left = side - 3 * (kernel - 1)
    assert policy.trunk[0].weight.shape == (7, left * left * 4)

    def all_actions(key: jax.Array) -> jax.Array:
        return ImageBonusNet((side, side, 4), 2, 6, actions=ACTIONS, key=key).all_actions(jnp.zeros((side, side, 4)))

    assert jax.eval_shape(all_actions, KEY).shape == (ACTIONS, 6)


def gain(matrix: jax.Array) -> float:
    """Of a matrix whose rows are orthogonal, or its columns, whichever are fewer."""
    rows = np.asarray(matrix) if matrix.shape[0] <= matrix.shape[1] else np.asarray(matrix).T
    products = rows @ rows.T
    np.testing.assert_allclose(products, products[0, 0] * np.eye(len(rows)), atol=1e-5)
    return float(products[0, 0] ** 0.5)


def test_weights_of_frame_and_channel_are_orthogonal_together_with_gain_sqrt_2() -> None:
    net = jax.jit(lambda key: fresh("channel", key))(KEY)
    assert net.channel is not None
    kernel = jnp.concatenate([net.convolutions[0].weight, net.channel], axis=2)
    assert kernel.shape == (8, 8, 2, 3)
    assert gain(kernel.reshape(-1, 3)) == pytest.approx(2**0.5, rel=1e-4)
    for layer in net.joined:
        assert layer.action_weight is not None
        joint = jnp.concatenate([layer.weight, layer.action_weight.T], axis=1)
        assert gain(joint) == pytest.approx(2**0.5, rel=1e-4)


@pytest.mark.parametrize("kind", ["one-hot", "channel"])
def test_all_actions_equal_one_call_for_each(kind: str) -> None:
    net = make(kind)

    @jax.jit
    def both(net: ImageBonusNet) -> tuple[jax.Array, jax.Array]:
        return jax.vmap(net.all_actions)(FRAMES), many(net, *PAIRS).reshape(3, ACTIONS, -1)

    together, alone = both(net)
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-5)
    # Both embeddings distinguish actions.
    assert np.ptp(np.asarray(alone), axis=1).max() > 0.1


def test_bfloat16_gives_float32_outputs_near_the_exact_ones() -> None:
    kind = "channel"
    exact, short = make(kind), make(kind, dtype="bfloat16")
    assert {leaf.dtype for leaf in jax.tree.leaves(short)} == {jnp.dtype("float32")}

    @jax.jit
    def run(net: ImageBonusNet) -> jax.Array:
        return many(net, *inputs(kind))

    one, other = run(short), run(exact)
    assert one.dtype == other.dtype == jnp.float32
    np.testing.assert_allclose(one, other, rtol=0.05, atol=0.05)
    assert np.abs(np.asarray(one - other)).max() > 1e-4
