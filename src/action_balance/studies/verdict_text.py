"""Verdicts in words, for the terminal: what several studies share."""

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from action_balance.files import Data
from action_balance.web.format import Side, capitalized, ends, listed

#: Columns that lines fit into.
WIDTH = 80

#: What follows an estimate.
SIGNIFICANCE: dict[Side, str] = {
    "above": ", significant",
    "below": ", significant",
    "around": ", not significant",
    "unknown": "",
}

#: What stands above the lines of a comparison, each of which says what action balance RND does.
COMPARED = "Action balance RND, compared with RND:"


def wrapped(text: str, indent: str = "") -> list[str]:
    """Lines of at most `WIDTH` columns, the first after an indent, the others after twice that indent."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=2 * indent)


def with_interval(estimate: Data | None, form: str, unit: str = "") -> str:
    """An estimate as text: ``1.23 [1.10, 1.40]``, without brackets where there is no interval."""
    value, low, high = ends(estimate)
    interval = "" if math.isnan(low + high) else f" [{low:{form}}, {high:{form}}]"
    return f"{value:{form}}{unit}{interval}"


@dataclass(frozen=True)
class ComparisonWords:
    """Words for a comparison of two methods."""

    ours: str = "action balance RND"
    other: str = "RND"
    better: str = "explores faster"
    worse: str = "explores more slowly"
    place: tuple[str, str] = ("study", "studies")  # what the methods are compared in: singular and plural
    named: str = "the {names} {place}"  # how some of these places are named


#: The comparison of most studies.
EXPLORATION = ComparisonWords()


def answer(sides: Mapping[str, Side], words: ComparisonWords = EXPLORATION) -> str:
    """What a comparison shows in several places, in one sentence."""
    both, (one, several) = f"{words.ours} and {words.other}", words.place
    clauses: dict[Side, str] = {
        "above": f"{words.ours} {words.better} than {words.other} in",
        "below": f"{words.ours} {words.worse} than {words.other} in",
        "around": f"the difference between {both} is not significant in",
        "unknown": "there is no verdict on",
    }
    if len(sides) > 1 and set(sides.values()) == {"around"}:
        return f"No {one} shows a significant difference between {both}."
    found = []
    for side, clause in clauses.items():
        names = [name for name, where in sides.items() if where == side]
        if side == "unknown" and len(names) == len(sides) > 1:
            found.append(f"{clause} any {one}")
        elif len(names) == len(sides) > 1:
            all_of = {2: "both", 3: "all three"}.get(len(names), f"all {len(names)}")
            found.append(f"{clause} {all_of} {several}")
        elif names:
            place = one if len(names) == 1 else several
            found.append(f"{clause} {words.named.format(names=listed(names), place=place)}")
    return capitalized("; ".join(found)) + "."
