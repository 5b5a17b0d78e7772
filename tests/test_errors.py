import pytest

from action_balance.errors import UserError, check_name


def test_a_known_name_is_returned() -> None:
    assert check_name("method", "rnd", ["random", "rnd"]) == "rnd"


def test_a_misspelt_name_suggests_the_nearest() -> None:
    with pytest.raises(UserError, match=r"^unknown method 'randm': did you mean random\?$"):
        check_name("method", "randm", ["random", "rnd"])


def test_a_strange_name_lists_the_choices() -> None:
    with pytest.raises(UserError, match=r"^unknown method 'xyz': choose from random, rnd$"):
        check_name("method", "xyz", (name for name in ("random", "rnd")))
