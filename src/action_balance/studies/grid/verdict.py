"""What a result of the grid study shows, from its ``summary.json`` alone; terminal and page put it into words.

Each part of the study makes one claim: RND needs more steps than action balance RND. Its estimate is the ratio of the
two numbers of steps, so that action balance RND is faster where the 95 % interval lies above 1.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from action_balance.errors import MAX
from action_balance.files import Data
from action_balance.studies.grid.settings import STUDIES, GridSettings
from action_balance.studies.settings_text import command_line
from action_balance.tabular.settings import METHODS
from action_balance.web.format import Side, as_float, side

#: The method that is compared, and the one that it is compared with.
HERO, BASE = "action-balance-rnd", "rnd"

#: The key of the estimate among the numbers of each part.
KEYS = {"coverage": "times_sooner", "goals": "ratio", "corridor": "ratio"}

#: Why a claim is not settled: a method is missing, runs timed out, there are too few runs for an interval, a method
#: does not end above random, or the interval contains 1.
Reason = Literal["methods", "timeouts", "few runs", "not above random", "interval"]


@dataclass(frozen=True)
class Claim:
    """What one part shows about the steps that RND needs, relative to those of action balance RND."""

    study: str  # name of the part: coverage, goals or corridor
    estimate: Data | None  # the ratio with its interval, as in the summary; None if it is not defined
    published: float | None  # the paper's ratio; None if it has none, or if the settings differ from the paper's
    timed_out: int
    """Runs of this part that timed out. If there are any, the ratio is not reliable and `side` is unknown."""
    side: Side
    """Where the interval lies: above 1 (action balance RND is faster), below 1 (slower), around 1, or unknown."""
    reason: Reason | None  # why the claim is not settled; None if it is
    command: str | None
    """The command that would settle it; None if it is settled, or if more runs are unlikely to settle it."""

    @property
    def settled(self) -> bool:
        """Whether the difference is significant."""
        return self.reason is None


@dataclass(frozen=True)
class Margin:
    """How many more cells action balance RND covers in the end than RND."""

    estimate: Data  # the difference with its interval
    published: float | None  # the paper's difference; None if the settings differ from the paper's
    cells: int  # cells that can be covered
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
