"""Tables of leaves say what differs."""

from action_balance.runs.leaves import Leaf, difference


def test_a_table_in_another_order_does_not_differ() -> None:
    one, other = Leaf(".a", "int32", (2,)), Leaf(".b", "int32", ())
    assert difference([one, other], [other, one]) is None
    assert difference([one], [one, other]) == ".b is missing in it"
    assert difference([one, other], [one]) == ".b exists only in it"
    assert difference([one], [Leaf(".a", "float32", (2,))]) == ".a is int32[2] in it, float32[2] here"


def test_a_leaf_is_plain_data_and_back() -> None:
    leaf = Leaf(".key", "key<fry>", (2, 3), "threefry2x32")
    assert Leaf.from_dict({**leaf.to_dict(), "shape": [2, 3]}) == leaf
