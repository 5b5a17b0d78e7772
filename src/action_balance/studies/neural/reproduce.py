"""``reproduce neural``: train what is missing, and write what each world shows as soon as its agents are trained."""

import itertools
from pathlib import Path

import numpy as np
from rich.console import Console

from action_balance.cli.train_screen import shown, typed
from action_balance.config.agent import METHODS
from action_balance.errors import UserError
from action_balance.plots.drawing import HERO
from action_balance.runs import RunFolder
from action_balance.runs.results import ResultFolder
from action_balance.studies import campaign, statistics
from action_balance.studies.grid.summary import Data, describe_estimate, estimate
from action_balance.studies.neural import KIND, counting
from action_balance.studies.neural import analysis as neural
from action_balance.studies.neural.analysis import WORLDS, NeuralSettings, Trained, World
from action_balance.studies.neural.counting import Counting
from action_balance.web.format import listed

BASE = "rnd"


def reproduce_neural(settings: NeuralSettings, out: Path, overwrite: bool, console: Console) -> None:
    """Run the chosen studies that the folder does not have yet."""
    folder = ResultFolder.open(out, KIND, settings, overwrite, {})
    if overwrite:
        for study, method in itertools.product(WORLDS, METHODS):
            RunFolder.delete(_path(out, study, method))
    finished = [study for study in WORLDS if study in folder.summary["ours"]]
    missing = [study for study in WORLDS if study in settings.studies and study not in finished]
    if not missing:
        raise UserError(f"{out} already holds this result: choose another --out, or make it anew with --overwrite")
    if finished:
        said = f"{out} already has {listed(finished)}: going on with {listed(missing)}"
        console.print(said, highlight=False, soft_wrap=True)
    try:
        for study in missing:
            _run_study(study, settings, folder, console)
            finished.append(study)
    except KeyboardInterrupt:
        kept = f"{listed(finished)} and all training runs" if finished else "all training runs"
        same = "the same command without --overwrite" if overwrite else "the same command"
        raise KeyboardInterrupt(f"{kept} so far are kept in {out}; {same} goes on from there") from None
    _conclude(folder, console)


def _path(out: Path, study: str, method: str) -> Path:
    return out / "runs" / f"{study}-{method}"


def _run_study(study: str, settings: NeuralSettings, folder: ResultFolder, console: Console) -> None:
    from action_balance.studies.neural import figures as neural_figures
    from action_balance.studies.neural import page as neural_page

    runs = settings.runs(study)
    paths = {method: _path(folder.path, study, method) for method in runs}
    for place, (method, config) in enumerate(runs.items(), start=1):
        with shown(console, config, f"{study} {place}/{len(runs)} {method}: ") as tell:
            warnings = campaign.train(paths[method], config, typed(), tell)
        for warning in warnings:
            console.print(warning, highlight=False, soft_wrap=True)
    seconds = sum(neural.training_seconds(paths[method], config) for method, config in runs.items())
    if study == "counting":
        states = neural.restore(paths[HERO], runs[HERO])
        result = counting.study(runs[HERO], states)
        _write_counting(folder, result)
        numbers, figures = _counting_numbers(result), {"counting": neural_figures.counting(result)}
    else:
        world = neural.read_world(study, paths, runs)
        _write_world(folder, world)
        numbers = _world_numbers(world)
        rewarded = study != "open"
        drawn = ("found", "returns", "visits") if rewarded else ("coverage", "visits")
        figures = {f"{study}_{name}": getattr(neural_figures, name)(world) for name in drawn}
    from action_balance.plots import drawing

    for name, figure in figures.items():
        drawing.save(figure, folder.figures, name)
    folder.summary["ours"][study] = numbers
    agents = sum(config.seeds * config.agent.updates * config.agent.steps_per_update for config in runs.values())
    folder.summary["timings"][study] = {"seconds": round(seconds, 3), "environment_steps": agents}
    folder.write("report.html", neural_page.neural_page(folder.path, folder.summary).encode())
    folder.save()  # last: from now on the study counts as finished


def _write_world(folder: ResultFolder, world: World) -> None:
    """Curves and agents of a world, as tables, and its heat maps."""
    rows = []
    for method, trained in world.methods.items():
        mean, half = trained.states.mean(axis=0), statistics.half_width(trained.states)
        for steps, value, width in zip(trained.steps, mean, half, strict=True):
            rows.append((method, int(steps), *(round(float(x), 4) for x in (value, value - width, value + width))))
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
    """Every pair of every agent."""
    rows = []
    for (agent, state, action), count in np.ndenumerate(result.counts):
        if result.acted_from[agent, state]:
            place = agent, state, action
            values = (float(f"{part[place]:.6g}") for part in (result.errors, result.pi, result.beta))
            rows.append((agent, *result.world.coordinates(state), action, int(count), *values))
    header = ("agent", "x", "y", "action", "count", "error", "pi", "beta")
    folder.write_csv("counting.csv", header, rows)


def _world_numbers(world: World) -> Data:
    return {
        "reachable": world.reachable,
        "methods": {method: _method_numbers(trained) for method, trained in world.methods.items()},
        "more_states": estimate(world.more_states(HERO, BASE)),
        "more_than_ppo": estimate(world.more_states("action-balance", "ppo")),
        "ratio": estimate(world.ratio(HERO, BASE)) if world.name != "open" else None,
    }


def _method_numbers(trained: Trained) -> Data:
    reached = trained.found.reached
    # The median over all agents; unknown where half of them never got there.
    median = float(np.median(np.where(reached, trained.found.steps, np.inf)))
    return {
        "agents": len(reached),
        "states": estimate(statistics.mean(trained.states[:, -1])),
        "found": int(reached.sum()),
        "median_steps": median if np.isfinite(median) else None,
        "solved": estimate(trained.solved),
        "solved_agents": int((trained.scores > neural.SOLVED).sum()),
        "return": estimate(statistics.bootstrap_mean(trained.scores)),
    }


def _counting_numbers(result: Counting) -> Data:
    correlations = result.rank_correlations
    return {
        "agents": len(correlations),
        "correlation": estimate(result.rank_correlation),
        "lowest": float(correlations.min()),
        "within_states": estimate(statistics.mean(result.within_states)),
        "least_pi": float(result.least_tried(result.pi).mean()),
        "least_beta": float(result.least_tried(result.beta).mean()),
        "lift": estimate(result.lift),
    }


def _conclude(folder: ResultFolder, console: Console) -> None:
    """The last lines: where everything is, and the headline numbers."""
    ours = folder.summary["ours"]
    lines = [f"open {folder.path / 'report.html'} in a browser"]
    for study, numbers in ours.items():
        if study == "counting":
            said = describe_estimate(numbers["correlation"])
            lines.append(f"counting: rank correlation of bonus and rarity {said}, lowest {numbers['lowest']:.2f}")
            continue
        lines.append(f"{study}:")
        for method, row in numbers["methods"].items():
            line = f"  {method}: {describe_estimate(row['states'], 0)} states"
            if study != "open":
                line += f", found by {row['found']} of {row['agents']}, solved by {row['solved_agents']}"
            lines.append(line)
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)
