"""``reproduce atari``: train what is missing, and tell of whatever is there beside the paper's Table II."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.envs.atari.emulator import SKIP
from action_balance.envs.atari.replay import ROOM_BYTE
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.runs.study_results import StudyFolder
from action_balance.studies import campaign_page as runs_page
from action_balance.studies import campaign_screen as campaign
from action_balance.studies.atari import KIND
from action_balance.studies.atari import analysis as atari
from action_balance.studies.atari.analysis import COMPARED, TABLE_2, TABLE_2_RUNS, AtariSettings, Cell, cells, title
from action_balance.studies.grid.settings import check_count
from action_balance.studies.grid.summary import Data, describe_estimate, estimate, number
from action_balance.studies.records import Record, common_settings, method_name, read_evaluation

#: What the other methods are compared with.
BASE = "rnd"


def reproduce_atari(
    settings: AtariSettings, out: Path, evaluate: int, report_only: bool, overwrite: bool, console: Console
) -> None:
    """Run what the folder does not have yet.

    Args:
        settings: of the study.
        out: its folder.
        evaluate: games that each finished run plays in which rooms can be counted; 0 for none.
        report_only: train nothing, only write the report.
        overwrite: delete what is there and begin anew.
        console: the screen.
    """
    check_count("--evaluate", evaluate, 0)
    if evaluate and report_only:
        raise UserError("--report-only plays no games: leave out --evaluate, or --report-only")

    def write(folder: StudyFolder, records: list[Record], notes: list[str]) -> None:
        asked = runs_page.planned(settings, folder.before, records) if report_only else settings
        _write(folder, records, notes, asked)

    def count_rooms(path: Path, config: TrainConfig) -> bool:
        return bool(evaluate) and _count_rooms(path, config, evaluate, console)

    campaign.reproduce(KIND, settings.plan, belongs, out, report_only, overwrite, console, write, count_rooms)
    _conclude(StudyFolder.read(out), console)


def belongs(config: TrainConfig) -> bool:
    """Whether a run is of one of the methods that are compared."""
    return method_name(config.agent) in COMPARED


def _count_rooms(path: Path, config: TrainConfig, games: int, console: Console) -> bool:
    """Have a finished run play, if its rooms can be counted and were not in so many games of its last update.

    A copy without checkpoints cannot play.
    """
    from action_balance.studies.evaluation.run import evaluate

    if config.env.game not in ROOM_BYTE:
        return False
    there = read_evaluation(path)
    if there is not None and there.update == config.agent.updates and there.games >= games:
        return False
    if config.agent.updates not in RunFolder.open(path).checkpoints().updates():
        return False
    evaluate(path, games, "latest", 0, console)
    return True


def _write(folder: StudyFolder, records: list[Record], notes: list[str], settings: AtariSettings) -> None:
    """Tables, figures and page of the runs that are there."""
    from action_balance.plots import drawing
    from action_balance.studies.atari import figures as atari_figures
    from action_balance.studies.atari import page as atari_page

    common = common_settings(records)
    # a report alone is not asked for with the settings of its runs
    settings = replace(settings, training=settings.training.as_made(records[0].config.agent))
    found = cells(records)
    runs = [runs_page.run_data(run) for cell in found for run in cell.runs]
    finished = [len(cell.finished) for cell in found]
    folder.summary |= {
        "settings": common,
        "asked": runs_page.asked_for(settings),
        **runs_page.command(KIND, settings, AtariSettings(), records),
        "paper": {"table_2": TABLE_2, "runs": TABLE_2_RUNS},
        "deviations": runs_page.deviations(records, finished, TABLE_2_RUNS),
        "notes": notes,
        "runs": runs,
        "ours": {"games": _numbers(found), "rooms": _rooms(found)},
    }
    folder.write_csv("runs.csv", runs_page.RUN_COLUMNS, runs_page.run_rows(runs))
    _write_tables(folder, found)
    drawing.save(atari_figures.learning_curves(found), folder.figures, "learning_curves")
    folder.write("report.html", atari_page.atari_page(folder.path, folder.summary).encode())
    folder.save()


def _write_tables(folder: StudyFolder, found: Sequence[Cell]) -> None:
    """Final returns beside the paper's, and the learning curves."""
    from action_balance.studies.atari.figures import thinned

    finals = []
    for cell in found:
        final = cell.final
        value = (final.value, final.low, final.high) if final else (np.nan,) * 3
        published = TABLE_2.get(cell.game, {}).get(cell.method, np.nan)
        counts = len(cell.finished), len(cell.runs), cell.fewest_episodes or 0
        finals.append((cell.game, cell.method, published, *_rounded(*value, cell.so_far), *counts))
    counted = ("finished_runs", "runs", "fewest_episodes")
    columns = ("game", "method", "paper", "mean", "low", "high", "unfinished_mean", *counted)
    folder.write_csv("final_returns.csv", columns, finals)
    rows = []
    for cell in found:
        curve = cell.curve
        for place in thinned(len(curve.steps)):
            steps = int(curve.steps[place])
            values = _rounded(*(part[place] for part in (curve.mean, curve.low, curve.high)))
            rows.append((cell.game, cell.method, steps, SKIP * steps, *values, len(cell.finished or cell.runs)))
    header = ("game", "method", "steps", "frames", "mean", "low", "high", "runs")
    folder.write_csv("learning_curves.csv", header, rows)


def _rounded(*values: float) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


def _numbers(found: Sequence[Cell]) -> Data:
    """Final returns by game and method, and how much more the others have than `BASE`."""
    games: dict[str, Data] = {}
    for cell in found:
        verdict = cell.agreement()
        numbers = games.setdefault(cell.game, {"methods": {}, "more": {}})
        numbers["methods"][cell.method] = {
            "paper": TABLE_2.get(cell.game, {}).get(cell.method),
            "final": estimate(cell.final),
            "finished": len(cell.finished),
            "runs": len(cell.runs),
            "so_far": number(cell.so_far),
            "so_far_steps": cell.so_far_steps,
            "fewest_episodes": cell.fewest_episodes,
            "agrees": None if verdict is None else verdict.agrees,
        }
        base = next((one for one in found if (one.game, one.method) == (cell.game, BASE)), None)
        if base is not None and cell.method != BASE:
            numbers["more"][cell.method] = estimate(atari.difference(cell, base))
    return games


def _rooms(found: Sequence[Cell]) -> list[Data]:
    """Rooms in a game, by game, method and way of acting, of runs that were evaluated after their last update."""
    rows = []
    for cell in found:
        by_way: dict[str, list[int]] = {}
        evaluated = 0
        for run in cell.runs:
            evaluation = read_evaluation(run.path)
            if evaluation is None or evaluation.update != len(run.steps) or not evaluation.rooms:
                continue
            evaluated += 1
            for mode, counts in evaluation.rooms.items():
                by_way.setdefault(mode, []).extend(counts)
        for mode, counts in by_way.items():
            numbers = {"games": len(counts), "mean": float(np.mean(counts)), "most": max(counts)}
            rows.append({"game": cell.game, "method": cell.method, "way": mode, "runs": evaluated, **numbers})
    return rows


def _conclude(folder: StudyFolder, console: Console) -> None:
    """The last lines: where everything is, and the headline numbers."""
    lines = [f"open {folder.path / 'report.html'} in a browser"]
    for game, numbers in folder.summary["ours"]["games"].items():
        lines.append(f"{title(game)}:")
        for method, row in numbers["methods"].items():
            ours = describe_estimate(row["final"], 0)
            if ours is None:
                so_far = "no episode yet" if row["so_far"] is None else f"{row['so_far']:.0f}"
                steps = row["so_far_steps"] and " to ".join(f"{one:,}" for one in sorted(set(row["so_far_steps"])))
                ours = f"{so_far} after {steps} steps, not finished" if steps else so_far
            else:
                ours += f", {row['finished']} run{'s' * (row['finished'] != 1)}"
            published = "" if row["paper"] is None else f"; paper {row['paper']:g}"
            lines.append(f"  {method}: {ours}{published}")
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)
