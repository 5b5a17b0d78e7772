import jax.numpy as jnp

from action_balance.envs.navix.views import VIEWS


def test_walls_and_what_is_outside_of_the_grid_are_one_category() -> None:
    seen = jnp.array([[-1, 0], [100, 10]])
    assert VIEWS["categorical_first_person"].encode(seen).tolist() == [[[2], [0]], [[2], [10]]]


def test_every_symbol_is_below_its_number_of_categories() -> None:
    seen = jnp.array([[[4, 4, 254], [10, 0, 3]]], jnp.uint8)
    assert VIEWS["symbolic"].encode(seen).tolist() == [[[4, 4, 3], [10, 0, 3]]]
