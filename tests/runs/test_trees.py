"""Trees become arrays by path, and come back."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.runs.leaves import Leaf
from action_balance.runs.trees import describe, to_arrays, to_tree


def test_leaves_are_described_by_path_type_and_shape() -> None:
    tree = {"a": jnp.zeros((2, 3), jnp.bfloat16), "b": [1, jax.random.key(0)], "c": jnp.tanh}
    assert describe(tree) == [
        Leaf("['a']", "bfloat16", (2, 3)),
        Leaf("['b'][0]", "int", ()),
        Leaf("['b'][1]", "key<fry>", (), "threefry2x32"),
        Leaf("['c']", "no data", ()),
    ]
    assert [Leaf.from_dict(leaf.to_dict()) for leaf in describe(tree)] == describe(tree)


def test_arrays_are_named_by_path_and_functions_are_left_out() -> None:
    arrays = to_arrays({"key": jax.random.key(7), "x": jnp.float32(2), "f": jnp.tanh})
    assert {name: array.tolist() for name, array in arrays.items()} == {"['key']": [0, 7], "['x']": 2}


def test_a_tree_comes_back_into_shapes_with_the_functions_that_are_there() -> None:
    model = eqx.nn.MLP(2, 1, 3, depth=1, activation=jnp.tanh, key=jax.random.key(0))
    like = eqx.filter_eval_shape(lambda: eqx.nn.MLP(2, 1, 3, depth=1, activation=jnp.tanh, key=jax.random.key(1)))
    found = to_tree(to_arrays(model), describe(model), like)
    assert found.activation is jnp.tanh
    np.testing.assert_array_equal(found(jnp.ones(2)), model(jnp.ones(2)))
