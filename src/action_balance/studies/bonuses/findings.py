"""What the numbers of the bonus study say: the answers that its page and the terminal put into sentences."""

from collections.abc import Callable, Collection

from action_balance.config.methods import NONE
from action_balance.files import Data
from action_balance.studies.bonuses.analysis import CATEGORIES, COUNTS, ORDERS, category, is_action, is_next_state
from action_balance.studies.bonuses.records import PAIRS, STATES
from action_balance.studies.bonuses.settings import (
    BASE,
    BASELINES,
    CONSTANT,
    EXACT,
    MATRIX_WORLD,
    RANDOM,
    BonusesSettings,
    Condition,
    Setup,
)
from action_balance.web.format import as_float

#: The world of the headline: the first of these that has agents.
HEADLINE = ("deep-sea-14", "deep-sea-10")

#: The bonus of the headline, whatever its results: it counts without enumerating states, with the
#: same settings in all worlds.
NAMED = "hash"

#: The comparisons of setups with RND in the verdict.
COMPARED = ("next_state", "actions")


def highlights(ours: Data) -> Data:
    """The answer of `NAMED` to each of the three questions; None where no bonus without enumeration has one.

    Where `NAMED` has no agents, it is the best answer. ``of`` is the number of bonuses that it was chosen from.
    """
    worlds, counting = ours["worth"], ours["counting"]
    found: Data = {"counter": None, "next_state": None, "action": None}
    world = next((name for name, kinds in counting.items() if kinds.get(STATES, {}).keys() - {EXACT}), None)
    if world is not None:
        bonuses = {name: one for name, one in counting[world][STATES].items() if name != EXACT}
        found["counter"] = _best(bonuses, NAMED, world, lambda one: (one["counts"], as_float(one["rank"][-1]["value"])))
    world = next((name for name in HEADLINE if name in worlds), None)
    others = {NONE, BASE, EXACT, RANDOM, *BASELINES, *CONSTANT}
    if world is not None:
        setups = worlds[world]["setups"]
        chosen = {name: one for name, one in setups.items() if is_next_state(one) and one["intrinsic"] not in others}
        found["next_state"] = _best(chosen, NAMED, world, lambda one: (one["solved"], one["found"]))
    if MATRIX_WORLD in worlds and BASE in worlds[MATRIX_WORLD]["setups"]:
        setups = worlds[MATRIX_WORLD]["setups"]
        chosen = {name: one for name, one in setups.items() if is_action(one) and one["action"] not in others}
        named = Setup(BASE, NAMED).name
        found["action"] = _best(chosen, named, MATRIX_WORLD, lambda one: (as_float(one["sooner"]["value"]), 0))
    return found


def _best(found: Data, named: str, world: str, value: Callable[[Data], tuple[float, float]]) -> Data | None:
    """The one that is named, or else the best; None without any."""
    if named in found:
        return {"world": world, "name": named, "of": 1, **found[named]}
    if not found:
        return None
    name = max(found, key=lambda one: value(found[one]))
    return {"world": world, "name": name, "of": len(found), **found[name]}


def counters(ours: Data) -> Data:
    """Which bonuses count accurately without enumerating states, and which only have the order of the counts."""
    judged: dict[str, dict[str, str]] = {}
    for world, kinds in ours["counting"].items():
        for bonuses in kinds.values():
            for name, one in bonuses.items():
                if name != EXACT:
                    worlds = judged.setdefault(name, {})
                    # The least of both, where it is compared with states and with pairs.
                    worlds[world] = max(worlds.get(world, COUNTS), category(one), key=CATEGORIES.index)

    def where(place: str) -> dict[str, list[str]]:
        found = {name: [world for world, said in worlds.items() if said == place] for name, worlds in judged.items()}
        return {name: worlds for name, worlds in found.items() if worlds}

    counts, orders = where(COUNTS), where(ORDERS)
    return {
        "counts": counts,
        "orders": orders,
        "nowhere": [name for name in judged if name not in {*counts, *orders}],
        "nobody": [world for world in ours["counting"] if not any(world in worlds for worlds in counts.values())],
    }


def best_within(ours: Data) -> Data | None:
    """The best rank correlation among the actions of one state of those that do not count accurately anywhere."""
    accurate = counters(ours)["counts"]
    found = [
        {"world": world, "name": name, **one["within"][-1]}
        for world, kinds in ours["counting"].items()
        for name, one in kinds.get(PAIRS, {}).items()
        if name not in (*accurate, EXACT) and one["within"][-1]["value"] is not None
    ]
    return max(found, key=lambda one: as_float(one["value"]), default=None)


def effects(ours: Data) -> Data:
    """The worlds in which each setup is better than RND alone, not significantly different, or worse."""
    found: Data = {}
    for part in COMPARED:
        rows: Data = {}
        for world, sides in ours["verdict"][part].items():
            for where, names in sides.items():
                for name in names:
                    empty: Data = {one: [] for one in sides}
                    rows.setdefault(name, empty)[where].append(world)
        found[part] = dict(sorted(rows.items(), key=lambda row: Setup.of(row[0]).order))
    return found


def failures(compared: Data) -> Data:
    """The setups that are not simply better than RND, in groups of which one thing can be said."""
    found: Data = {"never": {}, "mixed": {}, "same": [], "unknown": []}
    for name, row in (item for part in COMPARED for item in compared[part].items()):
        if row["below"]:
            found["mixed" if row["above"] else "never"][name] = row["below"]
        elif not row["above"]:
            found["same" if row["around"] else "unknown"].append(name)
    return found


def missing(settings: BonusesSettings, ours: Data) -> dict[str, list[str]]:
    """The setups of a plan that have no agents yet, by world."""
    found: dict[str, list[str]] = {}
    for one in _missing(settings, ours):
        found.setdefault(one.world, []).append(one.setup.name)
    return found


def missing_actions(settings: BonusesSettings, ours: Data) -> dict[str, list[str]]:
    """The action bonuses on top of RND that have no agents yet in a world in which others have, by world."""
    found: dict[str, list[str]] = {}
    for one in _missing(settings, ours):
        if one.setup.intrinsic == BASE and one.setup.action != NONE and one.world in ours["verdict"]["actions"]:
            found.setdefault(one.world, []).append(one.setup.action)
    return found


def missing_matrix(settings: BonusesSettings, ours: Data) -> list[str]:
    """The combinations of a next-state bonus other than RND and an action bonus that have no agents yet."""
    return [
        one.setup.name
        for one in _missing(settings, ours)
        if one.setup.intrinsic != BASE and one.setup.action not in (NONE, RANDOM)
    ]


def _missing(settings: BonusesSettings, ours: Data) -> list[Condition]:
    trained: Collection[tuple[str, str]] = {
        (world, name) for world, about in ours["worth"].items() for name in about["setups"]
    }
    return [one for one in settings.conditions() if (one.world, one.setup.name) not in trained]


def balanced_best(ours: Data, compared: Data) -> tuple[str, Data] | None:
    """The action bonus of the headline on top of RND, and what it does in all worlds."""
    best = highlights(ours)["action"]
    if best is None:
        return None
    name = Setup(BASE, best["action"]).name
    return name, compared["actions"][name]


def courses(ours: Data, setup: str) -> Data:
    """The course of the adaptive coefficient of a setup, by world."""
    setups = {world: about["setups"].get(setup) for world, about in ours["worth"].items()}
    return {world: one["course"] for world, one in setups.items() if one is not None and one["course"]}
