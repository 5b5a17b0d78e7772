"""Who follows a training while it runs, and what they learn of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from action_balance.algorithms.state import TrainState
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.tracking import TrackConfig


@dataclass
class Update:
    """An update of a run that has just been completed and logged."""

    update: int
    """Its number, from 1 on."""
    updates: int
    """Total number of updates planned for the run."""
    steps: int
    """Environment steps per seed so far."""
    metrics: Mapping[str, float]
    """Metrics by name, each the mean over the seeds that have it, e.g. over those in which an episode ended; nan where
    none has. `rows` has those that are lists."""
    rows: Sequence[Mapping[str, Any]]
    """One row for each seed, as in ``metrics.jsonl``."""
    state: Callable[[], TrainState] = field(repr=False)
    """Returns the state after this update, with a leading axis for the seeds; only until the callback returns, because
    the next update reuses its memory."""
    _stopped: bool = field(default=False, repr=False)

    def stop(self) -> None:
        """Stop training after this update. A checkpoint is saved, and the run can be resumed."""
        self._stopped = True

    @property
    def is_stopped(self) -> bool:
        """Whether training stops after this update."""
        return self._stopped


#: Called after every update; it ends the training if it returns False, or calls `Update.stop`.
Callback = Callable[[Update], object]
#: Called after every update.
Report = Callable[[Progress], None]
#: Called with a line for the user.
OnMessage = Callable[[str], None]


@dataclass(frozen=True)
class Listeners:
    """Who follows a training, and the command that its manifest records."""

    command: Sequence[str] = ()
    report: Report = lambda _: None
    on_message: OnMessage = lambda _: None
    track: TrackConfig = field(default_factory=TrackConfig)
    callbacks: Sequence[Callback] = ()
    on_start: Callable[[], None] = lambda: None  # before compilation

    def stops(self, update: Update) -> bool:
        """Call all callbacks; whether the training is to end."""
        for callback in self.callbacks:
            if callback(update) is False:
                update.stop()
        return update.is_stopped


def as_callbacks(given: Callback | Sequence[Callback]) -> tuple[Callback, ...]:
    """One callback or several, as several; a `UserError` if one cannot be called."""
    functions = (given,) if callable(given) or not isinstance(given, Iterable) else tuple(given)
    for one in functions:
        if not callable(one):
            raise UserError(f"a callback is a function that takes an Update, not {type(one).__name__}")
    return functions


class MessageLog:
    """Shows lines at once, from any thread, and writes them to the manifest between updates."""

    def __init__(self, show: OnMessage) -> None:
        self._show, self._kept = show, SimpleQueue[str]()

    def __call__(self, line: str) -> None:
        """Show a line, and keep it for the manifest."""
        self._show(line)
        self._kept.put(line)

    def write(self, folder: RunFolder) -> None:
        """Write the lines since the last call to the manifest of a run."""
        while not self._kept.empty():
            folder.note(self._kept.get())
