import jax
import jax.numpy as jnp
import numpy as np
from craftax.craftax_classic.util.noise import generate_perlin_noise_2d, interpolant

from action_balance.envs.craftax.noise import perlin_noise


def test_a_batch_has_the_noise_of_craftax_alone_for_each_of_its_keys() -> None:
    """Craftax's own function repeats its noise after 8 members of a batch that is compiled for a CPU."""
    keys, shape, res = jax.random.split(jax.random.key(0), 9), (64, 64), (4, 4)
    batch = jax.jit(jax.vmap(lambda key: perlin_noise(key, shape, res, interpolant)))(keys)
    alone = jnp.stack([generate_perlin_noise_2d(key, shape, res) for key in keys])
    np.testing.assert_allclose(batch, alone, atol=1e-5)
    assert len({round(float(one.std()), 5) for one in batch}) == len(keys)


def test_given_directions_replace_random_ones() -> None:
    turns = jnp.zeros((2, 2))  # all gradients point down
    noise = perlin_noise(jax.random.key(0), (4, 2), (1, 1), jnp.zeros_like, override_angles=turns)
    expected = np.sqrt(2) * np.array([0, 0.25, 0.5, 0.75])[:, None]  # that of the first corner alone
    np.testing.assert_allclose(noise, np.broadcast_to(expected, (4, 2)), atol=1e-6)
