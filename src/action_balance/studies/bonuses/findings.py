"""What the numbers of the bonus study say: the answers that its page and the terminal put into sentences."""

from collections.abc import Collection

from action_balance.files import Data
from action_balance.studies.bonuses.analysis import CATEGORIES, COEFS, COUNTS, NEXT_STATE, ORDERS, PARTS, category
from action_balance.studies.bonuses.records import PAIRS
from action_balance.studies.bonuses.settings import EXACT, SEAS, BonusesSettings, Setup
from action_balance.web.format import as_float


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
    """The worlds in which each setup is better than its base, not significantly different, or worse, by part."""
    found: Data = {}
    for part in PARTS:
        rows: Data = {}
        for world, sides in ours["verdict"][part].items():
            for where, names in sides.items():
                for name in names:
                    empty: Data = {one: [] for one in sides}
                    rows.setdefault(name, empty)[where].append(world)
        found[part] = dict(sorted(rows.items(), key=lambda row: Setup.of(row[0]).order))
    return found


def leaders(rows: Data, count: int = 3) -> list[Data]:
    """The setups that are better than their base in the most worlds, less those in which they are worse."""
    found: list[Data] = [
        {"name": name, "above": len(row["above"]), "below": len(row["below"]), "of": sum(map(len, row.values()))}
        for name, row in rows.items()
        if row["above"]
    ]
    return sorted(found, key=lambda one: (one["below"] - one["above"], -one["above"]))[:count]


def overview(ours: Data) -> Data:
    """How many agents solve each world with each next-state bonus: a row per setup, by world; and the best of a world
    that do not enumerate states."""
    worlds = {
        world: {name: one for name, one in about["setups"].items() if one["part"] == NEXT_STATE}
        for world, about in ours["worth"].items()
        if about["threshold"] is not None
    }
    names = sorted({name for setups in worlds.values() for name in setups}, key=lambda name: Setup.of(name).order)
    return {
        "worlds": {world: setups for world, setups in worlds.items() if setups},
        "names": names,
        "most": {
            world: max((one["solved"] for one in setups.values() if one["intrinsic"] != EXACT), default=0)
            for world, setups in worlds.items()
        },
    }


def seas(ours: Data) -> Data:
    """How many agents solve each deep sea within the episodes of bsuite, and the largest one that half of them or more
    do: a row per next-state bonus."""
    shown = overview({"worth": {world: about for world, about in ours["worth"].items() if world in SEAS}})
    rows: Data = {}
    for name in shown["names"]:
        solved = {world: setups[name]["in_time"] for world, setups in shown["worlds"].items() if name in setups}
        half = [SEAS[world] for world, count in solved.items() if 2 * count >= ours["worth"][world]["agents"]]
        rows[name] = {"solved": solved, "largest": max(half, default=None)}
    return {"worlds": sorted(shown["worlds"], key=SEAS.__getitem__), "rows": rows}


def missing(settings: BonusesSettings, ours: Data) -> dict[str, list[str]]:
    """The setups of a plan that have no agents yet, by world."""
    trained: Collection[tuple[str, str]] = {
        (world, name) for world, about in ours["worth"].items() for name in about["setups"]
    }
    found: dict[str, list[str]] = {}
    for one in settings.conditions():
        if (one.world, one.setup.name) not in trained:
            found.setdefault(one.world, []).append(one.setup.name)
    return found


def courses(ours: Data) -> Data:
    """The course of c where it is not constant, by world and setup, of those that compare coefficients."""
    found = {
        world: {name: one["course"] for name, one in about["setups"].items() if one["course"] and one["part"] == COEFS}
        for world, about in ours["worth"].items()
    }
    return {world: setups for world, setups in found.items() if setups}
