"""Leaves of trees in few arrays."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from action_balance.engines.host.packed_tree import PackedTree, TreePacker, map_inside


class Tree(NamedTuple):
    """Of leaves that can be together, and of others."""

    numbers: jax.Array
    table: jax.Array
    whole: jax.Array
    half: jax.Array
    one: jax.Array


TREE = Tree(
    numbers=jnp.arange(3.0),
    table=jnp.arange(100.0).reshape(20, 5) + 10,
    whole=jnp.int32(7),
    half=jnp.ones(4, jnp.bfloat16),
    one=jnp.float32(-1),
)


def same(one: Any, other: Any) -> None:
    assert str(jax.tree.structure(one)) == str(jax.tree.structure(other))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_leaves_of_32_bits_are_together_each_from_a_multiple_of_64() -> None:
    found = TreePacker(TREE).pack(TREE)
    expected = np.zeros(64 + 128 + 64, np.float32)
    expected[:3], expected[64:164], expected[192] = range(3), range(10, 110), -1
    np.testing.assert_array_equal(found.packed, expected)
    same(found.others, (TREE.whole, TREE.half))


def test_large_leaves_stay_by_themselves() -> None:
    found = TreePacker(TREE, largest=99).pack(TREE)
    assert found.packed.shape == (128,)
    same(found.others, (TREE.table, TREE.whole, TREE.half))


def test_the_tree_comes_back() -> None:
    for largest in (0, 2, 50, 1000):
        packer = TreePacker(jax.eval_shape(lambda: TREE), largest)
        same(packer.unpack(packer.pack(TREE)), TREE)
    alone = TreePacker(Tree(*5 * [jnp.int32(1)]))
    assert alone.pack(Tree(*5 * [jnp.int32(1)])).packed.shape == (0,)


def test_adam_steps_a_packed_tree_as_it_steps_the_tree() -> None:
    tree = {"a": jnp.array([1.0, 2.0]), "b": jnp.array([[3.0]])}
    gradients = [{"a": jnp.array([0.5, -1.0]), "b": jnp.array([[4.0]])}, {"a": jnp.ones(2), "b": jnp.zeros((1, 1))}]
    adam, packer = optax.adam(0.1), TreePacker(tree)
    plain, memory = tree, adam.init(tree)
    pack, moments = packer.pack(tree), map_inside(packer.pack, dict, memory)
    for found in gradients:
        changes, memory = adam.update(found, memory)
        plain = optax.apply_updates(plain, changes)
        changes, moments = adam.update(packer.pack(found), moments)
        pack = optax.apply_updates(pack, changes)
    same(packer.unpack(pack), plain)
    same(map_inside(packer.unpack, PackedTree, moments), memory)
    assert not np.asarray(pack.packed)[3:64].any()  # what fills the places stays 0
