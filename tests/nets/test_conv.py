from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.nets.conv import Conv, convolve

# Height, width, channels, side of the kernel, stride, outputs.
SIZES = [
    (44, 44, 4, 8, 4, 3),  # as in the networks for images
    (9, 9, 5, 3, 1, 2),
    (13, 18, 2, 4, 2, 3),  # a row at the bottom is left over
    (11, 14, 2, 4, 4, 1),  # blocks that do not overlap; rows and columns left over
    (8, 8, 2, 8, 4, 3),  # one place only
]


def plain(x: jax.Array, weight: jax.Array, stride: int) -> jax.Array:
    """The compiler's own convolution, exact."""
    return jax.lax.conv_general_dilated(
        x[None],
        weight,
        (stride, stride),
        "VALID",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        precision="highest",
    )[0]


@pytest.mark.parametrize(("height", "width", "channels", "side", "stride", "outputs"), SIZES)
def test_a_convolution_and_its_gradients_are_those_of_the_compiler(
    height: int, width: int, channels: int, side: int, stride: int, outputs: int
) -> None:
    places = ((height - side) // stride + 1, (width - side) // stride + 1, outputs)
    rng = np.random.default_rng(height)
    shapes = ((height, width, channels), (side, side, channels, outputs), places)
    x, weight, back = (rng.normal(size=shape).astype(np.float32) for shape in shapes)

    @partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})  # compiled in half the time
    def both(x: jax.Array, weight: jax.Array, back: jax.Array) -> list[tuple[jax.Array, jax.Array, jax.Array]]:
        """Output, and gradients for input and weight, of ours and of the compiler's."""
        found = []
        for function in (convolve, plain):
            output, pull = jax.vjp(partial(function, stride=stride), x, weight)
            found.append((output, *pull(back)))
        return found

    ours, theirs = jax.device_get(both(x, weight, back))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * np.abs(other).max())
    assert ours[0].shape == places


def test_a_convolution_by_hand() -> None:
    # 2x2 blocks of one, two or three: 1 * x + 10 * right + 100 * below + 1000 * below right.
    x = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])[..., None]
    weight = jnp.array([[1.0, 10.0], [100.0, 1000.0]])[..., None, None]
    expected = [[[5421.0], [6532.0]]]
    np.testing.assert_array_equal(jax.jit(convolve, static_argnums=2)(x, weight, 1), expected)
    # With stride 2 the last column is left over.
    np.testing.assert_array_equal(jax.jit(convolve, static_argnums=2)(x, weight, 2), [[[5421.0]]])


def test_channels_add_up_and_outputs_have_their_own_weights_and_bias() -> None:
    conv = Conv(2, 2, 1, 1, key=jax.random.key(0))
    weight, bias = jnp.array([[[[1.0, 2.0], [10.0, 20.0]]]]), jnp.array([0.5, 0.25])
    conv = jax.tree.unflatten(jax.tree.structure(conv), [weight, bias])
    x = jnp.array([[[3.0, 4.0], [0.0, 1.0]]])
    np.testing.assert_array_equal(conv(x), [[[43.5, 86.25], [10.5, 20.25]]])


@pytest.mark.parametrize(("inputs", "outputs", "side", "stride"), [(4, 32, 8, 4), (3, 5, 2, 1), (2, 40, 4, 2)])
def test_flattened_kernels_are_orthogonal_with_gain_sqrt_2(inputs: int, outputs: int, side: int, stride: int) -> None:
    conv = Conv(inputs, outputs, side, stride, key=jax.random.key(1))
    assert conv.weight.shape == (side, side, inputs, outputs)
    flat = np.asarray(conv.weight).reshape(-1, outputs)
    # The fewer of rows and columns: 256 x 32, 12 x 5, and 32 x 40.
    products = flat.T @ flat if len(flat) >= outputs else flat @ flat.T
    np.testing.assert_allclose(products, 2 * np.eye(len(products)), atol=1e-5)
    np.testing.assert_array_equal(conv.bias, np.zeros(outputs))


def test_a_kernel_that_is_no_multiple_of_its_stride_is_an_error() -> None:
    with pytest.raises(ValueError, match="kernel side 3"):
        convolve(jnp.zeros((8, 8, 1)), jnp.zeros((3, 3, 1, 1)), 2)


def test_the_gradient_of_a_bias_is_summed_in_float32() -> None:
    """A sum of 8,192 ones; in bfloat16 it would stop at 256."""
    conv = Conv(1, 1, 1, 1, key=jax.random.key(0))
    images = jnp.zeros((8, 32, 32, 1), jnp.bfloat16)

    def total(conv: Conv) -> jax.Array:
        return jax.vmap(conv)(images).astype(jnp.float32).sum()

    np.testing.assert_array_equal(jax.jit(jax.grad(total))(conv).bias, [8192.0])
