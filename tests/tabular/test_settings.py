import math
from typing import Any

import pytest

from action_balance.errors import UserError
from action_balance.tabular.settings import TabularSettings, coefficients

PAPER = TabularSettings()


def test_the_defaults_are_the_papers() -> None:
    assert TabularSettings(128, 1.0, 0.1, 1.02, 0.99, 0.95, 0.1) == PAPER


@pytest.mark.parametrize(
    ("method", "expected"),
    [("random", (0, 0)), ("rnd", (0, 0.1)), ("action-balance", (1, 0)), ("action-balance-rnd", (1, 0.1))],
)
def test_a_method_is_a_choice_of_coefficients(method: str, expected: tuple[float, float]) -> None:
    assert coefficients(method, PAPER) == expected


def test_an_unknown_method_is_an_error_that_suggests_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean action-balance"):
        coefficients("action-balanse", PAPER)


#: The lowest and highest values allowed.
LIMITS = {
    **dict.fromkeys(("action_coef", "state_coef"), (0.0, 1e6)),
    **dict.fromkeys(("gamma", "gae_lambda", "value_rate"), (0.0, 1.0)),
    "reward_base": (1.0, 1e38),
    "update_every": (1, 2**31 - 1),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_number_outside_its_limits_is_an_error_that_names_its_flag(name: str) -> None:
    low, high = LIMITS[name]
    never = () if name == "update_every" else (math.inf, math.nan)
    for value in (low - 1, 11 * high, *never):
        wrong: dict[str, Any] = {name: value}
        with pytest.raises(UserError, match=f"^--{name.replace('_', '-')} must be"):
            TabularSettings(**wrong)
