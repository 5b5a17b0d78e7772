import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from action_balance.printable import printable, printable_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("runs/a b [lr=0.1] ü 日本", "runs/a b [lr=0.1] ü 日本"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        (b"\xff.txt".decode("utf-8", "surrogateescape"), r"\udcff.txt"),
        ("\ud800", r"\ud800"),
        ("left\u202eright\u2028", r"left\u202eright\u2028"),
        ("\0", r"\x00"),
    ],
)
def test_what_cannot_be_shown_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    assert printable("begin" + "-" * 5000 + "end") == f"begin{'-' * 995} ... {'-' * 997}end"


def test_lines_stay_lines() -> None:
    assert printable_lines("a\n\x1bb\n") == "a\n\\x1bb\n"


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.text(st.characters(categories=None), max_size=60))
def test_any_text_becomes_one_line_that_every_terminal_takes(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    shown.encode("utf-8")
