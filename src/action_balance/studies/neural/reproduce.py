"""``reproduce neural``: train what is missing, and write the results of each world once its agents are trained."""

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from action_balance.cluster.driver import raise_failures, train_jobs
from action_balance.cluster.jobs import Job
from action_balance.cluster.session import check_cluster, check_installed
from action_balance.cluster.worker import wait_until_free
from action_balance.config.cluster import ClusterConfig
from action_balance.config.methods import METHODS
from action_balance.config.train import TrainConfig
from action_balance.errors import check_name
from action_balance.files import Data, check_inside
from action_balance.plots import drawing
from action_balance.plots.drawing import HERO
from action_balance.runs import RunFolder
from action_balance.runs.results import ResultFolder
from action_balance.studies import campaign, statistics
from action_balance.studies.neural import KIND, analysis, counting, figures
from action_balance.studies.neural.analysis import Trained, World
from action_balance.studies.neural.counting import Counting
from action_balance.studies.neural.settings import WORLDS, NeuralSettings
from action_balance.studies.parts import finish_part, run_missing, without_choice
from action_balance.studies.run_job import RunJob, is_finished
from action_balance.studies.verdict_text import SIGNIFICANCE, answer, with_interval, wrapped
from action_balance.terminal.console import say
from action_balance.terminal.training import command_line
from action_balance.web.format import side

BASE = "rnd"


def reproduce_neural(
    settings: NeuralSettings,
    out: Path,
    overwrite: bool,
    only: str | None,
    cluster: ClusterConfig,
    console: Console,
) -> None:
    """Run the chosen parts that the folder does not hold yet."""
    if only is not None:
        runs = _plan(settings)
        config = runs[check_name("run", only, runs)]
        wait_until_free(RunJob(only, _path(out, only), config, ()).claim)
        campaign.train_shown(_path(out, only), config, f"{only}: ", console)
        return
    if cluster.is_wanted:
        (check_cluster(cluster) if overwrite else check_installed())  # before anything is written or deleted
    with ResultFolder.open(out, KIND, without_choice(settings), overwrite, {}) as folder:
        if overwrite:
            for study, method in itertools.product(WORLDS, METHODS):
                check_inside(out, _path(out, _name(study, method)))
                RunFolder.delete(_path(out, _name(study, method)))
        run: Callable[[str], None] = partial(_run_study, settings, folder, console)
        if cluster.is_wanted:
            run = _OnCluster(settings, folder, cluster, console)
        run_missing(folder, WORLDS, settings.studies, run, overwrite, console, kept="all training runs")
        say(console, *conclusion(folder.summary["ours"]))
        say(console, f"Open {folder.path / 'report.html'} in a browser for figures and tables.")


def unfinished(settings: NeuralSettings, out: Path) -> list[str]:
    """Names of the runs that are not finished."""
    return [name for name, config in _plan(settings).items() if not is_finished(_path(out, name), config)]


def _plan(settings: NeuralSettings) -> dict[str, TrainConfig]:
    """All runs of the chosen parts by name."""
    return {
        _name(study, method): config for study in settings.studies for method, config in settings.runs(study).items()
    }


def _name(study: str, method: str) -> str:
    return f"{study}-{method}"


def _path(out: Path, name: str) -> Path:
    return out / "runs" / name


class _OnCluster:
    """Trains all runs in parallel when the first part is to be run; each part is written when its runs are in."""

    def __init__(
        self, settings: NeuralSettings, folder: ResultFolder, cluster: ClusterConfig, console: Console
    ) -> None:
        self._settings, self._folder, self._cluster, self._console = settings, folder, cluster, console
        self._trained = False

    def __call__(self, study: str) -> None:
        if not self._trained:
            self._train()
        if study not in self._folder.summary["ours"]:
            _write_study(self._settings, self._folder, study)

    def _train(self) -> None:
        out, ours = self._folder.path, self._folder.summary["ours"]
        parts = {study: self._settings.runs(study) for study in self._settings.studies if study not in ours}
        jobs = [
            RunJob(_name(study, method), _path(out, _name(study, method)).absolute(), config, tuple(command_line()))
            for study, runs in parts.items()
            for method, config in runs.items()
        ]
        missing = [job for job in jobs if not is_finished(job.folder, job.config)]
        left = {study: {_name(study, method) for method in runs} for study, runs in parts.items()}
        for names in left.values():
            names &= {job.name for job in missing}

        def come_in(job: Job) -> None:
            for study, names in left.items():
                if job.name in names:
                    names.remove(job.name)
                    if not names:
                        _write_study(self._settings, self._folder, study)

        if missing:
            done = len(jobs) - len(missing)
            raise_failures(train_jobs(missing, self._cluster, self._console, out / "runs", come_in, done))
        self._trained = True


def _run_study(settings: NeuralSettings, folder: ResultFolder, console: Console, study: str) -> None:
    runs = settings.runs(study)
    for place, (method, config) in enumerate(runs.items(), start=1):
        path = _path(folder.path, _name(study, method))
        campaign.train_shown(path, config, f"{study} {place}/{len(runs)} {method}: ", console)
    _write_study(settings, folder, study)


def _write_study(settings: NeuralSettings, folder: ResultFolder, study: str) -> None:
    """Analyse the runs of a part, and write its results."""
    from action_balance.studies.neural import page

    runs = settings.runs(study)
    paths = {method: _path(folder.path, _name(study, method)) for method in runs}
    seconds = sum(analysis.training_seconds(paths[method], config) for method, config in runs.items())
    drawn: dict[str, Figure | None]
    if study == "counting":
        result = counting.study(runs[HERO], analysis.restore(paths[HERO], runs[HERO]))
        _write_counting(folder, result)
        numbers, drawn = _counting_numbers(result), {"counting": figures.counting(result)}
    else:
        world = analysis.read_world(study, paths, runs)
        _write_world(folder, world)
        shown = (figures.coverage,) if study == "open" else (figures.found, figures.returns)
        numbers = _world_numbers(world)
        drawn = {f"{study}_{draw.__name__}": draw(world) for draw in (*shown, figures.visits)}
    for name, figure in drawn.items():
        if figure is not None:
            drawing.save(figure, folder.write, f"figures/{name}")
    steps = sum(config.seeds * config.agent.updates * config.agent.steps_per_update for config in runs.values())
    timing = {"seconds": round(seconds, 3), "environment_steps": steps}
    finish_part(folder, study, numbers, timing, page.neural_page)


def _write_world(folder: ResultFolder, world: World) -> None:
    """Write the curves and agents of a world as tables, and its visits."""
    rows = []
    for method, trained in world.methods.items():
        for steps, *band in zip(trained.steps, *statistics.mean_band(trained.states), strict=True):
            rows.append((method, int(steps), *(round(float(part), 4) for part in band)))
    folder.write_csv(f"{world.name}_states.csv", ("method", "steps", "mean", "low", "high"), rows)
    agents = [
        (method, agent, int(trained.states[agent, -1]), steps if found else np.nan, round(float(score), 6))
        for method, trained in world.methods.items()
        for agent, (steps, found, score) in enumerate(
            zip(trained.found.steps.tolist(), trained.found.reached, trained.scores, strict=True)
        )
    ]
    folder.write_csv(f"{world.name}_agents.csv", ("method", "agent", "states", "first_reward", "return"), agents)
    maps = {f"{world.name}_{method}": trained.visits for method, trained in world.methods.items()}
    folder.add_arrays("heatmaps.npz", maps)


def _write_counting(folder: ResultFolder, result: Counting) -> None:
    """Write a table of every pair of every agent."""
    rows = []
    for (agent, state, action), count in np.ndenumerate(result.counts):
        if result.acted_from[agent, state]:
            place = agent, state, action
            values = statistics.rounded(*(float(part[place]) for part in (result.errors, result.pi, result.beta)))
            rows.append((agent, *result.world.coordinates(state), action, int(count), *values))
    header = ("agent", "x", "y", "action", "count", "error", "pi", "beta")
    folder.write_csv("counting.csv", header, rows)


def _world_numbers(world: World) -> Data:
    return {
        "reachable": world.reachable,
        "methods": {method: _method_numbers(trained) for method, trained in world.methods.items()},
        "more_states": statistics.to_data(world.more_states(HERO, BASE)),
        "more_than_ppo": statistics.to_data(world.more_states("action-balance", "ppo")),
        "ratio": statistics.to_data(world.ratio(HERO, BASE)) if world.name != "open" else None,
    }


def _method_numbers(trained: Trained) -> Data:
    reached = trained.found.reached
    # Over all agents; unknown if half of them never got there.
    median = float(np.median(np.where(reached, trained.found.steps, np.inf)))
    return {
        "agents": len(reached),
        "states": statistics.to_data(statistics.mean(trained.states[:, -1])),
        "found": int(reached.sum()),
        "median_steps": median if np.isfinite(median) else None,
        "solved": statistics.to_data(trained.solved),
        "solved_agents": int((trained.scores > analysis.SOLVED).sum()),
        "return": statistics.to_data(statistics.bootstrap_mean(trained.scores)),
    }


def _counting_numbers(result: Counting) -> Data:
    correlations = result.rank_correlations
    return {
        "agents": len(correlations),
        "correlation": statistics.to_data(result.rank_correlation),
        "lowest": float(correlations.min()),
        "within_states": statistics.to_data(statistics.mean(result.within_states)),
        "least_pi": float(result.least_tried(result.pi).mean()),
        "least_beta": float(result.least_tried(result.beta).mean()),
        "lift": statistics.to_data(result.lift),
    }


def conclusion(ours: Data) -> list[str]:
    """The verdict on action balance RND and RND, and the numbers of each world, in words."""
    # In a world with a treasure, it is how many times sooner that is found; else how many more states are reached.
    worlds = {study: numbers for study, numbers in ours.items() if study != "counting"}
    sides = {study: side(_compared(row), 0 if row["ratio"] is None else 1) for study, row in worlds.items()}
    lines = wrapped(answer(sides)) if sides else []
    for study, numbers in worlds.items():
        compared = _compared(numbers)
        if compared is not None:
            sooner = numbers["ratio"] is not None
            unit = " times as fast as RND to the treasure" if sooner else " states relative to RND"
            text = with_interval(compared, ".2f" if sooner else "+.1f", unit)
            lines += wrapped(f"{study}: {text}{SIGNIFICANCE[sides[study]]}", "  ")
        for method, row in numbers["methods"].items():
            line = f"    {method}: {statistics.describe(row['states'], 0)} states"
            if study != "open":
                line += f", found by {row['found']} of {row['agents']}, solved by {row['solved_agents']}"
            lines.append(line)
    if "counting" in ours:
        numbers = ours["counting"]
        correlation = f"{statistics.describe(numbers['correlation'])}, lowest {numbers['lowest']:.2f}"
        lines += wrapped(
            f"counting: rank correlation of the action bonus with the rarity of pairs: {correlation}", "  "
        )
    return lines


def _compared(numbers: Data) -> Data | None:
    """What the verdict on a world depends on: the ratio of steps to the treasure, or else the difference in states."""
    found: Data | None = numbers["ratio"] or numbers["more_states"]
    return found
