"""The last lines of ``reproduce grid``: its verdict in words."""

from pathlib import Path

from action_balance.files import Data
from action_balance.studies.grid import verdict
from action_balance.studies.grid.verdict import Claim, Margin
from action_balance.studies.verdict_text import COMPARED, SIGNIFICANCE, answer, with_interval, wrapped
from action_balance.web.format import count, listed

#: What action balance RND does faster or more slowly than RND, in the terms of each part.
DOES = {"coverage": "overtakes random", "goals": "reaches goals", "corridor": "finds the treasure"}

#: The parts as an adjective.
NAMES = {"coverage": "coverage", "goals": "goal", "corridor": "corridor"}

#: The paper's numbers that it gives as "about".
ABOUT = ("coverage",)


def conclusion(summary: Data, folder: Path) -> list[str]:
    settings, found, cells = summary["settings"], verdict.claims(summary), verdict.margin(summary)
    lines = wrapped(answer({NAMES[claim.study]: claim.side for claim in found}))
    if cells or any(claim.reason in (None, "interval") for claim in found):
        lines.append(COMPARED)
    for claim in found:
        lines += wrapped(_line(claim, settings["max_steps"]), "  ")
    if cells:
        lines += wrapped(_margin_line(cells), "  ")
    if any("[" in line for line in lines):
        lines.append(f"{count(settings['runs'], 'run')} per method; 95 % confidence intervals in brackets.")
    open_claims = {claim.study: claim.reason for claim in found if claim.reason and claim.command}
    if open_claims:
        lines.append(f"To settle {listed(list(open_claims))}:")
        lines.append(f"  {verdict.settling_command(settings, open_claims)}")
    return [*lines, f"Open {folder / 'report.html'} in a browser for figures and tables."]


def _line(claim: Claim, max_steps: int) -> str:
    name, does = claim.study.capitalize(), DOES[claim.study]
    match claim.reason:
        case "methods":
            needed = "random, RND" if claim.study == "coverage" else "RND"
            return f"{name}: no verdict, because the methods {needed} and action balance RND are needed."
        case "timeouts":
            late = count(claim.timed_out, "run")
            return f"{name}: no verdict, because {late} timed out after {count(max_steps, 'step')}."
        case "not above random":
            return f"{name}: no verdict, because at least one method does not end above random."
        case "few runs":
            return f"{name}: no verdict, because there are too few runs for an interval."
    paper = "" if claim.published is None else f"; paper: {'~' * (claim.study in ABOUT)}{claim.published:g}"
    text = with_interval(claim.estimate, ".2f", " times as fast")
    return f"{does} {text}{SIGNIFICANCE[claim.side]}{paper}"


def _margin_line(margin: Margin) -> str:
    paper = "" if margin.published is None else f"; paper: ~{margin.published:g}"
    text = with_interval(margin.estimate, "+.1f", f" of {margin.cells:,}")
    return f"cells covered at the end: {text}{SIGNIFICANCE[margin.side]}{paper}"
