"""The page of ``explore --out``: the methods on a user's own map; ``page.html`` has its text."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from action_balance.files import Data
from action_balance.printable import printable
from action_balance.studies.grid.player import result_data
from action_balance.studies.grid.settings import RunSettings
from action_balance.studies.settings_text import command_line
from action_balance.studies.statistics import difference_of_means, from_data, to_data
from action_balance.studies.verdict_text import SIGNIFICANCE
from action_balance.web.files import read_figures
from action_balance.web.format import Side, as_float, side
from action_balance.web.render import render


@dataclass(frozen=True)
class BestMethod:
    """The best method, and how far it is ahead of the second."""

    best: str
    second: str | None  # None for a single method
    estimate: Data  # the number of the best method
    difference: Data | None  # how much better it is than the second, with its interval
    side: Side  # of that interval, relative to 0: above if the lead over the second, and all others, is significant


def result_page(folder: Path, summary: Data) -> str:
    """The page of a result: the best methods, the player, coverage, goals, and how to reproduce it."""
    ours, settings = summary["ours"], summary["settings"]
    name = printable(str(summary.get("name") or folder.resolve().name))
    covered = lead({name: one["final_cells"] for name, one in ours["coverage"]["methods"].items()})
    reached = ours.get("first_reach")
    timed_out = sum(one["given_up"] for one in (reached or {}).values())
    return render(
        "studies/explore/page.html",
        result_data(folder, summary),
        name=name,
        settings=settings,
        versions=summary["versions"],
        drawing=summary["map"],
        command=command_line(
            f"action-balance explore {shlex.quote(f'{name}.txt')}",
            settings,
            json.loads(json.dumps(asdict(RunSettings()))),
            always=("runs", "seed"),
        ),
        coverage=ours["coverage"],
        compared=ours.get("compared", {"cells": None, "speed": None}),
        significance=SIGNIFICANCE,
        first_reach=reached,
        timed_out=timed_out,
        figures=read_figures(folder),
        covered=covered,
        quickest=min(reached, key=lambda method: as_float(reached[method]["median"])) if reached else None,
        soonest=lead({name: one["mean"] for name, one in reached.items()}, -1) if reached and not timed_out else None,
    )


def lead(estimates: Mapping[str, Data], sign: int = 1) -> BestMethod:
    """The method with the highest number, or with sign -1 the lowest."""
    known = {name: from_data(data) for name, data in estimates.items()}
    best, *others = sorted(known, key=lambda name: -sign * known[name].value)
    if not others:
        return BestMethod(best, None, estimates[best], None, "unknown")
    pairs = [(known[best], known[other]) if sign > 0 else (known[other], known[best]) for other in others]
    differences = [to_data(difference_of_means(*pair)) for pair in pairs]
    sides = {side(difference, 0) for difference in differences}
    least: Side = next(one for one in ("unknown", "around", "above") if one in sides)
    return BestMethod(best, others[0], estimates[best], differences[0], least)
