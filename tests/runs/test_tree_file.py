"""Trees become arrays by path with a table, and come back; arrays of another tree are told apart from damage."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.runs.array_file import DamagedArrays
from action_balance.runs.tree_file import Leaf, OtherTree, as_data, describe, from_data, to_arrays, to_tree


def test_leaves_are_described_by_path_type_and_shape() -> None:
    tree = {"a": jnp.zeros((2, 3), jnp.bfloat16), "b": [1, jax.random.key(0)], "c": jnp.tanh}
    assert describe(tree) == [
        Leaf("['a']", "bfloat16", (2, 3)),
        Leaf("['b'][0]", "int", ()),
        Leaf("['b'][1]", "key<fry>", (), "threefry2x32"),
        Leaf("['c']", "no data", ()),
    ]
    assert from_data(as_data(describe(tree))) == describe(tree)


def test_arrays_are_named_by_path_and_functions_are_left_out() -> None:
    arrays = to_arrays({"key": jax.random.key(7), "x": jnp.float32(2), "f": jnp.tanh})
    assert {name: array.tolist() for name, array in arrays.items()} == {"['key']": [0, 7], "['x']": 2}


@pytest.mark.parametrize(
    "damage", [{"shape": 5}, {"shape": [-1]}, {"shape": ["2"]}, {"path": 1}, {"dtype": None}, {"key_impl": 2}, {"x": 1}]
)
def test_other_data_are_no_table(damage: dict[str, Any]) -> None:
    with pytest.raises(DamagedArrays, match="table is damaged"):
        from_data([{**as_data([Leaf(".a", "int32", (2,))])[0], **damage}])


def test_a_tree_comes_back_into_shapes_with_the_functions_that_are_there() -> None:
    model = eqx.nn.MLP(2, 1, 3, depth=1, activation=jnp.tanh, key=jax.random.key(0))
    like = eqx.filter_eval_shape(lambda: eqx.nn.MLP(2, 1, 3, depth=1, activation=jnp.tanh, key=jax.random.key(1)))
    found = to_tree(to_arrays(model), describe(model)[::-1], like)
    assert found.activation is jnp.tanh
    np.testing.assert_array_equal(found(jnp.ones(2)), model(jnp.ones(2)))


@pytest.mark.parametrize(
    ("like", "words"),
    [
        ({"a": jnp.zeros(2), "b": jnp.zeros(2)}, r"\['b'\] is missing from it"),
        ({}, r"\['a'\] exists only in it"),
        ({"a": jnp.zeros(2, int)}, r"\['a'\] is float32\[2\] in it but int32\[2\] here"),
    ],
)
def test_the_first_difference_between_two_trees_is_named(like: Any, words: str) -> None:
    tree = {"a": jnp.zeros(2)}
    with pytest.raises(OtherTree, match=words):
        to_tree(to_arrays(tree), describe(tree), like)


@pytest.mark.parametrize(
    "changed",
    [
        {"['x']": np.zeros(3, np.float32)},
        {"['x']": np.zeros(2, np.int32)},
        {"['key']": np.zeros(3, np.uint32)},
        {"['n']": np.array(np.nan)},
        {"['n']": np.array("a")},
    ],
)
def test_arrays_that_are_not_what_their_table_says_are_damaged(changed: dict[str, np.ndarray]) -> None:
    tree = {"x": jnp.zeros(2), "key": jax.random.key(0), "n": 1}
    with pytest.raises(DamagedArrays, match="has changed since it was written"):
        to_tree({**to_arrays(tree), **changed}, describe(tree), tree)


def test_a_missing_array_and_an_unknown_generator_are_damaged() -> None:
    tree = {"x": jnp.zeros(2), "key": jax.random.key(0)}
    arrays, table = to_arrays(tree), describe(tree)
    with pytest.raises(DamagedArrays):
        to_tree({"['x']": arrays["['x']"]}, table, tree)
    with pytest.raises(DamagedArrays):
        to_tree(arrays, [Leaf("['key']", "key<fry>", (), "nothing"), *table[1:]], tree)
