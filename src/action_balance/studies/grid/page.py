"""The page of ``reproduce grid``, from ``summary.json``, the tables and the figures; ``page.html`` has its text."""

import math
from dataclasses import asdict
from pathlib import Path

from action_balance.envs.grid.maps import corridor_world
from action_balance.files import Data
from action_balance.studies.grid import verdict
from action_balance.studies.grid.player import result_data
from action_balance.studies.grid.settings import STUDIES
from action_balance.studies.grid.verdict import BASE, HERO
from action_balance.studies.page import study_page
from action_balance.studies.statistics import difference_of_means, from_data, to_data
from action_balance.web.format import as_float, ends, side


def result_page(folder: Path, summary: Data) -> str:
    """The page of a result: the verdict, players, a section for each study, and how to reproduce it."""
    ours, data = summary["ours"], result_data(folder, summary)
    world = corridor_world()
    return study_page(
        "grid",
        folder,
        summary,
        data,
        summary=summary,
        settings=summary["settings"],
        studies=STUDIES,
        hero=HERO,
        base=BASE,
        headlines=headlines(summary),
        margin=verdict.margin(summary),
        chance=_chance(ours["goals"]) if "goals" in ours else None,
        one_sided=_one_sided(ours["corridor"]["methods"]) if "corridor" in ours else None,
        slower_than_random=_slower_than_random(ours["corridor"]["methods"]) if "corridor" in ours else False,
        room=world.height,
        corridor=world.width - 2 * world.height,
        command=verdict.reproduce_command(summary["settings"], list(ours)),
    )


def headlines(summary: Data) -> Data:
    """For each study of a result: its headline number, the paper's, whether it can be relied on, and its drawing."""
    found: Data = {claim.study: asdict(claim) for claim in verdict.claims(summary)}
    known = [end for one in found.values() for end in (*ends(one["estimate"]), as_float(one["published"]))]
    inside = [min(max(end, 1 / 16), 16) for end in known if not math.isnan(end)]
    span = min(0.7, *inside, 1) / 1.1, max(1.8, *inside, 1) * 1.1
    for one in found.values():
        one["ruler"] = _ruler(one["estimate"], one["published"], *span)
    return found


def _ruler(estimate: Data | None, published: float | None, least: float, most: float) -> Data | None:
    """Where things are on a logarithmic ruler from 6 to 254; None without a number."""
    value, low, high = ends(estimate)
    if math.isnan(value):
        return None

    def place(number: float) -> float | None:
        inside = min(max(number, least), most)
        return None if math.isnan(number) else round(6 + 248 * math.log(inside / least) / math.log(most / least), 1)

    powers = [power for power in range(-4, 5) if least <= 2.0**power <= most]
    ticks = [2.0**power for power in powers if len(powers) < 6 or power % 2 == 0]
    return {
        "ticks": {f"{tick:g}": place(tick) for tick in ticks},
        "one": place(1),
        "value": place(value),
        "low": None if math.isnan(low + high) else place(low),
        "high": place(high),
        "published": place(as_float(published)),
    }


def _chance(goals: Data) -> float | None:
    """The probability that chance alone makes as many goals or more differ from Table I; None without a comparison."""
    compared, missed = goals["compared"], goals["compared"] - goals["agreeing"]
    if not compared or verdict.timed_out(goals):
        return None
    return sum(math.comb(compared, k) * 0.05**k * 0.95 ** (compared - k) for k in range(missed, compared + 1))


def _one_sided(methods: Data) -> str | None:
    """The method that is significantly more one-sided than the other, or why there is none."""
    if not {BASE, HERO} <= methods.keys() or None in (
        known := [methods[name]["one_sidedness"] for name in (BASE, HERO)]
    ):
        return None
    match side(to_data(difference_of_means(*map(from_data, known))), 0):
        case "above":
            return BASE
        case "below":
            return HERO
        case unclear:
            return unclear


def _slower_than_random(methods: Data) -> bool:
    """Whether RND needs significantly more steps to the treasure than random; all runs of both have to find it."""
    if not {BASE, HERO, "random"} <= methods.keys() or any(methods[name]["treasure"]["given_up"] for name in methods):
        return False
    means = [from_data(methods[name]["treasure"]["mean"]) for name in (BASE, "random")]
    return side(to_data(difference_of_means(*means)), 0) == "above"
