"""``evaluate RUN``: how the agents of a run do without learning, on the screen and as files in its folder."""

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import jax
import numpy as np
from rich.console import Console

from action_balance.agent.state import TrainState
from action_balance.config.train import TrainConfig
from action_balance.engines.evaluate import ActionMode, Evaluation, action_modes
from action_balance.engines.factory import evaluate_run, make_trainer, most_episodes
from action_balance.engines.loop import trained_on
from action_balance.envs.atari.config import AtariConfig
from action_balance.envs.base import Environment
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.runs import Restored, RunFolder
from action_balance.runs.folder import CHECKPOINTS
from action_balance.studies.evaluation.score_table import score_table, short, spread
from action_balance.terminal.progress import progress_bar


def evaluate(path: Path, episodes: int, checkpoint: str, seed: int, console: Console) -> None:
    """Play episodes with every agent of a run, tell what came of them and write it to its folder.

    Args:
        path: of the run.
        episodes: of each agent for each way of acting.
        checkpoint: ``latest``, ``best`` or the number of an update.
        seed: of all that is random in the episodes.
        console: the screen.
    """
    folder = RunFolder.open(path)
    config = TrainConfig.from_dict(folder.config)
    _check(episodes, seed, config)
    restored = _restore(folder, config, checkpoint)
    for warning in restored.warnings:
        console.print(warning, highlight=False, soft_wrap=True)
    console.print(f"evaluating update {restored.update} of {path} ...", highlight=False, soft_wrap=True)
    if isinstance(config.env, AtariConfig):
        from action_balance.studies.evaluation import atari as evaluate_atari

        played = evaluate_atari.play(config, config.env.game, restored.state, episodes, seed, console)
        show, (summary, files) = evaluate_atari.show, played
    else:
        show, (summary, files) = _show, _play(config, restored.state, episodes, seed, console)
    about = {"method": config.agent.method, "environment": asdict(config.env)}
    made = {"update": restored.update, "steps": restored.update * config.agent.steps_per_update}
    asked = {"checkpoint": checkpoint, "episodes": episodes, "seed": seed}
    out = folder.save_evaluation({**about, "asked": asked, "checkpoint": made, **summary}, files)
    show(summary, f"{config.agent.method} in {config.env.name} after {restored.update:,} updates", console)
    names = ", ".join(["evaluation.json", *files])
    console.print(f"wrote {names} to {out}", highlight=False, soft_wrap=True)


def _check(episodes: int, seed: int, config: TrainConfig) -> None:
    if episodes < 1:
        raise UserError(f"--episodes must be 1 or more, not {episodes}")
    if episodes > (most := most_episodes(config)):
        raise UserError(f"{episodes:,} episodes do not fit into memory: ask for at most --episodes {most}")
    if not 0 <= seed < 2**31:
        raise UserError(f"--seed must be 0 or more and below {2**31}, not {seed}")


def _restore(folder: RunFolder, config: TrainConfig, checkpoint: str) -> Restored:
    if folder.is_copy:
        raise UserError(f"{folder.path} is a copy without {CHECKPOINTS}/ and cannot play: copy the whole run")
    checkpoints = folder.checkpoints()
    there = checkpoints.updates()
    if not there:
        raise UserError(
            f"{folder.path} has no checkpoint yet: the first is written after {config.first_checkpoint}, "
            f"or when the training is interrupted"
        )
    choice: dict[str, Literal["latest", "best"] | int] = {"latest": "latest", "best": "best"}
    choice |= {str(update): update for update in there}
    if checkpoint not in choice:
        raise UserError(f"{folder.path} has no checkpoint {checkpoint}: choose from {', '.join(choice)}")
    trainer = make_trainer(config, trained_on=trained_on(folder))
    return checkpoints.restore(trainer.state_shapes(), choice[checkpoint])


def _play(
    config: TrainConfig, states: TrainState, episodes: int, seed: int, console: Console
) -> tuple[Data, dict[str, bytes]]:
    """The numbers and the files of an evaluation."""
    total = episodes * config.seeds * len(action_modes(config.agent))
    notes: list[str] = []

    def say(line: str) -> None:
        notes.append(line)
        console.print(line, highlight=False, soft_wrap=True)

    with progress_bar(console, "playing", total, "episodes") as report:
        found = evaluate_run(config, states, episodes, seed, report, say)
    summary = _summary(config, found) | ({"notes": notes} if notes else {})
    files = {"episodes.csv": _table_of_episodes(config, found)}
    if config.env.spec.states:
        environment, trained = config.environment(jax.random.key(config.seed)), np.asarray(states.state_visits)
        summary |= coverage(environment, found, trained)
        files |= _pictures(config, environment, found, trained)
    return summary, files


def _summary(config: TrainConfig, found: Mapping[ActionMode, Evaluation]) -> Data:
    return {
        "seeds": list(range(config.seed, config.seed + config.seeds)),
        "intervals_over": "seeds" if config.seeds > 1 else "episodes",
        "ways": {mode: _numbers(one) for mode, one in found.items()},
    }


def coverage(environment: Environment, found: Mapping[ActionMode, Evaluation], trained: np.ndarray) -> Data:
    """How many states were reached.

    Args:
        environment: of any of the seeds.
        found: by action mode.
        trained: how often each state was reached in training, (K, S).
    """
    reached = {name: float((visits > 0).sum(axis=1).mean()) for name, visits in _visits(found, trained).items()}
    return {"coverage": {"reachable": int(environment.reachable().sum()), "reached": reached}}


def _visits(found: Mapping[ActionMode, Evaluation], trained: np.ndarray) -> dict[str, np.ndarray]:
    """How often each state was reached, (K, S), in training and in each way of acting."""
    visits: dict[str, np.ndarray] = {"training": trained}
    return visits | {mode: np.asarray(one.visits) for mode, one in found.items()}


def _numbers(one: Evaluation) -> Data:
    return {
        "return": spread(np.asarray(one.returns)),
        "mean_length": float(np.mean(one.lengths)),
        "ended_by_task": float(np.mean(one.terminated)),
    }


def _table_of_episodes(config: TrainConfig, found: Mapping[ActionMode, Evaluation]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["way", "seed", "episode", "return", "length", "ended"])
    for mode, one in found.items():
        for (number, episode), total in np.ndenumerate(np.asarray(one.returns)):
            ended = "task" if one.terminated[number, episode] else "time limit"
            row = [mode, config.seed + number, episode, f"{total:.9g}", one.lengths[number, episode], ended]
            writer.writerow(row)
    return text.getvalue().encode()


def _pictures(
    config: TrainConfig, environment: Environment, found: Mapping[ActionMode, Evaluation], trained: np.ndarray
) -> dict[str, bytes]:
    """Heat map and film by file name; none for environments without a map."""
    from action_balance.films.grid import film
    from action_balance.plots.drawing import NAMES, to_png
    from action_balance.studies.evaluation import figures as evaluation_figures

    scene = config.env.scene(environment)
    trace = found["sampled"].trace
    if scene is None or trace is None:
        return {}
    method = config.agent.method
    together = {name: visits.sum(axis=0) for name, visits in _visits(found, trained).items()}
    seeds = f", {config.seeds} seeds" if config.seeds > 1 else ""
    figure = evaluation_figures.visits(scene, together, f"Where {NAMES[method]} went{seeds}")
    # The environment and the film are of the first seed.
    title = f"{config.env.name}, actions sampled from π"
    gif = film(scene, trace, method, title, balanced=config.agent.balances)
    return {"heatmap.png": to_png(figure), "episode.gif": gif}


def _show(summary: Data, title: str, console: Console) -> None:
    seeds, action_modes = len(summary["seeds"]), summary["ways"]
    more = {
        "mean steps": [short(one["mean_length"]) for one in action_modes.values()],
        "ended by the task": [f"{one['ended_by_task']:.0%}" for one in action_modes.values()],
    }
    console.print(score_table(title, "return", seeds, action_modes, more))
    if "coverage" in summary:
        reachable = summary["coverage"]["reachable"]
        shares = (f"{name} {states:,.4g}" for name, states in summary["coverage"]["reached"].items())
        each = "mean over seeds, " if seeds > 1 else ""
        console.print(f"states reached ({each}of {reachable:,}): {', '.join(shares)}", highlight=False, soft_wrap=True)
