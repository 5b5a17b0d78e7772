import errno
import math
from typing import Any

import pytest

from action_balance.errors import UserError, WriteError, check_name, check_range, flag, nearest


def test_a_known_name_is_returned() -> None:
    assert check_name("method", "rnd", ["random", "rnd"]) == "rnd"


def test_a_misspelt_name_suggests_the_nearest() -> None:
    with pytest.raises(UserError, match=r"^unknown method 'randm': did you mean random\?$"):
        check_name("method", "randm", ["random", "rnd"])


def test_a_strange_name_lists_the_choices() -> None:
    with pytest.raises(UserError, match=r"^unknown method 'xyz': choose from random, rnd$"):
        check_name("method", "xyz", (name for name in ("random", "rnd")))


def test_many_choices_are_cut_short() -> None:
    with pytest.raises(UserError, match=r"choose from 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 8 others$"):
        check_name("game", "xyz", map(str, range(20)))


def test_only_similar_names_are_near() -> None:
    assert nearest("--stesp", ["--steps", "--seed"]) == "--steps"
    assert nearest("--xyz", ["--steps", "--seed"]) is None


@pytest.mark.parametrize(
    ("value", "limits", "wanted"),
    [
        (math.nan, {}, "a finite number"),
        (math.inf, {}, "a finite number"),
        (-1, {}, "0 or more"),
        (0, {"above": True}, "above 0"),
        (3, {"low": 1, "high": 2}, "at most 2"),
    ],
)
def test_numbers_out_of_range_name_their_flag(value: float, limits: Any, wanted: str) -> None:
    with pytest.raises(UserError, match=rf"^--learning-rate must be {wanted}, not {value}$"):
        check_range("--learning-rate", value, **limits)


def test_numbers_in_range_pass() -> None:
    check_range("--a", 1, low=1, high=2)
    check_range("--b", 2, low=1, high=2)


def test_a_setting_has_a_flag() -> None:
    assert flag("learning_rate") == "--learning-rate"


def test_a_number_with_too_many_digits_is_shortened() -> None:
    with pytest.raises(UserError, match=r"at most 9, not 1.00e\+400$"):
        check_range("--a", 10**400, high=9)


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, "free some space, then again"), (errno.EIO, "check the disk, then again"), (errno.EXDEV, "again")],
)
def test_an_error_of_the_disk_says_how_to_go_on(number: int, advice: str) -> None:
    assert str(WriteError("cannot write a", OSError(number, "why")).then("again")) == f"cannot write a; {advice}"
