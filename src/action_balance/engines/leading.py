"""The trainer of the process that leads a run on several hosts: whatever it does, the other processes do as well.

The training loop knows nothing of them: it has a trainer like any other, and its process alone writes the run.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from jaxtyping import Int

from action_balance.agent.state import TrainState
from action_balance.config.train import TrainConfig
from action_balance.distributed import Channel, ProcessLost, broadcast, is_loss
from action_balance.engines.base import Trainer, never
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.runs.tree_file import as_data, describe, to_arrays
from action_balance.tasks import request_stop

#: Milliseconds that a process which fails has to say why.
REASON = 1000
#: Seconds between two looks whether a process has failed that is not ready.
READY = 0.5

#: What is known of a process that is gone.
LOST = "the connection to another process was lost"


class LeadingTrainer(Trainer):
    """Announces what it does; see `action_balance.engines.following`."""

    def __init__(self, trainer: Trainer, channel: Channel) -> None:
        """Lead other processes that have a trainer of the same settings."""
        self._trainer, self._channel = trainer, channel
        self._lock = threading.RLock()  # a thread may save the state of a process that has to end

    spec = property(lambda self: self._trainer.spec)
    resume_note = property(lambda self: self._trainer.resume_note)

    @contextmanager
    def _together(self, do: str, about: Data | None = None) -> Iterator[None]:
        """Announce an operation, which the other processes run at the same time as the body."""
        with self._lock:
            self._channel.announce(do, **(about or {}))
            try:
                yield
            except Exception as error:
                if is_loss(error):
                    raise ProcessLost(why_lost(self._channel)) from error
                raise

    def state_shapes(self) -> TrainState:
        """See `Trainer.state_shapes`."""
        return self._trainer.state_shapes()

    def init_state(self, stopped: Callable[[], bool] = never) -> TrainState:
        """See `Trainer.init_state`."""
        if stopped():
            raise KeyboardInterrupt
        with self._together("init_state"):
            return self._trainer.init_state()

    def start(self, states: TrainState) -> None:
        """See `Trainer.start`. The other processes get the states from this one."""
        arrays = to_arrays(states)
        kinds = {name: [array.dtype.name, array.shape] for name, array in arrays.items()}
        leaves = as_data(describe(states))
        with self._together("start", {"arrays": kinds, "leaves": leaves}):
            broadcast(arrays)
            self._trainer.start(states)

    def advance(self) -> HostMetrics:
        """See `Trainer.advance`; also stops if another process has received a stop signal."""
        with self._together("advance"):
            metrics = self._trainer.advance()
        if self._channel.reports("stop"):
            request_stop()
        return metrics

    def state(self) -> TrainState:
        """See `Trainer.state`."""
        with self._together("state"):
            return self._trainer.state()

    def visits(self) -> Int[np.ndarray, "states choices"] | None:
        """See `Trainer.visits`."""
        if not self.spec.states:
            return None
        with self._together("visits"):
            return self._trainer.visits()

    def close(self) -> None:
        """See `Trainer.close`; the other processes are notified when the command ends."""
        self._trainer.close()


def lead(config: TrainConfig, spec: EnvSpec, make: Callable[[], Trainer], channel: Channel) -> Trainer:
    """Make the trainers of all processes."""
    if config.env.engine != "device":
        raise UserError(
            f"{config.env.name} runs on the CPUs of one host: train it with one process, or choose an environment on "
            f"the device"
        )
    channel.announce("trainer", config=config.to_dict(), spec=spec.to_dict())
    trainer = make()
    while not channel.all_reported("ready", READY):
        if about := channel.heard("failure", 1):
            raise UserError(failed(about))
    return LeadingTrainer(trainer, channel)


def failed(about: Data) -> str:
    """What has failed in another process, in one line."""
    return f"process {about['process']} failed: {about['why']}"


def why_lost(channel: Channel) -> str:
    """Why a process is gone, after a moment in which it may say so."""
    about = channel.heard("failure", REASON)
    return failed(about) if about else LOST
