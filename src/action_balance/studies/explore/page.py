"""The page of ``explore --out``: the methods on a user's own map; ``page.html`` has its text."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from action_balance.files import Data
from action_balance.printable import printable
from action_balance.studies.grid.player import result_data
from action_balance.studies.registry import read_summary
from action_balance.web.files import read_figures
from action_balance.web.format import Side, ends
from action_balance.web.render import render


@dataclass(frozen=True)
class Lead:
    """The best method, and how far it is ahead of the second."""

    best: str
    second: str | None
    """None for a single method."""
    estimate: Data
    """The number of the best method."""
    difference: Data | None
    """How much better it is than the second, with its interval."""
    side: Side
    """Where that interval lies, relative to 0: above if the lead over the second, and all others, is significant."""


def result_page(folder: Path) -> str:
    """The page of a result."""
    summary = read_summary(folder)
    ours = summary["ours"]
    covered = lead({name: one["final_cells"] for name, one in ours["coverage"]["methods"].items()})
    reached = ours.get("first_reach")
    timed_out = sum(one["given_up"] for one in (reached or {}).values())
    return render(
        "studies/explore/page.html",
        result_data(folder, summary),
        name=printable(folder.resolve().name),
        settings=summary["settings"],
        coverage=ours["coverage"],
        first_reach=reached,
        timed_out=timed_out,
        figures=read_figures(folder),
        covered=covered,
        soonest=lead({name: one["mean"] for name, one in reached.items()}, -1) if reached and not timed_out else None,
    )


def lead(estimates: Mapping[str, Data], sign: int = 1) -> Lead:
    """The method with the highest number, or with sign -1 the lowest.

    Args:
        estimates: independent means with their intervals, by method.
        sign: 1 if more is better, -1 if less is.

    Returns:
        The best method. The interval of a difference of independent means has half the width of both, added as the
        sides of a right triangle.
    """
    order = sorted(estimates, key=lambda name: -sign * ends(estimates[name])[0])
    best, others = order[0], order[1:]
    differences = [_difference(estimates[best], estimates[other]) for other in others]
    if not differences:
        return Lead(best, None, estimates[best], None, "unknown")
    lows = [low for _, low, _ in differences]
    side: Side = "unknown" if any(map(math.isnan, lows)) else "above" if min(lows) > 0 else "around"
    value, low, high = (None if math.isnan(end) else end for end in differences[0])
    return Lead(best, others[0], estimates[best], {"value": value, "low": low, "high": high}, side)


def _difference(one: Data, other: Data) -> tuple[float, float, float]:
    (value, _, high), (second, _, end) = ends(one), ends(other)
    difference, half = abs(value - second), math.hypot(high - value, end - second)
    return difference, difference - half, difference + half
