"""``reproduce grid``: run the studies, write what each found as soon as it is finished, and the page over all."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from action_balance.cli.progress import progress_bar
from action_balance.envs.grid.world import Cell, GridWorld
from action_balance.errors import UserError
from action_balance.runs.results import FILES, SUMMARY, ResultFolder
from action_balance.studies.grid import KIND, corridor, coverage, goals, summary, write
from action_balance.studies.grid import trace_file as recording
from action_balance.studies.grid.settings import GridSettings
from action_balance.studies.grid.summary import Data, describe_estimate
from action_balance.tabular.simulate import Progress
from action_balance.web.format import listed


@dataclass(frozen=True)
class Part:
    """One study: how many runs it takes, and what runs it and writes its files; the numbers come back."""

    runs: Callable[[GridSettings], int]
    work: Callable[[GridSettings, ResultFolder, Progress], tuple[Data, int]]


def _coverage(settings: GridSettings, folder: ResultFolder, progress: Progress) -> tuple[Data, int]:
    result = coverage.run(
        settings.world,
        settings.methods,
        settings.runs,
        settings.coverage_steps,
        settings.agent,
        settings.seed,
        progress,
    )
    write.coverage(folder, result)
    marked = GridWorld.create(
        settings.size, settings.size, goals=_inside(settings), episode_steps=settings.episode_steps
    )
    recording.write(folder, "open", marked, {name: one.first for name, one in result.methods.items()})
    return summary.coverage(result), result.simulated_steps


def _inside(settings: GridSettings) -> list[Cell]:
    """The goals that lie in the world; others are an error only where they are to be reached."""
    return [(x, y) for x, y in settings.goals if 0 <= x < settings.size and 0 <= y < settings.size and x + y]


def _goals(settings: GridSettings, folder: ResultFolder, progress: Progress) -> tuple[Data, int]:
    result = goals.run(settings, progress)
    write.goals(folder, result, settings.as_in_paper)
    return summary.goals(result, settings.as_in_paper), result.simulated_steps


def _corridor(settings: GridSettings, folder: ResultFolder, progress: Progress) -> tuple[Data, int]:
    result = corridor.run(settings, progress)
    write.corridor(folder, result)
    recording.write(folder, "corridor", result.world, {name: one.first for name, one in result.digging.items()})
    return summary.corridor(result), result.simulated_steps


PARTS: dict[str, Part] = {
    "coverage": Part(lambda settings: settings.runs * len(settings.methods), _coverage),
    "goals": Part(lambda settings: settings.runs * len(settings.methods) * len(settings.goals), _goals),
    "corridor": Part(lambda settings: 2 * settings.runs * len(settings.methods), _corridor),
}


def reproduce_grid(settings: GridSettings, out: Path, overwrite: bool, console: Console) -> None:
    """Run the chosen studies that the folder does not have yet."""
    extra = {"as_in_paper": settings.as_in_paper, "paper": summary.papers()}
    folder = ResultFolder.open(out, KIND, settings, overwrite, extra)
    finished = [study for study in PARTS if study in folder.summary["ours"]]
    missing = [study for study in PARTS if study in settings.studies and study not in finished]
    if not missing:
        raise UserError(f"{out} already holds this result: choose another --out, or make it anew with --overwrite")
    if finished:
        console.print(
            f"{out} already has {listed(finished)}: going on with {listed(missing)}",
            highlight=False,
            soft_wrap=True,
        )
    try:
        for study in missing:
            _run_part(study, settings, folder, console)
            finished.append(study)
    except KeyboardInterrupt:
        kept = f"{listed(finished)} finished and kept in {out}" if finished else "no study was finished"
        same = "the same command without --overwrite" if overwrite else "the same command"
        raise KeyboardInterrupt(f"{kept}; {same} goes on from there") from None
    _conclude(folder, console)


def _run_part(study: str, settings: GridSettings, folder: ResultFolder, console: Console) -> None:
    from action_balance.studies.grid import page

    began = time.perf_counter()
    with progress_bar(console, study, PARTS[study].runs(settings)) as progress:
        numbers, steps = PARTS[study].work(settings, folder, progress)
    seconds = time.perf_counter() - began
    folder.summary["ours"][study] = numbers
    folder.summary["timings"][study] = {"seconds": round(seconds, 3), "simulated_steps": steps}
    folder.write("report.html", page.grid_page(folder.path, folder.summary).encode())
    folder.save()  # last: from now on the study counts as finished


def _conclude(folder: ResultFolder, console: Console) -> None:
    """The last lines: what was written, and the headline numbers."""
    names = [name for name in (SUMMARY, *FILES, "figures") if (folder.path / name).exists()]
    console.print(f"wrote {', '.join(names)} to {folder.path}", highlight=False, soft_wrap=True)
    console.print(f"open {folder.path / 'report.html'} in a browser", highlight=False, soft_wrap=True)
    ours = folder.summary["ours"]
    comparable = folder.summary["as_in_paper"]
    headlines = {
        "coverage": ("times sooner than rnd that action-balance-rnd stays above random", "times_sooner"),
        "goals": ("steps to the goals, rnd / action-balance-rnd", "ratio"),
        "corridor": ("steps to the treasure in the corridor, rnd / action-balance-rnd", "ratio"),
    }
    for study, (what, key) in headlines.items():
        if study in ours:
            value = describe_estimate(ours[study][key]) or "not to be had from these methods and runs"
            published = (folder.summary["paper"][study] or {}).get(key) if comparable else None
            beside = f" (the paper: {published})" if published else ""
            if given_up := summary.given_up(ours[study]):
                beside += f"; {given_up:,} runs were given up, so do not rely on it"
            console.print(f"{what}: {value}{beside}", highlight=False, soft_wrap=True)
