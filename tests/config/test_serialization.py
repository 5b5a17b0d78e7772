import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from action_balance.config.fields import Settings, count
from action_balance.config.frozen import FrozenDict
from action_balance.config.serialization import field_docs, from_dict, to_dict
from action_balance.errors import UserError


@dataclass(frozen=True)
class Inner(Settings):
    """A group of settings."""

    size: int = count(3)
    """Cells along
    a side."""
    rate: float = 0.5


@dataclass(frozen=True)
class Outer:
    """Settings with a group."""

    name: str
    """What it is called."""
    inner: Inner = field(default_factory=Inner)
    limit: int | None = None
    """Optional."""
    view: Literal["far", "near"] = "far"
    words: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    parts: tuple[tuple[str, int], ...] = ()
    more: FrozenDict = field(default_factory=FrozenDict)
    loud: bool = False


@dataclass(frozen=True)
class Larger(Outer):
    """Settings that inherit some."""

    view: Literal["far", "near"] = "near"
    """How far one sees."""
    depth: int = 1
    """How deep it is."""


FULL = Outer("a", Inner(4, 1.0), 7, "near", ("b", "c"), (1, 2), (("d", 3),), FrozenDict(x={"y": [1]}), True)


@pytest.mark.parametrize("settings", [Outer("a"), FULL])
def test_settings_survive_json(settings: Outer) -> None:
    assert from_dict(Outer, json.loads(json.dumps(to_dict(settings)))) == settings


def test_what_is_left_out_has_its_default() -> None:
    assert from_dict(Outer, {"name": "a", "inner": {"rate": 2}}) == Outer("a", Inner(rate=2))


def test_a_base_class_is_resolved() -> None:
    made = from_dict(Outer, {"name": "a", "inner": {}, "depth": 2}, lambda kind, _: Larger if kind is Outer else kind)
    assert made == Larger("a", depth=2)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"name": None}, "name must be a word, not None"),
        ({"inner": [1]}, r"--inner must be a Inner, not \[1\]"),
        ({"inner": {"size": 8.5}}, "--size must be a whole number, not 8.5"),
        ({"inner": {"size": True}}, "--size must be a whole number, not True"),
        ({"inner": {"rate": "x"}}, "--rate must be a number, not 'x'"),
        ({"inner": {"size": 0}}, "--size must be 1 or more"),
        ({"inner": {"sise": 1}}, "unknown to this version: sise"),
        ({"limit": [3]}, r"--limit must be a whole number or none, not \[3\]"),
        ({"view": "fra"}, r"unknown --view 'fra': did you mean far\?"),
        ({"words": "b"}, "--words must be a list, each item a word"),
        ({"parts": [["d", 3], ["e"]]}, "--parts must be a list, each item 2 values"),
        ({"more": 3}, "--more must be a group of settings"),
        ({"loud": 1}, "--loud must be true or false, not 1"),
        ({"other": 1, "another": 2}, "unknown to this version: another, other"),
    ],
)
def test_data_that_do_not_fit_are_one_line(change: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint) as error:
        from_dict(Outer, to_dict(FULL) | change)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["name", "inner"])
def test_a_required_setting_and_a_group_must_be_there(name: str) -> None:
    data = to_dict(FULL)
    del data[name]
    with pytest.raises(UserError, match=f"{name} is missing"):
        from_dict(Outer, data)


def test_documentation_is_the_string_below_a_field_on_one_line() -> None:
    assert field_docs(Inner) == {"size": "Cells along a side."}


def test_documentation_of_inherited_fields_is_included_and_replaced() -> None:
    expected = {
        "name": "What it is called.",
        "limit": "Optional.",
        "view": "How far one sees.",
        "depth": "How deep it is.",
    }
    assert field_docs(Larger) == expected


def test_a_class_without_source_has_no_documentation() -> None:
    space: dict[str, Any] = {"dataclass": dataclass}
    exec("@dataclass\nclass Made:\n    size: int = 3\n    'Size.'\n", space)
    assert field_docs(space["Made"]) == {}
    assert field_docs(int) == {}
