"""The last lines of ``reproduce grid``: its verdict in words."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

from action_balance.files import Data
from action_balance.studies.grid import verdict
from action_balance.studies.grid.verdict import Claim, Margin
from action_balance.web.format import Side, capitalized, count, ends, listed

#: What action balance RND does sooner or later than RND, in the terms of each part.
DOES = {"coverage": "stays above random", "goals": "reaches goals", "corridor": "finds the treasure"}

#: The paper's numbers that it gives as "about".
ABOUT = ("coverage",)

#: What the claims of some studies show together.
CLAUSES: dict[Side, str] = {
    "above": "action balance RND explores faster than RND in {}",
    "below": "action balance RND explores more slowly than RND in {}",
    "around": "the difference between action balance RND and RND is not significant in {}",
    "unknown": "there is no verdict on {}",
}

SIGNIFICANCE: dict[Side, str] = {
    "above": ", significant",
    "below": ", significant",
    "around": ", not significant",
    "unknown": "",
}


def conclusion(summary: Data, folder: Path) -> list[str]:
    """What a result shows, how certain that is, what would settle the rest, and where the report is.

    Args:
        summary: the ``summary.json`` of the result.
        folder: folder of the result.

    Returns:
        The lines, which fit into 80 columns but for commands and paths.
    """
    settings, found, cells = summary["settings"], verdict.claims(summary), verdict.margin(summary)
    lines = wrapped(overall(found))
    for claim in found:
        lines += wrapped(_line(claim, settings["max_steps"]), "  ")
    if cells:
        lines += wrapped(_margin_line(cells), "  ")
    if any("[" in line for line in lines):
        lines.append(f"{count(settings['runs'], 'run')} of each method; 95 % intervals in brackets.")
    open_claims = {claim.study: claim.reason for claim in found if claim.reason is not None}
    if open_claims:
        lines.append(f"To settle {listed(list(open_claims))}:")
        lines.append(f"  {verdict.settling_command(settings, open_claims)}")
    return [*lines, f"Open {folder / 'report.html'} in a browser for figures and tables."]


def wrapped(text: str, indent: str = "") -> list[str]:
    """Lines of at most 80 columns, the first after an indent, the others after twice that indent."""
    return textwrap.wrap(text, 80, initial_indent=indent, subsequent_indent=2 * indent)


def overall(claims: Sequence[Claim]) -> str:
    """The answer in one sentence."""
    clauses = []
    for side, clause in CLAUSES.items():
        studies = [claim.study for claim in claims if claim.side == side]
        if len(studies) == len(claims) > 1:
            if side == "around":
                return "No study shows a significant difference between action balance RND and RND."
            clauses.append(clause.format("both studies" if len(studies) == 2 else "all three studies"))
        elif studies:
            clauses.append(clause.format(f"the {'study' if len(studies) == 1 else 'studies'} {listed(studies)}"))
    return capitalized("; ".join(clauses)) + "."


def _line(claim: Claim, max_steps: int) -> str:
    """One claim in words."""
    name, does = claim.study.capitalize(), DOES[claim.study]
    match claim.reason:
        case "methods":
            needed = "random, RND" if claim.study == "coverage" else "RND"
            return f"{name}: no verdict, which needs the methods {needed} and action balance RND."
        case "timeouts":
            late = count(claim.timed_out, "run")
            return f"{name}: no verdict, because {late} timed out after {count(max_steps, 'step')}."
        case "not above random":
            return f"{name}: no verdict, because a method does not end above random."
        case "few runs":
            return f"{name}: no verdict, because there are too few runs for an interval."
    words = "sooner" if claim.side == "above" else "as soon"
    paper = "" if claim.published is None else f"; paper: {'~' * (claim.study in ABOUT)}{claim.published:g}"
    text = f"{ends(claim.estimate)[0]:.2f} times {words} {_interval(claim.estimate, '.2f')}"
    return f"It {does} {text}{SIGNIFICANCE[claim.side]}{paper}"


def _margin_line(margin: Margin) -> str:
    """The difference in coverage in words."""
    paper = "" if margin.published is None else f"; paper: ~{margin.published:g}"
    text = f"{ends(margin.estimate)[0]:+.1f} of {margin.cells:,} {_interval(margin.estimate, '+.1f')}".rstrip()
    return f"Cells covered in the end: {text}{SIGNIFICANCE[margin.side]}{paper}"


def _interval(estimate: Data | None, form: str) -> str:
    _, low, high = ends(estimate)
    return "" if math.isnan(low + high) else f"[{low:{form}}, {high:{form}}]"
