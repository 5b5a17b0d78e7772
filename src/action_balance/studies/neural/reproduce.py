"""``reproduce neural``: the neural agent in small worlds; each world is reported once its agents are trained."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console

from action_balance.config.methods import METHODS
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.plots.drawing import HERO
from action_balance.studies import statistics
from action_balance.studies.neural import KIND, analysis, figures, page
from action_balance.studies.neural.analysis import Counting, NeuralRecord, NeuralWorld
from action_balance.studies.neural.settings import WORLDS, NeuralSettings
from action_balance.studies.runner import Findings, Study, Table
from action_balance.studies.settings_text import plain
from action_balance.studies.verdict_text import SIGNIFICANCE, answer, with_interval, wrapped
from action_balance.studies.worlds import SOLVED
from action_balance.terminal.console import say
from action_balance.web.format import side

BASE = "rnd"


def _belongs(name: str, config: TrainConfig) -> bool:
    return config.env.engine == "device" and name in {f"{world}-{method}" for world in WORLDS for method in METHODS}


def _analyse(
    settings: NeuralSettings, records: Sequence[NeuralRecord], notes: Sequence[str], before: Data | None
) -> Findings:
    del notes, before
    trained = {record.name: record for record in records}
    found = Findings({"settings": plain(settings), "ours": {}, "timings": {}}, {}, {}, {"heatmaps.npz": {}})
    del found.summary["settings"]["studies"]  # a result may be made part by part
    for world in WORLDS:
        names = {method: f"{world}-{method}" for method in settings.runs(world)}
        runs = {method: trained[name] for method, name in names.items() if name in trained}
        if {method: run.config for method, run in runs.items()} == settings.runs(world):
            _add(found, world, runs)
    if not found.summary["ours"]:
        raise UserError("the agents of no world are complete yet: train first")
    return found


def _add(found: Findings, world: str, runs: dict[str, NeuralRecord]) -> None:
    if world == "counting":
        result = analysis.count_pairs(runs[HERO].config, runs[HERO].agents)
        found.summary["ours"][world] = _counting_numbers(result)
        found.tables["counting.csv"] = _counting_table(result)
        found.figures["counting"] = figures.counting(result)
    else:
        compared = NeuralWorld(world, runs)
        found.summary["ours"][world] = _world_numbers(compared)
        found.tables[f"{world}_states.csv"] = _states_table(compared)
        found.tables[f"{world}_agents.csv"] = _agents_table(compared)
        found.arrays["heatmaps.npz"] |= {f"{world}_{method}": run.visits for method, run in runs.items()}
        for draw in (figures.coverage,) if world == "open" else (figures.found, figures.returns):
            found.figures[f"{world}_{draw.__name__}"] = draw(compared)
        if (visits := figures.visits(compared)) is not None:
            found.figures[f"{world}_visits"] = visits
    seconds = sum(run.seconds for run in runs.values())
    steps = sum(run.config.seeds * run.limit for run in runs.values())
    found.summary["timings"][world] = {"seconds": round(seconds, 3), "environment_steps": steps}


def _states_table(world: NeuralWorld) -> Table:
    rows = []
    for method, trained in world.records.items():
        for steps, *band in zip(trained.steps, *statistics.mean_band(trained.states), strict=True):
            rows.append((method, int(steps), *(round(float(part), 4) for part in band)))
    return ("method", "steps", "mean", "low", "high"), rows


def _agents_table(world: NeuralWorld) -> Table:
    rows = [
        (method, agent, int(trained.states[agent, -1]), steps if found else np.nan, round(float(score), 6))
        for method, trained in world.records.items()
        for agent, (steps, found, score) in enumerate(
            zip(trained.found_steps.tolist(), trained.found, trained.scores, strict=True)
        )
    ]
    return ("method", "agent", "states", "first_reward", "return"), rows


def _counting_table(result: Counting) -> Table:
    rows = []
    for (agent, state, action), count in np.ndenumerate(result.counts):
        if result.acted_from[agent, state]:
            place = agent, state, action
            values = statistics.rounded(*(float(part[place]) for part in (result.errors, result.pi, result.beta)))
            rows.append((agent, *result.world.coordinates(state), action, int(count), *values))
    return ("agent", "x", "y", "action", "count", "error", "pi", "beta"), rows


def _world_numbers(world: NeuralWorld) -> Data:
    return {
        "reachable": world.reachable,
        "methods": {method: _method_numbers(trained) for method, trained in world.records.items()},
        "more_states": statistics.to_data(world.more_states(HERO, BASE)),
        "more_than_ppo": statistics.to_data(world.more_states("action-balance", "ppo")),
        "ratio": statistics.to_data(world.sooner(HERO, BASE)) if world.name != "open" else None,
    }


def _method_numbers(trained: NeuralRecord) -> Data:
    return {
        "agents": len(trained.found),
        "states": statistics.to_data(statistics.mean(trained.states[:, -1])),
        "found": int(trained.found.sum()),
        "median_steps": trained.median_steps,
        "solved": statistics.to_data(trained.solved),
        "solved_agents": int((trained.scores > SOLVED).sum()),
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


def _conclude(summary: Data, console: Console) -> None:
    say(console, *conclusion(summary["ours"]))


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


STUDY = Study(
    kind=KIND,
    record=NeuralRecord,
    belongs=_belongs,
    analyse=_analyse,
    page=page.neural_page,
    conclude=_conclude,
)
