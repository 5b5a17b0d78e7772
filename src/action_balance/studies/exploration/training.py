"""Trains the agents of a cell in one compiled program, and makes their record. Axes: R agents, U updates, P points."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import Float, Shaped

from action_balance.engines.metrics_rows import Progress, progress
from action_balance.runs.learning_curve import LAST, carried_forward
from action_balance.runs.manifest import PACKAGES, hardware, versions
from action_balance.studies.cell_training import resumable
from action_balance.studies.cells import claims
from action_balance.studies.exploration.records import Record
from action_balance.studies.exploration.settings import TASKS, Cell

#: Points of the curves of a record.
POINTS = 40


def train(cell: Cell, report: Callable[[Progress], None] = lambda _: None, out: Path | None = None) -> Record:
    """Train the agents of a cell, from their newest checkpoint if there is one."""
    config, metric = cell.config, TASKS[cell.task].metric
    updates, per_update = config.agent.updates, config.agent.steps_per_update
    values, episodes = np.zeros((2, config.seeds, updates), np.float32)
    processes, finite = np.array(1), np.ones(config.seeds, bool)
    kept = {"values": values, "episodes": episodes, "processes": processes, "finite": finite}
    with resumable(cell, kept, out) as training:
        for update, metrics in training.updates():
            values[:, update - 1], episodes[:, update - 1] = metrics[metric], metrics["episodes"]
            finite[:] = metrics["parameters_finite"]
            if out is not None and update in (training.first, updates):
                processes[...] = max(int(processes), claims(out))
            report(progress(metrics, update, update * per_update))
    parts = parts_of(updates)
    last = slice(updates - max(1, int(LAST * updates)), updates)
    return Record(
        task=cell.task,
        method=cell.method,
        config=config,
        made_by={"versions": versions((*PACKAGES, *config.env.packages)), "hardware": hardware()},
        seconds=training.seconds,
        processes=int(processes),
        final=known(means(values, episodes, [slice(0, last.start), last]))[:, -1],
        finite=finite,
        steps=np.array([part.stop * per_update for part in parts], np.int64),
        values=known(means(values, episodes, parts)),
    )


def parts_of(updates: int) -> list[slice]:
    """The parts of a training that are the points of its curve, at most `POINTS`."""
    ends = np.unique(np.ceil(np.linspace(updates / POINTS, updates, POINTS)).astype(int)).tolist()
    return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def means(
    values: Float[np.ndarray, "R U"], episodes: Shaped[np.ndarray, "R U"], parts: list[slice]
) -> Float[np.ndarray, "R P"]:
    """Means over the episodes that ended in each part of a training.

    All environments begin an episode at the same time, so that those that reach the time limit end in the same updates,
    and only successful ones end in the others: a mean over updates would be far too high.
    """
    found = []
    for part in parts:
        number = episodes[:, part].sum(axis=1)
        total = np.where(episodes[:, part] > 0, values[:, part], 0) * episodes[:, part]
        found.append(np.where(number > 0, total.sum(axis=1) / np.maximum(number, 1), np.nan))
    return np.stack(found, axis=1).astype(np.float32)


def known(means: Float[np.ndarray, "R P"]) -> Float[np.ndarray, "R P"]:
    """Means over time without gaps: the one before where no episode ended, 0 before the first has ended."""
    return np.nan_to_num(carried_forward(means)).astype(np.float32)
