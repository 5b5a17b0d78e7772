from pathlib import Path
from typing import Any, Literal

import pytest

from action_balance.config import fields


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (int, "1e5", 100_000),
        (int, "1.5e3", 1500),
        (int, "1_000_000", 1_000_000),
        (float, "1e-4", 1e-4),
        (float, "inf", float("inf")),
        (str | None, "none", "none"),
        (int | None, "none", None),
        (int | None, "7", 7),
        (Path | None, "none", Path("none")),
        (bool, "true", True),
        (Literal["sync", "async"], "async", "async"),
        (Literal["none", "all"] | None, "none", "none"),
        (float | Literal["auto"] | None, "auto", "auto"),
        (int | str, "seven", "seven"),
        (tuple[int, int], "10,20", (10, 20)),
    ],
)
def test_text_becomes_a_value(kind: Any, text: str, value: Any) -> None:
    found = fields.from_text(kind, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (int, "1.5"),
        (int, "abc"),
        (int, "nan"),
        (int, "1e999999999"),
        (float, "much"),
        (bool, "maybe"),
        (Literal["sync", "async"], "own"),
        (tuple[int, int], "10,20,30"),
    ],
)
def test_other_text_is_refused(kind: Any, text: str) -> None:
    with pytest.raises(ValueError, match="not "):
        fields.from_text(kind, text)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (int, "a whole number"),
        (float, "a number"),
        (int | None, "a whole number or none"),
        (Literal["a", "b"], "one of a, b"),
        (tuple[int, int], "2 values separated by commas, such as 1,2"),
    ],
)
def test_a_type_is_described(kind: Any, words: str) -> None:
    assert fields.describe(kind) == words
