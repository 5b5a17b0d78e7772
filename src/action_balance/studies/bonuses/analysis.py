"""The numbers of the bonus study, from its records. Axes: R agents, C checkpoints, B bins of visits."""

from collections.abc import Sequence

import numpy as np

from action_balance.config.methods import NONE
from action_balance.files import Data
from action_balance.studies import statistics
from action_balance.studies.bonuses.records import PAIRS, BonusRecord, Comparison
from action_balance.studies.bonuses.settings import (
    ACTIONS,
    BASE,
    EXACT,
    INTRINSICS,
    MATRIX_WORLD,
    WORLDS,
    Setup,
)
from action_balance.studies.counting import CALIBRATED, SMALLEST, mean_correlation
from action_balance.studies.records import grouped
from action_balance.studies.statistics import Estimate
from action_balance.studies.worlds import SOLVED, WorldRecords
from action_balance.web.format import as_float, side

#: A bonus orders by counts if its rank correlations reach the first. It counts accurately if it also estimates counts,
#: and estimate over truth stays within this factor in every bin. One without a scale can only order: scaled by the true
#: counts, its ratios show the shape of its curve and no more.
RANK, FACTOR = 0.9, 2.0

#: What a bonus does with counts: it estimates them accurately, it only has their order, or neither.
COUNTS, ORDERS, NEITHER = CATEGORIES = ("counts", "orders", "neither")

#: A bin of visits counts if it has at least this share of all states or pairs; single ones say little.
LEAST_SHARE = 0.01

#: Ratios beyond this factor are not shown in full: how far off they are says nothing more.
SHOWN = 1000


World = WorldRecords[BonusRecord]


def numbers(records: Sequence[BonusRecord]) -> Data:
    found = grouped((one.world, one.setup.name, one) for one in records)
    worlds = {name: World(name, setups) for name, setups in found.items()}
    return {
        "counting": {name: found for name, world in worlds.items() if (found := counting_numbers(world))},
        "worth": {name: world_numbers(world) for name, world in worlds.items()},
        "matrix": matrix_numbers(worlds[MATRIX_WORLD]) if MATRIX_WORLD in worlds else None,
    }


def world_numbers(world: World) -> Data:
    return {
        "title": WORLDS[world.name].title,
        "has_treasure": WORLDS[world.name].has_treasure,
        "agents": world.any.config.seeds,
        "steps": world.any.limit,
        "reachable": world.reachable,
        "setups": {name: setup_numbers(world, name) for name in world.records},
    }


def setup_numbers(world: World, name: str) -> Data:
    record = world.records[name]
    sooner = world.sooner if WORLDS[world.name].has_treasure else lambda *_: None
    solved = record.score > SOLVED
    exact = record.setup.exact.name
    return {
        "intrinsic": record.setup.intrinsic,
        "action": record.setup.action,
        "found": int(record.found.sum()),
        "solved": int(solved.sum()),
        "found_share": statistics.to_data(statistics.share(record.found)),
        "solved_share": statistics.to_data(statistics.share(solved)),
        "median_steps": record.median_steps,
        "states": statistics.to_data(statistics.mean(record.states[:, -1].astype(float))),
        "sooner": statistics.to_data(sooner(name, BASE)),
        "exact": exact,
        "sooner_than_exact": statistics.to_data(sooner(name, exact)) if name != exact else None,
        "more_states": statistics.to_data(world.more_states(name, BASE)),
        "kl": float(record.kl.mean()) if len(record.kl) else None,
        "coef": float(record.coef[-1]) if len(record.coef) else None,
        "course": _course(record) if len(record.coef) else None,
        "seconds": record.seconds,
    }


def _course(record: BonusRecord) -> Data:
    """c and KL(beta || pi) at the first, the middle and the last point of the curves."""
    places = (0, (len(record.coef) - 1) // 2, -1)
    return {
        "steps": [int(record.steps[place]) for place in places],
        "coef": [float(record.coef[place]) for place in places],
        "kl": [float(record.kl[place]) for place in places],
    }


def matrix_numbers(world: World) -> Data:
    """Every next-state bonus with every action bonus, in one world."""
    setups = [one for one in map(Setup.of, world.records) if one.action in ACTIONS]
    combined = {one.intrinsic for one in setups if one.action != NONE}
    return {
        "world": world.name,
        "intrinsics": [one for one in INTRINSICS if one in combined],
        "actions": [one for one in ACTIONS if any(setup.action == one for setup in setups)],
    }


def counting_numbers(world: World) -> Data:
    """Every bonus of a world that was compared with true counts, by what it counts."""
    found: Data = {}
    for record in world.records.values():
        bonus = record.setup.intrinsic if record.setup.action == NONE else record.setup.action
        for kind, compared in record.comparisons.items():
            # A next-state bonus of transitions is compared with pairs, but balances nothing.
            found.setdefault(kind, {})[bonus] = comparison_numbers(compared, record, bonus, kind)
    return found


def comparison_numbers(compared: Comparison, record: BonusRecord, bonus: str, kind: str) -> Data:
    ratios = bin_ratios(compared)
    ranks = [_correlation(column) for column in compared.rank.T]
    within = [_correlation(column) for column in compared.within.T] if kind == PAIRS else []
    orders = all(one.value >= RANK for one in [ranks[-1], *within[-1:]])
    judged = [one for one in ratios if one["share"] >= LEAST_SHARE]
    return {
        "setup": record.setup.name,
        "steps": (compared.updates * record.config.agent.steps_per_update).tolist(),
        "rank": [statistics.to_data(one) for one in ranks],
        "within": [statistics.to_data(one) for one in within],
        "lowest": statistics.number(float(np.nanmin(compared.rank[:, -1], initial=np.inf))),
        "calibrated": bonus in CALIBRATED,
        "ratio": ratios,
        "orders": orders,
        "counts": orders and bonus in CALIBRATED and all(map(_is_close, judged)),
    }


def _correlation(values: np.ndarray) -> Estimate:
    return mean_correlation(values).map(lambda part: round(part, 6))


def bin_ratios(compared: Comparison) -> list[Data]:
    """Estimate over truth at the last checkpoint by number of visits: geometric means over states or pairs, and then
    over the agents that have any with so many visits."""
    found = []
    total = compared.number[:, -1].sum()
    for place, (logs, number) in enumerate(zip(compared.ratio[:, -1].T, compared.number[:, -1].T, strict=True)):
        known = logs[np.isfinite(logs)].astype(float)
        if len(known):
            ratio = statistics.mean(known).map(lambda part: 2.0**part)
            share = float(number.sum() / total)
            found.append({"visits": 2**place, "share": share, "ratio": statistics.to_data(ratio)})
    return found


def _is_close(ratio: Data) -> bool:
    """Whether the estimate of a bin stays within `FACTOR` of the truth.

    Estimates below `SMALLEST` are recorded as `SMALLEST`, so that no underestimate of a count of 1 can be beyond the
    factor: there, only an overestimate is judged by its ratio, and an underestimate by the rank correlation alone.
    """
    value = as_float(ratio["ratio"]["value"])
    judged_below = SMALLEST / ratio["visits"] < 1 / FACTOR
    return value <= FACTOR and (value >= 1 / FACTOR or not judged_below)


def category(bonus: Data) -> str:
    return COUNTS if bonus["counts"] else ORDERS if bonus["orders"] else NEITHER


def gain(setup: Data, has_treasure: bool) -> str:
    """Whether a setup is better than RND: ``above``, ``below``, ``around`` (not significant) or ``unknown``."""
    return side(setup["sooner"], 1) if has_treasure else side(setup["more_states"], 0)


def verdict(ours: Data) -> Data:
    """What the numbers support, by world: lists of names for sentences that the page and the terminal make."""
    found: Data = {"counting": {}, "next_state": {}, "actions": {}}
    for world, kinds in ours["counting"].items():
        found["counting"][world] = {
            kind: {
                place: [name for name, one in bonuses.items() if name != EXACT and category(one) == place]
                for place in CATEGORIES
            }
            for kind, bonuses in kinds.items()
        }
    for world, about in ours["worth"].items():
        if BASE not in about["setups"]:
            continue
        for part, belongs in (("next_state", is_next_state), ("actions", is_action)):
            sides: dict[str, list[str]] = {"above": [], "around": [], "below": [], "unknown": []}
            for name, one in about["setups"].items():
                if belongs(one) and name != BASE:
                    sides[gain(one, about["has_treasure"])].append(name)
            if any(sides.values()):
                found[part][world] = sides
    return found


def is_next_state(setup: Data) -> bool:
    """Whether a setup of the summary is one of a next-state bonus alone."""
    return bool(setup["action"] == NONE)


def is_action(setup: Data) -> bool:
    """Whether a setup of the summary chooses actions in some way on top of RND."""
    return bool(setup["intrinsic"] == BASE and setup["action"] != NONE)
