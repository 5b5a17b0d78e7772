"""The training of a cell, which can be stopped at any moment and continues where it was, bit for bit.

A checkpoint holds the agents together with the arrays that their record will be made of. Checkpoints are in a hidden
folder beside the record, one folder for each config, and are deleted when the record is saved.
"""

import shutil
from collections.abc import Callable, Iterator
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
from action_balance.engines.loop import COPY_EVERY, COPY_SHARE, SLOW
from action_balance.engines.memory_needs import check_training
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.files import check_inside, fingerprint
from action_balance.machine import available_memory
from action_balance.runs.checkpoints import Checkpoints, NoCheckpoint
from action_balance.runs.trees import HostCopy, host_copy, size
from action_balance.signals import graceful_stop, watched
from action_balance.studies.cells import Cell, checkpoint_folder
from action_balance.tasks import Stop, Task, critical_section, task

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
    with graceful_stop() as stop:
        training = Training(config, kept, checkpoints, DeviceTrainer(config), stop)
        with task(Task(stop=stop, stopping=training.stopping, save=training.save_now)):
            training.begin()
            yield training


#: An update, and what gives all that is saved after it.
_Unsaved = tuple[int, Callable[[], Any]]


@dataclass
class _Now:
    """Where a training is, also for the thread that has to end the process while the main thread computes."""

    first: int = 1
    """The first update of this process."""
    update: int = 1
    """The update after which a stop is noticed."""
    unsaved: _Unsaved | None = None
    """The newest update that can be saved, if it is newer than all checkpoints."""


@dataclass(frozen=True)
class Training:
    """One process's part of the training of a cell."""

    config: TrainConfig
    kept: Arrays
    checkpoints: Checkpoints | None
    trainer: Trainer
    stop: Stop
    clock: Float[np.ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    """Seconds of updates in all processes so far, and the number of these updates; then the seconds of the first update
    of every process, which includes compilation."""
    now: _Now = field(default_factory=_Now)

    @property
    def first(self) -> int:
        """The first update of this process."""
        return self.now.first

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
        self.now.first = self.now.update = restored.update + 1
        state: TrainState = restored.state["state"]
        return state

    def _with(self, state: TrainState) -> dict[str, Any]:
        """All that is saved together."""
        return {"state": state, "kept": self.kept, "clock": self.clock}

    def _everything(self) -> dict[str, Any]:
        return self._with(self.trainer.state())

    def updates(self) -> Iterator[tuple[int, HostMetrics]]:
        """Make the remaining updates, and save them while the body of the loop has what belongs to them."""
        total, began = self.config.agent.updates, perf_counter()
        saved = copied = began
        for update in range(self.first, total + 1):
            metrics = self.trainer.advance()
            yield update, metrics
            ended = perf_counter()
            seconds, is_first = ended - began, update == self.first
            self.clock[:] += (0, 0, seconds) if is_first else (seconds, 1, 0)
            with critical_section():  # until the next update begins, the trainer itself has the state
                fallback, self.now.unsaved = self.now.unsaved, (update, self._everything)
            stopping = self.stop.is_set()
            self.now.update = min(update + 1, total)
            if stopping or (update < total and ended - saved >= SAVE_EVERY):
                self.save_now()
                fallback, saved = None, perf_counter()
                copied = saved
            elif watched() and ((seconds > SLOW and not is_first) or ended - copied > COPY_EVERY):
                fallback, copied = self._copied(update) or fallback, ended
            with critical_section():  # not while another thread saves the state, whose memory is about to be reused
                self.now.unsaved = fallback
            if stopping:
                raise KeyboardInterrupt
            began = perf_counter()

    def _copied(self, update: int) -> _Unsaved | None:
        """A copy that the next update does not change; None if there is too little memory, or nothing is saved."""
        available = available_memory()
        everything = self._everything()
        if self.checkpoints is None or (available is not None and size(everything) > COPY_SHARE * available):
            return None
        copy: HostCopy = host_copy(everything)
        return update, lambda: copy

    def stopping(self) -> str:
        """When it stops; nothing is lost by ending at once before the first update of this process is finished."""
        if self.checkpoints is None or self.now.update == self.first:
            return ""
        return f"stopping after this update ({self.now.update} of {self.config.agent.updates})"

    def save_now(self) -> None:
        """Save the newest update that can be saved; also in another thread, because the process ends."""
        if self.checkpoints is not None and self.now.unsaved is not None:
            update, everything = self.now.unsaved
            self.checkpoints.save(update, everything())
