"""Run folders as training leaves them, with numbers that are chosen instead of learned."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from pathlib import Path

from action_balance.config.train import TrainConfig
from action_balance.runs import RunFolder
from action_balance.runs.evaluation import EVALUATION, SUMMARY
from action_balance.runs.folder import CHECKPOINTS, RunStatus
from action_balance.studies.atari.training import run_name
from action_balance.studies.records import RUNS

#: Ended episodes of an update, and their mean return.
Episodes = Sequence[tuple[int, float]]


def make_run(
    out: Path, config: TrainConfig, episodes: Episodes, status: RunStatus = "finished", entropies: Sequence[float] = ()
) -> Path:
    """A run with one update for each entry of ``episodes``; what it chooses when it begins is chosen."""
    host = replace(config.agent.host, lag=0, groups=1)
    config = replace(config, agent=replace(config.agent, host=host))
    folder = RunFolder.create(out / RUNS / run_name(config), config.to_dict(), ["synthetic"])
    log = folder.metrics()
    for update, (count, mean) in enumerate(episodes, start=1):
        row: dict[str, float] = {"update": update, "seed": config.seed, "steps": update * config.agent.steps_per_update}
        row |= {"episodes": count, "episode_return": mean if count else nan, "best_return": mean + 50 if count else nan}
        row |= {"entropy_added": entropies[update - 1], "entropy_bonus": entropies[update - 1]} if entropies else {}
        log.append([row], {"steps_per_second": 1000.0 * update})
    folder.finish(status)
    return folder.path


def evaluate_run(path: Path, update: int, rooms: Sequence[tuple[str, int]], games: int) -> None:
    """An evaluation of a run: action modes, and rooms in a game of them."""
    (path / EVALUATION).mkdir(exist_ok=True)
    table = "".join(f"{mode},{count}\n" for mode, count in rooms)
    (path / EVALUATION / "episodes.csv").write_text(f"mode,rooms\n{table}")
    summary = {"checkpoint": {"update": update}, "requested": {"episodes": games}}
    (path / EVALUATION / SUMMARY).write_text(json.dumps(summary))


def strip(path: Path) -> None:
    """Leave what results are kept as: no checkpoints, no TensorBoard."""
    for name in (CHECKPOINTS, "tensorboard"):
        shutil.rmtree(path / name)


def tree(path: Path) -> dict[str, bytes]:
    """All files with their contents."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}
