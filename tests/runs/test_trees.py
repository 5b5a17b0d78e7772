"""Trees become arrays by path, and come back."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.runs import trees
from action_balance.runs.array_file import DamagedArrays
from action_balance.runs.leaves import Leaf
from action_balance.runs.trees import describe, host_copy, size, to_arrays, to_tree


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


def test_a_copy_is_saved_like_its_tree_whose_memory_is_reused() -> None:
    memory = np.ones(2, np.float32)
    tree = {"key": jax.random.key(7), "x": memory, "f": jnp.tanh}
    copy, table = host_copy(tree), describe(tree)
    assert size(tree) == 8 + 8
    memory += 1
    assert describe(copy) == table
    assert {name: array.tolist() for name, array in to_arrays(copy).items()} == {"['key']": [0, 7], "['x']": [1, 1]}


def test_what_comes_from_another_device_is_not_copied_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = {"device": jnp.ones(2), "host": np.ones(2)}
    arrays = to_arrays(tree)
    monkeypatch.setattr(trees, "to_arrays", lambda _: arrays)
    monkeypatch.setattr(trees, "_is_on_host", lambda leaf: isinstance(leaf, np.ndarray))
    copy = host_copy(tree)
    assert {path: copy.arrays[path] is array for path, array in arrays.items()} == {
        "['device']": True,
        "['host']": False,
    }


def test_a_tree_comes_back_into_shapes_with_the_functions_that_are_there() -> None:
    model = eqx.nn.MLP(2, 1, 3, depth=1, activation=jnp.tanh, key=jax.random.key(0))
    like = eqx.filter_eval_shape(lambda: eqx.nn.MLP(2, 1, 3, depth=1, activation=jnp.tanh, key=jax.random.key(1)))
    found = to_tree(to_arrays(model), describe(model), like)
    assert found.activation is jnp.tanh
    np.testing.assert_array_equal(found(jnp.ones(2)), model(jnp.ones(2)))


@pytest.mark.parametrize(
    "changed",
    [
        {"['x']": np.zeros(3, np.float32)},
        {"['x']": np.zeros(2, np.int32)},
        {"['key']": np.zeros(3, np.uint32)},
        {"['key']": np.zeros(2, np.float32)},
        {"['n']": np.zeros(2)},
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
