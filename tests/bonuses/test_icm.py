"""ICM: the error of the forward model, from which features get no gradient."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from known_features import STATS, Identity, small_bonus, transitions

from action_balance.bonuses.icm import Curiosity


def any_nonzero(tree: Any) -> bool:
    return any(np.asarray(leaf).any() for leaf in jax.tree.leaves(tree))


def test_the_reward_is_half_the_mean_squared_error_of_the_predicted_features() -> None:
    bonus = small_bonus("icm")
    params, state = jax.jit(bonus.init)(jax.random.key(0), STATS)
    last = params.forward.joined[-1]
    params = eqx.tree_at(  # whatever happens, the forward model predicts (1, -1)
        lambda p: (p.dynamics.encoder, p.forward.joined[-1].weight, p.forward.joined[-1].bias),
        params,
        (Identity(), jnp.zeros_like(last.weight), jnp.array([1.0, -1.0])),
    )
    rollout = transitions([[[1.0, -1.0]], [[1.0, 2.0]], [[4.0, -1.0]]])
    reward, _ = jax.jit(bonus.reward)(params, state, rollout)
    assert reward[:, 0].tolist() == pytest.approx([0.0, 9 / 4, 9 / 4])


def test_features_get_no_gradient_from_the_bonus() -> None:
    bonus = small_bonus("icm")
    params, state = jax.jit(bonus.init)(jax.random.key(0), STATS)
    batch = transitions([[0.5, 1.0], [1.0, -1.0]], frame=[[1.0, 0.0], [0.2, 0.3]], action=[1, 2])

    def forward(params: Curiosity) -> Any:
        return params.forward_errors(params.dynamics.encode(batch)).sum()

    def inverse(params: Curiosity) -> Any:
        return params.dynamics.losses(params.dynamics.encode(batch)).sum()

    from_forward, from_inverse = jax.jit(jax.grad(forward))(params), jax.jit(jax.grad(inverse))(params)
    whole = jax.jit(jax.grad(lambda params: bonus.loss(params, state, batch).sum()))(params)
    assert not any_nonzero(from_forward.dynamics)
    assert any_nonzero(from_forward.forward)
    assert any_nonzero(from_inverse.dynamics.encoder)
    assert not any_nonzero(from_inverse.forward)
    for found, expected in ((whole.dynamics, from_inverse.dynamics), (whole.forward, from_forward.forward)):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7), found, expected)
