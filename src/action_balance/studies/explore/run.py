"""``explore MAP``: the methods on a user's own map, as a table on the screen and, if wanted, as files."""

import time
from math import isnan
from pathlib import Path

from rich.console import Console
from rich.table import Table

from action_balance.cli.progress import progress_bar
from action_balance.envs.grid.maps import draw_map, parse_map, read_map
from action_balance.errors import UserError
from action_balance.runs.results import ResultFolder
from action_balance.studies import statistics
from action_balance.studies.explore import KIND
from action_balance.studies.explore import analysis as explore
from action_balance.studies.explore.analysis import Exploration
from action_balance.studies.grid import summary
from action_balance.studies.grid.settings import RunSettings
from action_balance.studies.statistics import Estimate


def explore_map(map_file: Path, settings: RunSettings, out: Path | None, overwrite: bool, console: Console) -> None:
    """Run the methods on the map, print what they found and write it to ``out``, if given."""
    world = read_map(map_file, settings.episode_steps)
    folder = None
    if out is not None:
        folder = ResultFolder.open(out, KIND, settings, overwrite, {"map": draw_map(world)})
        if folder.summary["ours"]:
            raise UserError(f"{out} already holds this result: choose another --out, or make it anew with --overwrite")
    parts = 2 if world.goals.any() else 1
    with progress_bar(console, "explore", parts * settings.runs * len(settings.methods)) as progress:
        began = time.perf_counter()
        result = explore.run(world, settings, progress)
        seconds = time.perf_counter() - began
    console.print(_table(result, settings))
    if folder is None:
        console.print("add --out DIR for heat maps, curves and tables as files", highlight=False)
        return
    folder.summary["timings"]["seconds"] = round(seconds, 3)
    _write(folder, result, settings)
    console.print(f"wrote tables, heat maps and figures to {out}", highlight=False, soft_wrap=True)
    console.print(f"watch it with: action-balance view {out}", highlight=False, soft_wrap=True)


def _table(result: Exploration, settings: RunSettings) -> Table:
    covered = result.coverage
    title = f"{settings.runs:,} runs of {settings.coverage_steps:,} steps, {covered.reachable:,} cells to cover"
    given_up = any(found.given_up for found in result.first_reach.values())
    caption = "mean ± half of its 95 % interval"
    if given_up:
        caption += f"; runs given up count as {settings.max_steps:,} steps"
    table = Table(title=title, caption=caption)
    table.add_column("method", no_wrap=True)
    table.add_column("cells covered", justify="right")
    table.add_column("coverage", justify="right")
    if result.first_reach:
        table.add_column("steps to a goal", justify="right")
    if given_up:
        table.add_column("given up", justify="right")
    for name in covered.methods:
        cells = statistics.mean(covered.final_cells(name))
        row = [name, _plus_minus(cells, 1), f"{cells.value / covered.reachable:.1%}"]
        if result.first_reach:
            row.append(_plus_minus(result.first_reach[name].mean, 0))
        if given_up:
            row.append(f"{result.first_reach[name].given_up:,}")
        table.add_row(*row)
    return table


def _plus_minus(estimate: Estimate, digits: int) -> str:
    half = "" if isnan(estimate.high) else f" ± {estimate.high - estimate.value:,.{digits}f}"
    return f"{estimate.value:,.{digits}f}{half}"


def _write(folder: ResultFolder, result: Exploration, settings: RunSettings) -> None:
    from action_balance.plots import drawing
    from action_balance.studies.grid import figures, write
    from action_balance.studies.grid import trace_file as recording

    write.coverage(folder, result.coverage)
    world = parse_map(folder.summary["map"], settings.episode_steps)
    recording.write(folder, "map", world, {name: one.first for name, one in result.coverage.methods.items()})
    ours = {"coverage": summary.coverage(result.coverage)}
    if result.first_reach:
        write.first_reach(folder, "reach.csv", result.first_reach)
        drawing.save(figures.first_reach_steps(result.first_reach), folder.figures, "first_reach")
        ours["first_reach"] = {name: summary.first_reach(found) for name, found in result.first_reach.items()}
    folder.summary["ours"] = ours
    folder.save()
