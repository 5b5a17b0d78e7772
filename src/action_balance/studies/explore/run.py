"""``explore MAP``: the methods on a user's own map, as a table on the screen and, with ``--out``, as files."""

import time
from dataclasses import asdict
from math import isnan
from pathlib import Path

from rich.console import Console
from rich.table import Table

from action_balance.envs.grid.maps import draw_map, parse_map, read_map
from action_balance.envs.grid.world import GridWorld
from action_balance.errors import UserError
from action_balance.printable import printable
from action_balance.runs.results import ResultFolder
from action_balance.studies import statistics
from action_balance.studies.explore import KIND, analysis
from action_balance.studies.explore.analysis import Exploration
from action_balance.studies.grid.memory_needs import check_runs
from action_balance.studies.grid.settings import RunSettings
from action_balance.studies.statistics import Estimate
from action_balance.studies.verdict_text import COMPARED, SIGNIFICANCE, with_interval, wrapped
from action_balance.terminal.console import say
from action_balance.terminal.progress import progress_bar
from action_balance.web.format import side
from action_balance.web.render import as_bytes


def explore_map(map_file: Path, settings: RunSettings, out: Path | None, overwrite: bool, console: Console) -> None:
    """Run the methods on a map, print what they found and write it."""
    world = read_map(map_file, settings.episode_steps)
    check_runs(settings, world.cells, settings.coverage_steps, records=True, goals=int(world.goals.any()))
    if out is None:
        _run(world, settings, console)
        say(console, "Add --out DIR to write a page with maps, curves and tables.")
        return
    with ResultFolder.open(out, KIND, asdict(settings), overwrite, {"map": draw_map(world)}) as folder:
        if folder.summary["ours"]:
            raise UserError(f"{out} already contains this result: choose another --out, or replace it with --overwrite")
        began = time.perf_counter()
        result = _run(world, settings, console)
        folder.summary["timings"]["seconds"] = round(time.perf_counter() - began, 3)
        folder.summary["name"] = printable(map_file.stem)
        _write(folder, result, settings)
    say(console, f"Open {out / 'report.html'} in a browser for figures and tables.")


def _run(world: GridWorld, settings: RunSettings, console: Console) -> Exploration:
    parts = 2 if world.goals.any() else 1
    with progress_bar(console, "explore", parts * settings.runs * len(settings.methods)) as progress:
        result = analysis.run(world, settings, progress)
    console.print(_table(result, settings))
    say(console, *conclusion(result))
    return result


def conclusion(result: Exploration) -> list[str]:
    """Action balance RND beside RND, in words; empty unless both ran."""
    more_cells, ratio = statistics.to_data(result.more_cells), statistics.to_data(result.ratio)
    lines = []
    if more_cells is not None:
        text = with_interval(more_cells, "+.1f", f" of {result.coverage.reachable:,}")
        lines += wrapped(f"cells covered: {text}{SIGNIFICANCE[side(more_cells, 0)]}", "  ")
    if ratio is not None:
        text = with_interval(ratio, ".2f", " times as fast")
        lines += wrapped(f"reaches a goal {text}{SIGNIFICANCE[side(ratio, 1)]}", "  ")
    if any("[" in line for line in lines):
        lines.append("95 % confidence intervals in brackets; more --runs make them narrower.")
    elif lines:
        lines.append(f"An interval needs at least {statistics.MIN} --runs, so this may be due to chance.")
    return [COMPARED, *lines] if lines else []


def _table(result: Exploration, settings: RunSettings) -> Table:
    covered = result.coverage
    title = f"{settings.runs:,} runs of {settings.coverage_steps:,} steps, {covered.reachable:,} reachable cells"
    timed_out = any(found.timed_out for found in result.first_reach.values())
    caption = "mean ± half of its 95 % confidence interval" if statistics.has_interval(settings.runs) else "mean"
    if timed_out:
        caption += f"; runs that timed out count as {settings.max_steps:,} steps"
    table = Table(title=title, caption=caption)
    table.add_column("method", no_wrap=True)
    heads = ["cells covered", "coverage"]
    heads += ["steps to a goal"] if result.first_reach else []
    for head in [*heads, *(["timed out"] if timed_out else [])]:
        table.add_column(head, justify="right")
    for name in covered.methods:
        cells = statistics.mean(covered.final_cells(name))
        row = [name, _plus_minus(cells, 1), f"{cells.value / covered.reachable:.1%}"]
        row += [_plus_minus(result.first_reach[name].mean, 0)] if result.first_reach else []
        row += [f"{result.first_reach[name].timed_out:,}"] if timed_out else []
        table.add_row(*row)
    return table


def _plus_minus(estimate: Estimate, digits: int) -> str:
    half = "" if isnan(estimate.high) else f" ± {estimate.high - estimate.value:,.{digits}f}"
    return f"{estimate.value:,.{digits}f}{half}"


def _write(folder: ResultFolder, result: Exploration, settings: RunSettings) -> None:
    from action_balance.studies.explore import page
    from action_balance.studies.grid import coverage, first_reach, trace_file

    coverage.write(folder, result.coverage)
    world = parse_map(folder.summary["map"], settings.episode_steps)
    trace_file.write(folder, "map", world, result.coverage.methods)
    ours = {"coverage": result.coverage.numbers}
    ours["compared"] = {"cells": statistics.to_data(result.more_cells), "speed": statistics.to_data(result.ratio)}
    if result.first_reach:
        first_reach.write(folder, "reach.csv", result.first_reach)
        first_reach.save_figures(folder, first_reach=first_reach.first_reach_steps(result.first_reach))
        ours["first_reach"] = {name: found.numbers for name, found in result.first_reach.items()}
    folder.summary["ours"] = ours
    folder.write("report.html", as_bytes(page.result_page(folder.path, folder.summary)))
    folder.save()  # last: from now on the result counts as finished
