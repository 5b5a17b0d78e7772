"""``reproduce bonuses``: agents with each setup in each world, compared with each other and with true counts."""

from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.files import Data
from action_balance.studies import statistics
from action_balance.studies.bonuses import KIND, analysis, figures, findings, page
from action_balance.studies.bonuses.records import BonusRecord, measuring
from action_balance.studies.bonuses.settings import WORLDS, BonusesSettings, Condition
from action_balance.studies.records import made_by
from action_balance.studies.runner import Findings, Study, fields_of
from action_balance.studies.settings_text import plain
from action_balance.terminal.console import say
from action_balance.web.format import as_float, listed


def _belongs(name: str, config: TrainConfig) -> bool:
    return Condition.of(name).is_known and config.env == WORLDS[Condition.of(name).world].env


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


AGENT_COLUMNS = ("world", "setup", "agent", "solved_at", "first_reward", "area", "greedy_return", "states")


def _agent_rows(records: Sequence[BonusRecord]) -> Iterator[Sequence[object]]:
    for one in records:
        area, greedy = (values.astype(float).round(6) for values in (one.area, one.greedy))
        columns = one.solved_at, one.first_reward, area, greedy, one.states[:, -1]
        for agent, (solved, first, *means, states) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            times = ("" if steps < 0 else steps for steps in (solved, first))
            yield one.world, one.setup.name, agent, *times, *("" if np.isnan(mean) else mean for mean in means), states


#: Estimates of a setup, each with both ends of its interval; None where a world has no such number.
ESTIMATES = ("time", "median", "faster", "solved_share", "first", "sooner", "area", "states", "more_states")

WORTH_COLUMNS = (
    *("world", "setup", "agents", "steps", "solved", "greedy_solved", "found"),
    *(column for name in ESTIMATES for column in (name, f"{name}_low", f"{name}_high")),
    *("kl", "coef"),
)


def _worth_rows(ours: Data) -> Iterator[Sequence[object]]:
    for world, about in ours["worth"].items():
        for name, one in about["setups"].items():
            counts = (one.get(key, "") for key in ("solved", "greedy", "found"))
            estimates = (part for key in ESTIMATES for part in fields_of(one.get(key)))
            course = (round(as_float(one[key]), 6) for key in ("kl", "coef"))
            yield world, name, about["agents"], about["steps"], *counts, *estimates, *course


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
    overview = findings.overview(ours)
    for world, setups in overview["worlds"].items():
        solved = ", ".join(f"{name} {one['solved']}" for name, one in setups.items())
        yield f"{world}, agents of {ours['worth'][world]['agents']} that solve it: {solved}"
    for part, rows in findings.effects(ours).items():
        for side, word in (("above", "faster"), ("below", "slower")):
            found = {name: row[side] for name, row in rows.items() if row[side]}
            text = "; ".join(f"{name} in {listed(_with_ratios(ours, name, worlds))}" for name, worlds in found.items())
            if rows:
                yield f"{WHAT[part]}, significantly {word}: {text or 'none'}"


#: What the parts of the study compare.
WHAT = {
    analysis.NEXT_STATE: "next-state bonuses compared with RND",
    analysis.ACTIONS: "action bonuses compared with the next-state bonus alone",
    analysis.COEFS: "coefficients compared with the next-state bonus alone",
    analysis.Q_LEARNING: "PQN compared with PPO, and action bonuses with PQN and the next-state bonus alone",
}


def _with_ratios(ours: Data, name: str, worlds: Sequence[str]) -> list[str]:
    """Worlds with how many times as fast a setup is there."""
    found = ((world, ours["worth"][world]["setups"][name]["faster"]) for world in worlds)
    return [world if ratio is None else f"{world} ({statistics.describe(ratio)})" for world, ratio in found]


STUDY = Study(
    kind=KIND,
    record=BonusRecord,
    belongs=_belongs,
    analyse=_analyse,
    page=page.result_page,
    conclude=_conclude,
    compact=True,
    measure=measuring,
)
