"""Words become settings, and mistakes become one line."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from action_balance.cli.form import Form
from action_balance.cli.parser import parse
from action_balance.errors import UserError


class Frozen(dict[str, Any]):
    """A mapping with a type of its own."""


@dataclass(frozen=True)
class Inner:
    """Settings inside."""

    rate: float = 0.5
    """A rate, 50 % of the default."""
    size: int | None = None
    """A size."""
    steps: int = 3
    """Steps, a name that is taken."""


@dataclass(frozen=True)
class Own:
    """Settings of a plug-in."""

    width: int = 4
    """A width."""
    height: int = 2
    """A height."""


@dataclass(frozen=True)
class Work:
    """Do something. This is how."""

    runs: tuple[Path, ...]
    """Folders."""
    steps: int = 10
    """How many ``steps``."""
    fast: bool = False
    """Hurry."""
    careful: bool = True
    """Take care."""
    view: Literal["near", "far"] = "near"
    """What is seen."""
    goals: tuple[tuple[int, int], ...] = ((1, 2),)
    """Cells."""
    tags: tuple[str, ...] = field(default=(), metadata={"action": "append"})
    """Tags."""
    plugins: Frozen = field(default_factory=Frozen)
    """Settings by plug-in."""
    upper: str = field(default="", metadata={"parse": lambda words: "+".join(words).upper()})
    """Letters."""
    inner: Inner = field(default_factory=Inner)


def work(*words: str, **more: Any) -> Work:
    form = Form("work", Work, kinds={"plugins": {"own": Own()}}, **more)
    found: Work = parse(form, words, {"--foreign": "play"}.get)
    return found


def refused(*words: str) -> str:
    with pytest.raises(UserError) as error:
        work(*words)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_defaults_are_those_of_the_dataclass() -> None:
    assert work("a", "b") == Work((Path("a"), Path("b")))


def test_flags_set_fields_wherever_they_stand() -> None:
    found = work("--steps", "1e3", "a", "--rate=-1e5", "--size", "4", "b", "--fast", "--no-careful", "--view", "far")
    assert found.runs == (Path("a"), Path("b"))
    assert (found.steps, found.fast, found.careful, found.view) == (1000, True, False, "far")
    assert found.inner == Inner(-1e5, 4)


def test_a_name_that_is_taken_gets_a_prefix() -> None:
    assert work("a", "--inner-steps", "7", "--steps", "8") == Work((Path("a"),), 8, inner=Inner(steps=7))


def test_the_last_value_counts_but_lists_grow() -> None:
    found = work("a", "--steps", "1", "--steps", "2", "--goals", "3,4", "5,6", "--goals", "-7,8")
    assert (found.steps, found.goals) == (2, ((3, 4), (5, 6), (-7, 8)))
    assert work("a", "--goals").goals == ()


def test_a_repeated_flag_takes_one_word_each() -> None:
    found = work("--tags", "x", "a", "--tags", "y", "b")
    assert (found.tags, found.runs) == (("x", "y"), (Path("a"), Path("b")))


def test_a_field_can_make_its_value_from_all_words() -> None:
    assert work("a", "--upper", "b", "c").upper == "B+C"


def test_settings_of_a_plugin_are_kept_where_they_are_given() -> None:
    assert work("a").plugins == {}
    found = work("a", "--width", "7", start={"plugins": Frozen(other={"depth": 1}, own={"height": 5})})
    assert found.plugins == {"other": {"depth": 1}, "own": {"height": 5, "width": 7}}


def test_given_values_change_what_one_starts_from() -> None:
    start = {"inner": Inner(0.1, 5), "steps": 20}
    assert work("a", "--rate", "0.2", start=start) == Work((Path("a"),), 20, inner=Inner(0.2, 5))
    assert work("a", "--size", "none", start=start).inner == Inner(0.1, None)
    assert work(start={"runs": (Path("before"),)}).runs == (Path("before"),)


def test_after_two_dashes_nothing_is_an_option() -> None:
    assert work("--fast", "--", "--steps", "-x") == Work((Path("--steps"), Path("-x")), fast=True)


@pytest.mark.parametrize(
    ("words", "hints"),
    [
        ((), ("needs RUNS", "action-balance work --help")),
        (("a", "--stesp", "3"), ("unknown option --stesp", "did you mean --steps?", "action-balance work --help")),
        (("a", "--completely-else"), ("unknown option --completely-else;", "action-balance work --help")),
        (("a", "-x"), ("unknown option -x",)),
        (("a", "--foreign", "3"), ("does not take --foreign", "an option of play", "action-balance work --help")),
        (("a", "--steps", "abc"), ("--steps takes a whole number, not 'abc'",)),
        (("a", "--size", "big"), ("--size takes a whole number or none, not 'big'",)),
        (("a", "--steps"), ("--steps takes a whole number",)),
        (("a", "--fast=3"), ("--fast takes no value",)),
        (("a", "--no-careful=3"), ("--careful takes no value",)),
        (("a", "--view", "fra"), ("'fra'", "did you mean far?")),
        (("a", "--goals", "1"), ("--goals takes 2 values separated by commas", "'1'")),
        (("a", "--step", "3"), ("unknown option --step", "--steps")),
    ],
)
def test_mistakes_are_one_line_that_says_what_to_do(words: tuple[str, ...], hints: tuple[str, ...]) -> None:
    error = refused(*words)
    assert all(hint in error for hint in hints), error


def test_surplus_words_are_refused() -> None:
    @dataclass(frozen=True)
    class One:
        """Takes one."""

        path: Path

    with pytest.raises(UserError, match="one does not take 'b'; see action-balance one --help"):
        parse(Form("one", One), ["a", "b"])


def test_two_dashes_are_a_value_after_an_equals_sign() -> None:
    assert work("here", "--tags=--", "--tags=a").tags == ("--", "a")
    assert "--steps takes a whole number, not '--'" in refused("here", "--steps=--")
