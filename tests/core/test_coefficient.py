import jax
import jax.numpy as jnp
import numpy as np

from action_balance.core.coefficient import adapt


def test_the_coefficient_follows_the_distance_from_the_target_within_its_limits() -> None:
    """Target 0.1, rate ln 2: a KL of 0 doubles c, one of 0.2 or more halves it, and 0.05 is half a step."""
    rate = float(np.log(2))
    step = jax.jit(jax.vmap(lambda coef, kl: adapt(coef, kl, 0.1, rate, 0.25, 4.0)))
    coef = jnp.array([1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 0.3])
    kl = jnp.array([0.0, 0.05, 0.1, 0.2, 1e9, 0.0, 0.2])
    np.testing.assert_allclose(step(coef, kl), [2.0, 2**0.5, 1.0, 0.5, 0.5, 4.0, 0.25], rtol=1e-6)
