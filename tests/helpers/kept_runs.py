"""Runs of which only the record is left, with chosen numbers."""

import shutil
from pathlib import Path

import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.runs import RunFolder
from action_balance.runs.folder import CHECKPOINTS
from action_balance.studies.records import RUNS, RunRecord, write_record


def keep(out: Path, record: RunRecord) -> Path:
    """The finished run of a record, in the folder of its study."""
    folder = RunFolder.create(out / RUNS / record.name, record.config.to_dict(), ["test"])
    own = {name: np.asarray(getattr(record, name)) for name in record.axes()}
    write_record(folder, record.more | own)
    shutil.rmtree(folder.path / CHECKPOINTS)
    folder.finish("finished")
    return folder.path


def pretend(out: Path, name: str, config: TrainConfig, **columns: np.ndarray) -> Path:
    """A finished run with metrics by name, (R, U), that are chosen instead of learned."""
    folder = RunFolder.create(out / RUNS / name, config.to_dict(), ["test"])
    log = folder.metrics()
    for place in range(config.agent.updates):
        seeds = range(config.seed, config.seed + config.seeds)
        steps = config.agent.steps_at(place + 1)
        rows = [{"update": place + 1, "seed": seed, "steps": steps} for seed in seeds]
        for agent, row in enumerate(rows):
            row |= {column: values[agent, place].item() for column, values in columns.items()}
        log.append(rows, {"steps_per_second": 1000.0})
    folder.finish("finished")
    return folder.path
