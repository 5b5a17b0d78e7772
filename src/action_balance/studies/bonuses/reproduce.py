"""``reproduce bonuses``: agents with each setup in each world, compared with each other and with true counts."""

from collections.abc import Iterator, Sequence

from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.files import Data
from action_balance.studies import statistics
from action_balance.studies.bonuses import KIND, analysis, figures, findings, page
from action_balance.studies.bonuses.records import BonusRecord, comparing
from action_balance.studies.bonuses.settings import BASE, EXACT, WORLDS, BonusesSettings, Condition
from action_balance.studies.records import made_by
from action_balance.studies.runner import Findings, Study, fields_of
from action_balance.studies.settings_text import plain
from action_balance.terminal.console import say
from action_balance.web.format import as_float, listed


def _belongs(name: str, config: TrainConfig) -> bool:
    return Condition.of(name).is_known and config.env.engine == "device"


def _analyse(
    settings: BonusesSettings, records: Sequence[BonusRecord], notes: Sequence[str], before: Data | None
) -> Findings:
    del notes
    known = list(WORLDS)
    records = sorted(records, key=lambda one: (known.index(one.world), one.setup.order))
    ours = analysis.numbers(records)
    ours["verdict"] = analysis.verdict(ours)
    given = plain(settings)
    return Findings(
        summary={
            "settings": given if before is None else before.get("settings", given),
            "ours": ours,
            "made_by": made_by(records),
            "timings": {one.name: {"seconds": round(one.seconds, 3)} for one in records},
        },
        tables={
            "agents.csv": (AGENT_COLUMNS, _agent_rows(records)),
            "worth.csv": (WORTH_COLUMNS, _worth_rows(ours)),
            "counting.csv": (COUNTING_COLUMNS, _counting_rows(ours)),
        },
        figures=figures.draw_all(ours),
    )


AGENT_COLUMNS = ("world", "setup", "agent", "first_reward", "return", "states")


def _agent_rows(records: Sequence[BonusRecord]) -> Iterator[Sequence[object]]:
    for one in records:
        agents = zip(one.first_reward.tolist(), one.score.tolist(), one.states[:, -1].tolist(), strict=True)
        for agent, (first, score, states) in enumerate(agents):
            yield one.world, one.setup.name, agent, first if first >= 0 else "", round(score, 6), states


WORTH_COLUMNS = (
    *("world", "setup", "found", "solved", "agents", "sooner", "sooner_low", "sooner_high"),
    *("exact", "sooner_than_exact", "than_exact_low", "than_exact_high"),
    *("states", "states_low", "states_high", "kl", "coef"),
)


def _worth_rows(ours: Data) -> Iterator[Sequence[object]]:
    for world, about in ours["worth"].items():
        for name, one in about["setups"].items():
            sooner, than_exact, states = (fields_of(one[key]) for key in ("sooner", "sooner_than_exact", "states"))
            ends = (*sooner, one["exact"], *than_exact, *states)
            yield (
                world,
                name,
                one["found"],
                one["solved"],
                about["agents"],
                *ends,
                *(round(as_float(one[key]), 6) for key in ("kl", "coef")),
            )


COUNTING_COLUMNS = (
    "world",
    "of",
    "bonus",
    "steps",
    "rank",
    "rank_low",
    "rank_high",
    "within_states",
    "orders",
    "counts",
)


def _counting_rows(ours: Data) -> Iterator[Sequence[object]]:
    for world, kinds in ours["counting"].items():
        for kind, bonuses in kinds.items():
            for name, one in bonuses.items():
                for place, steps in enumerate(one["steps"]):
                    within = fields_of(one["within"][place])[0] if one["within"] else ""
                    yield world, kind, name, steps, *fields_of(one["rank"][place]), within, one["orders"], one["counts"]


def _chosen(one: Data) -> str:
    return f" ({one['name']} is the best of {one['of']})" if one["of"] > 1 else ""


def _conclude(summary: Data, console: Console) -> None:
    say(console, *conclusions(summary["ours"]))


def conclusions(ours: Data) -> Iterator[str]:
    """The verdict for the terminal, a few lines; the page has all numbers."""
    if ours["counting"]:
        counters = findings.counters(ours)
        for name, worlds in counters["counts"].items():
            yield f"{name} counts accurately in {listed(worlds)}"
        for name, worlds in counters["orders"].items():
            yield f"{name} ranks by the true counts, but does not count accurately, in {listed(worlds)}"
        if counters["nowhere"]:
            names = listed(counters["nowhere"])
            yield f"in no world accurate, or correctly ranked for both states and pairs: {names}"
        if counters["nobody"]:
            yield f"no bonus counts accurately without enumerating states in {listed(counters['nobody'])}"
    best = findings.highlights(ours)
    if (one := best["next_state"]) is not None:
        about = ours["worth"][one["world"]]
        setups = {name: about["setups"][name] for name in (one["name"], BASE, EXACT) if name in about["setups"]}
        solved = ", ".join(f"{name} {setup['found']} and {setup['solved']}" for name, setup in setups.items())
        solved += _chosen(one)
        yield f"{one['world']}, agents (of {about['agents']}) that find the treasure and that solve the world: {solved}"
    if (one := best["action"]) is not None:
        sooner = f"{statistics.describe(one['sooner'])} times as fast as {BASE}"
        if one["sooner_than_exact"]:
            sooner += f", and {statistics.describe(one['sooner_than_exact'])} times as fast as {one['exact']}"
        yield f"{one['world']}: {one['name']} is {sooner}{_chosen(one)}"
    for part, rows in findings.effects(ours).items():
        better = {name: row["above"] for name, row in rows.items() if row["above"]}
        what = "next-state bonuses" if part == "next_state" else "action bonuses"
        if rows:
            text = "; ".join(f"{name} in {listed(worlds)}" for name, worlds in better.items())
            yield f"{what} that are significantly better than {BASE}: {text or 'none'}"


STUDY = Study(
    kind=KIND,
    record=BonusRecord,
    belongs=_belongs,
    analyse=_analyse,
    page=page.result_page,
    conclude=_conclude,
    compact=True,
    measure=comparing,
)
