"""``reproduce atari``: train what is missing, and report whatever is there beside the paper's Table II."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.envs.atari.config import AtariConfig
from action_balance.envs.atari.games import ROOM_BYTE, SKIP, title, vector_class
from action_balance.errors import MAX, UserError
from action_balance.files import Data
from action_balance.plots.drawing import NAMES, thinned
from action_balance.runs import RunFolder
from action_balance.studies import campaign, statistics
from action_balance.studies.atari import KIND, analysis, figures, page
from action_balance.studies.atari.analysis import Cell, cells
from action_balance.studies.atari.settings import COMPARED, AtariSettings
from action_balance.studies.campaign import Report, Study
from action_balance.studies.checks import check_count
from action_balance.studies.paper import TABLE_2, TABLE_2_RUNS
from action_balance.studies.plan import method_name
from action_balance.studies.records import Record, read_evaluation
from action_balance.studies.run_job import no_more
from action_balance.studies.verdict_text import SIGNIFICANCE, Comparison, answer, with_interval, wrapped
from action_balance.web.format import count, side

#: The method that the others are compared with.
BASE = "rnd"


def reproduce_atari(
    settings: AtariSettings, out: Path, evaluate: int, wanted: campaign.Wanted, console: Console
) -> None:
    """Train the runs that the folder does not hold yet, and write the report."""
    check_count("--evaluate", evaluate, 0, AtariConfig.episodes_at_once or MAX)
    if evaluate and wanted.report_only:
        raise UserError("--report-only does not play games: leave out --evaluate or --report-only")
    after = partial(count_rooms, games=evaluate) if evaluate else no_more
    campaign.reproduce(STUDY, settings, out, wanted, console, after)


def _belongs(config: TrainConfig) -> bool:
    return isinstance(config.env, AtariConfig) and method_name(config.agent) in COMPARED


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


def _report(records: Sequence[Record]) -> Report:
    found = cells(records)
    return Report(
        groups=[cell.runs for cell in found],
        ours={"games": _numbers(found), "rooms": _rooms(found)},
        tables={
            "final_returns.csv": (FINAL_COLUMNS, [_final_row(cell) for cell in found]),
            "learning_curves.csv": (CURVE_COLUMNS, (row for cell in found for row in _curve_rows(cell))),
        },
        figures={"learning_curves": figures.learning_curves(found)},
        page=page.atari_page,
        paper={"table_2": TABLE_2, "runs": TABLE_2_RUNS},
    )


FINAL_COLUMNS = (
    *("game", "method", "paper", "mean", "low", "high", "unfinished_mean"),
    *("finished_runs", "runs", "fewest_episodes"),
)
CURVE_COLUMNS = ("game", "method", "steps", "frames", "mean", "low", "high", "runs")


def _final_row(cell: Cell) -> tuple[object, ...]:
    """Final returns beside the paper's."""
    values = statistics.rounded(*(cell.final.parts if cell.final else (np.nan,) * 3), cell.so_far)
    published = TABLE_2.get(cell.game, {}).get(cell.method, np.nan)
    counts = len(cell.finished), len(cell.runs), cell.fewest_episodes or 0
    return (cell.game, cell.method, published, *values, *counts)


def _curve_rows(cell: Cell) -> Iterator[tuple[object, ...]]:
    curve = cell.curve
    for place in thinned(len(curve.steps)):
        steps = int(curve.steps[place])
        values = statistics.rounded(*(part[place] for part in (curve.mean, curve.low, curve.high)))
        yield (cell.game, cell.method, steps, SKIP * steps, *values, len(cell.finished or cell.runs))


def _numbers(found: Sequence[Cell]) -> Data:
    """Final returns by game and method, and how much more the others have than `BASE`."""
    games: dict[str, Data] = {}
    for cell in found:
        verdict = cell.agreement()
        numbers = games.setdefault(cell.game, {"methods": {}, "more": {}})
        numbers["methods"][cell.method] = {
            "paper": TABLE_2.get(cell.game, {}).get(cell.method),
            "final": statistics.to_data(cell.final),
            "finished": len(cell.finished),
            "runs": len(cell.runs),
            "so_far": statistics.number(cell.so_far),
            "so_far_steps": cell.so_far_steps,
            "fewest_episodes": cell.fewest_episodes,
            "agrees": None if verdict is None else verdict.agrees,
        }
        base = next((one for one in found if (one.game, one.method) == (cell.game, BASE)), None)
        if base is not None and cell.method != BASE:
            numbers["more"][cell.method] = statistics.to_data(analysis.difference(cell, base))
    return games


def _rooms(found: Sequence[Cell]) -> list[Data]:
    """Rooms per game, by game, method and action mode, of runs that were evaluated after their last update."""
    rows = []
    for cell in found:
        by_mode: dict[str, list[int]] = {}
        evaluated = 0
        for run in cell.runs:
            evaluation = read_evaluation(run.path)
            if evaluation is None or evaluation.update != len(run.steps) or not evaluation.rooms:
                continue
            evaluated += 1
            for mode, counts in evaluation.rooms.items():
                by_mode.setdefault(mode, []).extend(counts)
        for mode, counts in by_mode.items():
            numbers = {"games": len(counts), "mean": float(np.mean(counts)), "most": max(counts)}
            rows.append({"game": cell.game, "method": cell.method, "mode": mode, "runs": evaluated, **numbers})
    return rows


def _conclude(summary: Data) -> Iterator[str]:
    games = summary["ours"]["games"]
    others = [name for name in COMPARED if any(name in numbers["more"] for numbers in games.values())]
    for name in others:
        more = {title(game): numbers["more"].get(name) for game, numbers in games.items() if name in numbers["more"]}
        words = Comparison(
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


STUDY = Study(KIND, _belongs, _report, _conclude, vector_class)
