"""What a result of the grid study shows, from its ``summary.json`` alone, and its words in the terminal.

Each part of the study makes one claim: RND needs more steps than action balance RND. Its estimate is the ratio of the
two numbers of steps, so that action balance RND is faster where the 95 % interval lies above 1.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from action_balance.errors import MAX
from action_balance.files import Data
from action_balance.studies.grid.settings import STUDIES, GridSettings
from action_balance.studies.settings_text import command_line
from action_balance.studies.verdict_text import COMPARED, SIGNIFICANCE, answer, with_interval, wrapped
from action_balance.tabular.settings import METHODS
from action_balance.web.format import Side, as_float, count, listed, side

#: The method that is compared, and the one that it is compared with.
HERO, BASE = "action-balance-rnd", "rnd"

#: The key of the estimate among the numbers of each part.
KEYS = {"coverage": "times_sooner", "goals": "ratio", "corridor": "ratio"}

#: What action balance RND does faster or more slowly than RND, in the terms of each part.
DOES = {"coverage": "overtakes random", "goals": "reaches goals", "corridor": "finds the treasure"}

#: The parts as an adjective.
NAMES = {"coverage": "coverage", "goals": "goal", "corridor": "corridor"}

#: The paper's numbers that it gives as "about".
ABOUT = ("coverage",)

#: Why a claim is not settled: a method is missing, runs timed out, there are too few runs for an interval, a method
#: does not end above random, or the interval contains 1.
Reason = Literal["methods", "timeouts", "few runs", "not above random", "interval"]


@dataclass(frozen=True)
class Claim:
    """What one part shows about the steps that RND needs, relative to those of action balance RND."""

    study: str  # name of the part
    estimate: Data | None  # the ratio with its interval, as in the summary; None if it is not defined
    published: float | None  # the paper's ratio; None if it has none, or if the settings differ from the paper's
    timed_out: int  # runs that timed out; if there are any, the ratio is not reliable and `side` is unknown
    side: Side  # where the interval lies: above 1 (action balance RND is faster), below, around, or unknown
    reason: Reason | None  # why the claim is not settled; None if it is
    command: str | None  # that would settle it; None if it is settled, or if more runs are unlikely to settle it


@dataclass(frozen=True)
class Margin:
    """How many more cells action balance RND covers in the end than RND."""

    estimate: Data  # with its interval
    published: float | None  # None if the settings differ from the paper's
    cells: int  # that can be covered
    side: Side  # where the interval lies, relative to 0


def claims(summary: Data) -> tuple[Claim, ...]:
    """The claims of the parts that a result has, in the order in which they run."""
    return tuple(_claim(study, summary) for study in STUDIES if study in summary["ours"])


def margin(summary: Data) -> Margin | None:
    """The difference in coverage at the end; None without the part ``coverage`` or without both methods."""
    numbers = summary["ours"].get("coverage", {})
    estimate = numbers.get("more_cells")
    if estimate is None:
        return None
    published = _published("coverage", "more_cells", summary)
    return Margin(estimate, published, numbers["reachable_cells"], side(estimate, 0))


def timed_out(numbers: Data) -> int:
    """Number of runs that timed out in a part, from its numbers in the summary."""
    cells = [
        cell for method in numbers["methods"].values() for cell in (*method.get("goals", ()), method.get("treasure"))
    ]
    return sum(cell["given_up"] for cell in cells if cell)


def reproduce_command(settings: Data, studies: Sequence[str]) -> str:
    """The command with these settings and parts: with the number of runs, the seed, and all that is not the default."""
    defaults = json.loads(json.dumps(asdict(GridSettings())))
    chosen = {**settings, "studies": [study for study in STUDIES if study in studies]}
    return command_line("action-balance reproduce grid", chosen, defaults, always=("runs", "seed"))


def settling_command(settings: Data, reasons: dict[str, Reason]) -> str:
    """The command that would settle claims: with ten times the runs or steps, or with all methods.

    Ten times the runs make an interval about a third as wide; fewer than the default are never proposed.
    """
    changed, folder = dict(settings), ["results/grid"]
    found = set(reasons.values())
    if found & {"few runs", "not above random", "interval"}:
        changed["runs"] = min(max(10 * settings["runs"], GridSettings.runs), MAX)
        folder.append(f"{changed['runs']}-runs")
    if "timeouts" in found:
        changed["max_steps"] = min(10 * settings["max_steps"], MAX)
        folder.append(f"{changed['max_steps']}-steps")
    if "methods" in found:
        changed["methods"] = list(METHODS)
        folder.append("all-methods")
    return f"{reproduce_command(changed, list(reasons))} --out {'-'.join(folder)}"


def _claim(study: str, summary: Data) -> Claim:
    numbers, settings = summary["ours"][study], summary["settings"]
    estimate, late = numbers[KEYS[study]], timed_out(numbers)
    reason = _reason(study, estimate, late, settings["methods"])
    # Enough runs that end below random show that the method does, rather than that there are too few of them.
    final = reason is None or (reason == "not above random" and settings["runs"] >= GridSettings.runs)
    return Claim(
        study=study,
        estimate=estimate,
        published=_published(study, KEYS[study], summary),
        timed_out=late,
        side="unknown" if late else side(estimate, 1),
        reason=reason,
        command=None if final or reason is None else settling_command(settings, {study: reason}),
    )


def _reason(study: str, estimate: Data | None, late: int, methods: Sequence[str]) -> Reason | None:
    needed = {BASE, HERO, "random"} if study == "coverage" else {BASE, HERO}
    if not needed <= set(methods):
        return "methods"
    if late:
        return "timeouts"
    if estimate is None:
        return "not above random"
    found = side(estimate, 1)
    return "few runs" if found == "unknown" else "interval" if found == "around" else None


def _published(study: str, key: str, summary: Data) -> float | None:
    """The paper's number, where it is comparable with ours."""
    value = (summary["paper"][study] or {}).get(key) if summary["as_in_paper"] else None
    return None if value is None else as_float(value)


def conclusion(summary: Data, folder: Path) -> list[str]:
    settings, found, cells = summary["settings"], claims(summary), margin(summary)
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
        lines.append(f"  {settling_command(settings, open_claims)}")
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
