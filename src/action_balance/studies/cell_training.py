"""The training of a cell, which can be stopped at any moment and continues where it was, bit for bit.

A checkpoint holds the agents together with the arrays that their record will be made of. Checkpoints are in a hidden
folder beside the record, one folder for each config, and are deleted when the record is saved.
"""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from jaxtyping import Float

from action_balance.agent.state import TrainState
from action_balance.config.train import TrainConfig
from action_balance.engines.base import Trainer
from action_balance.engines.device.trainer import DeviceTrainer
from action_balance.engines.memory_needs import check_training
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.files import check_inside, fingerprint
from action_balance.runs.checkpoints import Checkpoints, NoCheckpoint
from action_balance.signals import graceful_stop
from action_balance.studies.cells import Cell, checkpoint_folder

#: Seconds between two checkpoints.
SAVE_EVERY = 300.0

#: Number of checkpoints that are kept: the newest, and the one before it, in case that the newest is damaged.
KEEP = 2

#: Arrays by name.
Arrays = dict[str, np.ndarray]


@contextmanager
def resumable(cell: Cell, kept: Arrays, out: Path | None) -> Iterator["Training"]:
    """Train a cell, from its newest checkpoint if there is one."""
    config, checkpoints = cell.config, None
    check_training(config, config.env.spec)
    if out is not None:
        folder = checkpoint_folder(out, cell.name) / fingerprint(config.to_dict())[:16]
        check_inside(out, folder)
        checkpoints = Checkpoints(folder, KEEP)
    training = Training(config, kept, checkpoints, DeviceTrainer(config))
    with graceful_stop(training.stopping) as training.stop:
        training.begin()
        yield training


@dataclass
class Training:
    """One process's part of the training of a cell."""

    config: TrainConfig
    kept: Arrays
    checkpoints: Checkpoints | None
    trainer: Trainer
    clock: Float[np.ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    """Seconds of updates in all processes so far, and the number of these updates; then the seconds of the first update
    of every process, which includes compilation."""
    stop: threading.Event = field(default_factory=threading.Event)
    first: int = 1  # update of this process
    now: int = 1  # the update after which a stop is noticed

    @property
    def seconds(self) -> float:
        """Duration of all updates but the first, without compilation.

        The first update of every other process counts as much as the mean of those that were not compiled.
        """
        timed, number, first = self.clock.tolist()
        total = self.config.agent.updates
        return float((timed / number if number else first / total) * (total - 1))

    def begin(self) -> None:
        """Restore the newest intact checkpoint; without one, create new agents."""
        state = self._restored()
        if state is None:
            state = self.trainer.init_state(self.stop.is_set)
        if self.stop.is_set():
            raise KeyboardInterrupt
        self.trainer.start(state)

    def _restored(self) -> TrainState | None:
        if self.checkpoints is None or not self.checkpoints.updates():
            return None
        try:
            restored = self.checkpoints.restore(self._with(self.trainer.state_shapes()))
        except NoCheckpoint:  # all are damaged or of another version; intact ones would not be replaced
            shutil.rmtree(self.checkpoints.path, ignore_errors=True)
            return None
        for name, values in self.kept.items():
            values[...] = restored.state["kept"][name]
        self.clock[...] = restored.state["clock"]
        self.first = self.now = restored.update + 1
        state: TrainState = restored.state["state"]
        return state

    def _with(self, state: TrainState) -> dict[str, Any]:
        """All that is saved together."""
        return {"state": state, "kept": self.kept, "clock": self.clock}

    def updates(self) -> Iterator[tuple[int, HostMetrics]]:
        """Make the remaining updates, and save them while the body of the loop has what belongs to them."""
        total, began = self.config.agent.updates, perf_counter()
        saved = began
        for update in range(self.first, total + 1):
            metrics = self.trainer.advance()
            yield update, metrics
            ended = perf_counter()
            seconds, is_first = ended - began, update == self.first
            self.clock[:] += (0, 0, seconds) if is_first else (seconds, 1, 0)
            stopping = self.stop.is_set()
            self.now = min(update + 1, total)
            if stopping or (update < total and ended - saved >= SAVE_EVERY):
                if self.checkpoints is not None:
                    self.checkpoints.save(update, self._with(self.trainer.state()))
                saved = perf_counter()
            if stopping:
                raise KeyboardInterrupt
            began = perf_counter()

    def stopping(self) -> str:
        """When it stops; nothing is lost by ending at once before the first update of this process is finished."""
        if self.checkpoints is None or self.now == self.first:
            return ""
        return f"stopping after this update ({self.now} of {self.config.agent.updates})"
