"""The numbers of the bonus study, from its records. Axes: R agents, C checkpoints, B bins of visits."""

from collections.abc import Mapping, Sequence

import numpy as np

from action_balance.config.algorithm import DEFAULT
from action_balance.config.methods import NONE
from action_balance.files import Data
from action_balance.studies import solving, statistics
from action_balance.studies.bonuses.records import PAIRS, BonusRecord, Comparison
from action_balance.studies.bonuses.settings import COEFFICIENTS, EPISODES, EXACT, RANDOM, SEAS, WORLDS, Setup
from action_balance.studies.counting import CALIBRATED, SMALLEST, mean_correlation
from action_balance.studies.records import grouped
from action_balance.studies.statistics import Estimate, to_data
from action_balance.studies.worlds import WorldRecords
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

#: The parts of the study that compare setups, and what is compared in each.
NEXT_STATE, ACTIONS, COEFS, Q_LEARNING = PARTS = ("next_state", "actions", "coefficients", "q_learning")


def numbers(records: Sequence[BonusRecord]) -> Data:
    found = grouped((one.world, one.setup.name, one) for one in records)
    worlds = {name: World(name, setups) for name, setups in found.items()}
    return {
        "counting": {name: found for name, world in worlds.items() if (found := counting_numbers(world))},
        "worth": {name: world_numbers(world) for name, world in worlds.items()},
    }


def part_of(setup: Setup) -> str:
    """The part of the study that a setup belongs to."""
    if setup.algorithm != DEFAULT:
        return Q_LEARNING
    if setup.action in (NONE, RANDOM):
        return NEXT_STATE
    return COEFS if setup.action in COEFFICIENTS else ACTIONS


def world_numbers(world: World) -> Data:
    about, any_one = WORLDS[world.name], world.any
    compared = [one.setup for name, one in world.records.items() if one.setup.base.name in {*world.records} - {name}]
    comparisons = {part: max(1, sum(part_of(one) == part for one in compared)) for part in PARTS}
    return {
        "title": about.title,
        "threshold": about.threshold,
        "agents": any_one.config.seeds,
        "steps": any_one.limit,
        "reachable": world.reachable if about.env.engine == "device" and about.env.spec.states else None,
        "comparisons": comparisons,
        "setups": {name: setup_numbers(world, name, comparisons) for name in world.records},
    }


def setup_numbers(world: World, name: str, comparisons: Mapping[str, int]) -> Data:
    record, about = world.records[name], WORLDS[world.name]
    setup, count = record.setup, comparisons[part_of(record.setup)]
    other = world.records.get(setup.base.name) if setup.base != setup else None
    found: Data = {
        "intrinsic": setup.intrinsic,
        "action": setup.action,
        "part": part_of(setup),
        "states": to_data(statistics.mean(record.states[:, -1].astype(float))),
        "kl": float(record.kl.mean()) if len(record.kl) else None,
        "coef": float(record.coef[-1]) if len(record.coef) else None,
        "course": _course(record) if len(record.coef) else None,
        "seconds": record.seconds,
        "faster": None,
        "more_states": None,
    }
    if about.threshold is None:
        more = world.more_states(name, setup.base.name, count) if other else None
        return found | {"more_states": to_data(more)}
    greedy = record.greedy[np.isfinite(record.greedy)]
    return found | {
        "solved": int(record.solved.sum()),
        "solved_share": to_data(statistics.share(record.solved)),
        "time": to_data(statistics.bootstrap_mean(record.time.astype(float))),
        "median": to_data(solving.median(record.solved_at, record.limit)),
        "faster": to_data(statistics.paired_ratio(other.time, record.time, comparisons=count)) if other else None,
        "in_time": _in_time(record),
        "found": int(record.found.sum()),
        "first": to_data(statistics.bootstrap_mean(record.found_steps.astype(float))),
        "sooner": to_data(world.sooner(name, setup.base.name)) if other else None,
        "area": to_data(statistics.mean(record.area.astype(float))),
        "greedy": int((greedy >= about.threshold).sum()) if len(greedy) else None,
        "curve": [float((record.solved & (record.solved_at <= steps)).mean()) for steps in record.steps],
        "steps": record.steps.tolist(),
    }


def _in_time(record: BonusRecord) -> int | None:
    """Agents that solve a deep sea within the episodes of bsuite."""
    if record.world not in SEAS:
        return None
    return int((record.solved & (record.solved_at <= EPISODES * SEAS[record.world])).sum())


def _course(record: BonusRecord) -> Data:
    """c and KL(beta || pi) at the first, the middle and the last point of the curves."""
    places = (0, (len(record.coef) - 1) // 2, -1)
    return {
        "steps": [int(record.steps[place]) for place in places],
        "coef": [float(record.coef[place]) for place in places],
        "kl": [float(record.kl[place]) for place in places],
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
        "steps": record.config.agent.steps_at(compared.updates).tolist(),
        "rank": [to_data(one) for one in ranks],
        "within": [to_data(one) for one in within],
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
            found.append({"visits": 2**place, "share": share, "ratio": to_data(ratio)})
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


def gain(setup: Data) -> str:
    """Whether a setup is better than its base: ``above``, ``below``, ``around`` (not significant) or ``unknown``."""
    return side(setup["faster"], 1) if setup["faster"] else side(setup["more_states"], 0)


def verdict(ours: Data) -> Data:
    """What the numbers support, by world: lists of names for sentences that the page and the terminal make."""
    found: Data = {"counting": {}, **{part: {} for part in PARTS}}
    for world, kinds in ours["counting"].items():
        found["counting"][world] = {
            kind: {
                place: [name for name, one in bonuses.items() if name != EXACT and category(one) == place]
                for place in CATEGORIES
            }
            for kind, bonuses in kinds.items()
        }
    for world, about in ours["worth"].items():
        for part in PARTS:
            sides: dict[str, list[str]] = {"above": [], "around": [], "below": [], "unknown": []}
            for name, one in about["setups"].items():
                if one["part"] == part and is_compared(one):
                    sides[gain(one)].append(name)
            if any(sides.values()):
                found[part][world] = sides
    return found


def is_compared(setup: Data) -> bool:
    """Whether a setup of the summary has been compared with its base."""
    return setup["faster"] is not None or setup["more_states"] is not None
