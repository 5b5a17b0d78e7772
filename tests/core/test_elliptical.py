"""Elliptical counts: roots of the inverse, beside NumPy's inverse in float64."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.core.elliptical import add_visit, add_visits, empty_root, inverse_root, widths


def one_by_one(root: Any, features: Any) -> Any:
    return jax.lax.scan(add_visit, root, features)[0]


def in_blocks(root: Any, features: Any) -> Any:
    def block(root: Any, features: Any) -> tuple[Any, None]:
        return add_visits(root, widths(root, features)[1]), None

    return jax.lax.scan(block, root, features.reshape(-1, 100, features.shape[-1]))[0]


def directions(visits: int, features: int) -> np.ndarray:
    """Unit vectors that vary much in some directions and hardly in others."""
    draws = np.random.default_rng(0)
    found = draws.normal(size=(visits, features)) @ np.diag(np.logspace(0, -3, features))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def test_the_width_of_visited_unit_vectors_is_one_over_ridge_and_visits() -> None:
    root = add_visits(empty_root(3, 0.5), widths(empty_root(3, 0.5), jnp.eye(3)[jnp.array([0, 2, 2, 2])])[1])
    assert widths(root, jnp.eye(3))[0].tolist() == pytest.approx([1 / 1.5, 2, 1 / 3.5])


def test_visits_are_added_by_hand() -> None:
    """C is 1/2 I, then diag(3/2, 1/2), then [[5/2, 1], [1, 3/2]], whose determinant is 11/4."""
    root, found = empty_root(2, 0.5), []
    for features in ([1.0, 0.0], [1.0, 1.0]):
        root, width = add_visit(root, jnp.array(features))
        found.append(float(width))
    np.testing.assert_allclose(root @ root.T, np.array([[1.5, -1.0], [-1.0, 2.5]]) / 2.75, rtol=1e-6)
    assert [*found, float(add_visit(root, jnp.array([0.0, 1.0]))[1])] == pytest.approx([2, 2 / 3 + 2, 10 / 11])


@pytest.mark.parametrize("update", [one_by_one, in_blocks])
def test_an_update_is_the_inverse_of_numpy(update: Callable[[Any, Any], Any]) -> None:
    features = directions(200, 6)
    root = np.asarray(jax.jit(update)(empty_root(6, 0.1), features), float)
    exact = np.linalg.inv(0.1 * np.eye(6) + features.T.astype(float) @ features)
    np.testing.assert_allclose(root @ root.T, exact, rtol=1e-4, atol=1e-5 * exact.max())


@pytest.mark.parametrize("update", [one_by_one, in_blocks])
def test_rounding_does_not_add_up_over_many_updates(update: Callable[[Any, Any], Any]) -> None:
    features = directions(100_000, 5)
    root = jax.jit(update)(empty_root(5, 1.0), features)
    exact = np.linalg.inv(np.eye(5) + features.T.astype(float) @ features)
    probes = np.concatenate([np.eye(5), features[:50]]).astype(np.float32)
    np.testing.assert_allclose(widths(root, jnp.asarray(probes))[0], ((probes @ exact) * probes).sum(axis=1), rtol=0.01)


def test_rounding_does_not_add_up_over_an_episode_of_large_features() -> None:
    """4,500 steps with 32 features as of E3B: far from 0, they vary in five directions, and hardly in the others;
    then one state for ever."""
    draws = np.random.default_rng(0)
    varied = 3 + draws.normal(size=(4_000, 5)) @ draws.normal(size=(5, 32)) + 0.01 * draws.normal(size=(4_000, 32))
    features = np.concatenate([varied, np.full((500, 32), 3.0)]).astype(np.float32)
    _, found = jax.jit(partial(jax.lax.scan, add_visit))(empty_root(32, 0.1), features)
    inverse, expected = np.eye(32) / 0.1, []
    for row in features.astype(float):
        direction = inverse @ row
        expected.append(row @ direction)
        inverse -= np.outer(direction, direction) / (1 + expected[-1])
    np.testing.assert_allclose(found, expected, rtol=0.01)


def test_rounding_does_not_add_up_in_large_matrices_either() -> None:
    """1,000 updates of 100 visits each, with matrices that are divided."""
    features = directions(100_000, 96)
    root = jax.jit(in_blocks)(empty_root(96, 1.0), features)
    exact = np.linalg.inv(np.eye(96) + features.T.astype(float) @ features)
    found = widths(root, jnp.asarray(features[:50]))[0]
    np.testing.assert_allclose(found, ((features[:50] @ exact) * features[:50]).sum(axis=1), rtol=0.01)


def test_a_large_matrix_is_divided_into_blocks() -> None:
    """131 is halved twice, once into different halves."""
    features = directions(300, 131).astype(float)
    matrix = np.eye(131) + features.T @ features
    root = np.asarray(inverse_root(jnp.asarray(matrix, jnp.float32)), float)
    np.testing.assert_allclose(root @ root.T @ matrix, np.eye(131), atol=1e-4)


def test_an_update_of_several_seeds_and_actions_ends() -> None:
    """Batched calls of LAPACK within a program stop small CPUs for ever."""
    roots = jnp.broadcast_to(empty_root(70, 1.0), (8, 3, 70, 70))
    features = jnp.broadcast_to(directions(40, 70), (8, 40, 70))
    each = jax.vmap(jax.vmap(lambda root, seen: add_visits(root, widths(root, seen)[1]), in_axes=(0, None)))
    assert "custom_call" not in jax.jit(each).lower(roots, features).as_text()
    assert np.isfinite(jax.jit(each)(roots, features)).all()
