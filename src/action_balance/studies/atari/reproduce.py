"""``reproduce atari``: train what is missing, and report whatever is there beside the paper's Table II."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.envs.atari.config import AtariConfig
from action_balance.envs.atari.games import ROOM_BYTE, SKIP, title
from action_balance.files import Data
from action_balance.plots.drawing import NAMES, thinned
from action_balance.runs import RunFolder
from action_balance.studies import statistics
from action_balance.studies.atari import KIND, analysis, campaign, figures, page
from action_balance.studies.atari.analysis import Condition, conditions
from action_balance.studies.atari.records import AtariRecord, read_evaluation
from action_balance.studies.atari.settings import COMPARED, AtariSettings
from action_balance.studies.atari.training import method_name, run_name
from action_balance.studies.paper import TABLE_2, TABLE_2_RUNS
from action_balance.studies.run_job import After
from action_balance.studies.runner import Findings, Study
from action_balance.studies.verdict_text import SIGNIFICANCE, ComparisonWords, answer, with_interval, wrapped
from action_balance.terminal.console import say
from action_balance.web.format import count, side

#: The method that the others are compared with.
BASE = "rnd"


def _belongs(name: str, config: TrainConfig) -> bool:
    is_run = config.seeds == 1 and name == run_name(config)
    return is_run and isinstance(config.env, AtariConfig) and method_name(config.agent) in COMPARED


def _after(settings: AtariSettings) -> After | None:
    return partial(count_rooms, games=settings.evaluate) if settings.evaluate else None


def count_rooms(path: Path, config: TrainConfig, console: Console, games: int) -> bool:
    """Evaluate a finished run, unless its rooms cannot be counted or were counted in enough games.

    A copy without checkpoints cannot play.
    """
    from action_balance.studies.evaluation.run import evaluate

    if config.env.short_name not in ROOM_BYTE:
        return False
    there = read_evaluation(path)
    if there is not None and there.update == config.agent.updates and there.games >= games:
        return False
    if config.agent.updates not in RunFolder.open(path).checkpoints().updates():
        return False
    evaluate(path, games, "latest", 0, False, console)
    return True


def _analyse(
    settings: AtariSettings, records: Sequence[AtariRecord], notes: Sequence[str], before: Data | None
) -> Findings:
    found = conditions(records)
    ours = {"games": _numbers(found), "rooms": _rooms(found)}
    tables = {
        "final_returns.csv": (FINAL_COLUMNS, [_final_row(one) for one in found]),
        "learning_curves.csv": (CURVE_COLUMNS, (row for one in found for row in _curve_rows(one))),
    }
    drawn, paper = {"learning_curves": figures.learning_curves(found)}, {"table_2": TABLE_2, "runs": TABLE_2_RUNS}
    return campaign.findings(KIND, settings, before, [one.runs for one in found], notes, ours, tables, drawn, paper)


FINAL_COLUMNS = (
    *("game", "method", "paper", "mean", "low", "high", "unfinished_mean"),
    *("finished_runs", "runs", "fewest_episodes"),
)
CURVE_COLUMNS = ("game", "method", "steps", "frames", "mean", "low", "high", "runs")


def _final_row(one: Condition) -> tuple[object, ...]:
    values = statistics.rounded(*(one.final.parts if one.final else (np.nan,) * 3), one.so_far)
    published = TABLE_2.get(one.game, {}).get(one.method, np.nan)
    counts = len(one.finished), len(one.runs), one.fewest_episodes or 0
    return (one.game, one.method, published, *values, *counts)


def _curve_rows(one: Condition) -> Iterator[tuple[object, ...]]:
    curve = one.curve
    for place in thinned(len(curve.steps)):
        steps = int(curve.steps[place])
        values = statistics.rounded(*(part[place] for part in (curve.mean, curve.low, curve.high)))
        yield (one.game, one.method, steps, SKIP * steps, *values, len(one.finished or one.runs))


def _numbers(found: Sequence[Condition]) -> Data:
    """Final returns by game and method, and how much more the others have than `BASE`."""
    games: dict[str, Data] = {}
    for one in found:
        verdict = one.agreement()
        numbers = games.setdefault(one.game, {"methods": {}, "more": {}})
        numbers["methods"][one.method] = {
            "paper": TABLE_2.get(one.game, {}).get(one.method),
            "final": statistics.to_data(one.final),
            "finished": len(one.finished),
            "runs": len(one.runs),
            "so_far": statistics.number(one.so_far),
            "so_far_steps": one.so_far_steps,
            "fewest_episodes": one.fewest_episodes,
            "agrees": None if verdict is None else verdict.agrees,
        }
        base = next((other for other in found if (other.game, other.method) == (one.game, BASE)), None)
        if base is not None and one.method != BASE:
            numbers["more"][one.method] = statistics.to_data(analysis.difference(one, base))
    return games


def _rooms(found: Sequence[Condition]) -> list[Data]:
    """Rooms per game, by game, method and action mode, of runs that were evaluated after their last update."""
    rows = []
    for one in found:
        by_mode: dict[str, list[int]] = {}
        evaluated = 0
        for run in one.runs:
            evaluation = read_evaluation(run.path)
            if evaluation is None or evaluation.update != len(run.steps) or not evaluation.rooms:
                continue
            evaluated += 1
            for mode, counts in evaluation.rooms.items():
                by_mode.setdefault(mode, []).extend(counts)
        for mode, counts in by_mode.items():
            numbers = {"games": len(counts), "mean": float(np.mean(counts)), "most": max(counts)}
            rows.append({"game": one.game, "method": one.method, "mode": mode, "runs": evaluated, **numbers})
    return rows


def _conclude(summary: Data, console: Console) -> None:
    say(console, *_conclusions(summary["ours"]["games"]))


def _conclusions(games: Data) -> Iterator[str]:
    others = [name for name in COMPARED if any(name in numbers["more"] for numbers in games.values())]
    for name in others:
        more = {title(game): numbers["more"].get(name) for game, numbers in games.items() if name in numbers["more"]}
        words = ComparisonWords(
            NAMES[name], NAMES[BASE], "scores more", "scores less", ("game", "games"), "the {place} {names}"
        )
        yield from wrapped(answer({game: side(found, 0) for game, found in more.items()}, words))
    for game, numbers in games.items():
        yield f"{title(game)}:"
        for method, row in numbers["methods"].items():
            yield from wrapped(f"{method}: {_final(row)}{_published(row)}{_against_base(numbers, method)}", "  ")


def _final(row: Data) -> str:
    """The final return of a method, or else the return so far."""
    ours = statistics.describe(row["final"], 0)
    if ours is not None:
        return f"{ours}, {count(row['finished'], 'run')}"
    so_far = "no episode yet" if row["so_far"] is None else f"{row['so_far']:.0f}"
    steps = row["so_far_steps"] and " to ".join(f"{one:,}" for one in sorted(set(row["so_far_steps"])))
    return f"{so_far} after {steps} steps, not finished" if steps else so_far


def _published(row: Data) -> str:
    return "" if row["paper"] is None else f"; paper {row['paper']:g}"


def _against_base(numbers: Data, method: str) -> str:
    """The difference from `BASE` and whether it is significant; empty where it is not known."""
    more = numbers["more"].get(method)
    return f"; {with_interval(more, '+,.0f')} relative to {BASE}{SIGNIFICANCE[side(more, 0)]}" if more else ""


STUDY = Study(
    kind=KIND,
    record=AtariRecord,
    belongs=_belongs,
    analyse=_analyse,
    page=page.atari_page,
    conclude=_conclude,
    unfinished=True,
    after=_after,
)
