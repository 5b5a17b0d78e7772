"""Tables of leaves say what differs."""

from typing import Any

import pytest

from action_balance.runs.leaves import Leaf, difference


def test_a_table_in_another_order_does_not_differ() -> None:
    one, other = Leaf(".a", "int32", (2,)), Leaf(".b", "int32", ())
    assert difference([one, other], [other, one]) is None
    assert difference([one], [one, other]) == ".b is missing from it"
    assert difference([one, other], [one]) == ".b exists only in it"
    assert difference([one], [Leaf(".a", "float32", (2,))]) == ".a is int32[2] in it but float32[2] here"


def test_a_leaf_is_plain_data_and_back() -> None:
    leaf = Leaf(".key", "key<fry>", (2, 3), "threefry2x32")
    assert Leaf.from_dict({**leaf.to_dict(), "shape": [2, 3]}) == leaf


@pytest.mark.parametrize(
    "damage",
    [
        {"shape": 5},
        {"shape": [-1]},
        {"shape": ["2"]},
        {"shape": None},
        {"path": 1},
        {"dtype": None},
        {"key_impl": 2},
        {"x": 1},
    ],
)
def test_other_data_are_no_leaf(damage: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no leaf"):
        Leaf.from_dict({**Leaf(".a", "int32", (2,)).to_dict(), **damage})
