"""Trains jobs as tasks of a Ray cluster. Ray decides when and where; here is decided what happens to lost ones."""

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from action_balance.cluster.board import Board
from action_balance.cluster.jobs import Job
from action_balance.cluster.mailbox import Mailbox, Message, Place
from action_balance.cluster.session import Resources, ray_session
from action_balance.cluster.worker import Attempt, Outcome, work
from action_balance.config.cluster import ClusterConfig
from action_balance.errors import UserError
from action_balance.files import reason
from action_balance.machine import failure
from action_balance.signals import graceful_stop
from action_balance.terminal.console import say
from action_balance.web.format import count, listed

#: Seconds between two looks at what tasks do, and to wait for the messages that they have left.
POLL, PATIENCE = 0.25, 30.0

#: Seconds that tasks have to save and end when the command is interrupted.
GRACE = 60.0

#: Seconds before a job that has crashed without progress is tried again: doubled each time, up to the second.
DELAY, LONGEST_DELAY = 1.0, 30.0

#: Seconds until a job that another process trains is tried again.
BUSY_DELAY = 15.0

#: Called with each job that is finished, such as to write a report; may return what a line says of it.
OnFinished = Callable[[Job], str | None]


@dataclass(eq=False)
class _Run:
    """Where a job is."""

    job: Job
    saved: int = 0  # updates that were kept when it was last lost
    attempt: int = 0
    crashes: int = 0  # in a row, without progress
    place: Place | None = None  # of the current attempt
    due: float | None = 0.0  # when it is submitted; None while it is trained


@dataclass
class Campaign:
    """The jobs that a command trains."""

    resources: Resources
    board: Board
    on_finished: OnFinished
    max_crashes: int
    marker: Path
    failed: dict[str, str] = field(default_factory=dict)  # why jobs could not be trained, by name
    _runs: dict[str, _Run] = field(default_factory=dict)  # that have not ended, by name
    _refs: dict[Any, _Run] = field(default_factory=dict)
    _mailbox: Any = None
    _taking: Any = None  # the request for messages that has not been answered yet

    def train(self, jobs: Iterable[Job]) -> dict[str, str]:
        """Train jobs until all of them are finished or have failed; an iterator is asked whenever there is room."""
        room = math.inf if isinstance(jobs, Sequence) else self.resources.slots
        coming = iter(jobs)
        self._start_mailbox()
        with self.board, graceful_stop(lambda: f"stopping: {count(len(self._refs), 'run')} will be saved") as stop:
            try:
                while True:
                    if stop.is_set():
                        raise KeyboardInterrupt
                    while len(self._runs) < room and (job := next(coming, None)) is not None:
                        self._runs[job.name] = _Run(job, job.saved())
                        self.board.add(job)
                    if not self._runs:
                        return self.failed
                    self._step()
            except BaseException:
                self._stop_tasks()
                raise

    def _start_mailbox(self) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor = ray.remote(Mailbox).options(num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=here)
        self._mailbox = actor.remote()

    def _step(self) -> None:
        """Submit what is due, and take notice of what has happened since."""
        import ray

        for run in self._runs.values():
            if run.due is not None and run.due <= time.monotonic():
                self._submit(run)
        if not self._refs:
            time.sleep(POLL)
            return
        done, _ = ray.wait(list(self._refs), num_returns=len(self._refs), timeout=POLL)
        for message in [*self._take(POLL), *(self._take(PATIENCE) if done else [])]:
            self._show(message)
        for ref in done:
            self._ended(self._refs.pop(ref), ref)
        self.board.refresh()

    def _submit(self, run: _Run) -> None:
        import ray

        run.attempt, run.place, run.due = run.attempt + 1, None, None
        attempt = Attempt(run.attempt, max(1, int(self.resources.cpus)), os.getcwd(), self.marker)
        options = self.resources.options | {"max_retries": 0, "name": run.job.name}
        self._refs[ray.remote(work).options(**options).remote(run.job, attempt, self._mailbox)] = run

    def _take(self, patience: float) -> list[Message]:
        """Messages that have arrived; those that are not here in time come with the next call."""
        import ray

        self._taking = self._taking or self._mailbox.take.remote()
        if not ray.wait([self._taking], timeout=patience)[0]:
            return []
        taking, self._taking = self._taking, None
        try:
            found: list[Message] = ray.get(taking)
        except ray.exceptions.RayError:  # the actor is started again
            return []
        return found

    def _show(self, message: Message) -> None:
        run = self._runs.get(message.job)
        if run is None or message.attempt != run.attempt or run not in self._refs.values():
            return  # of a process that was lost, or has ended
        if message.kind == "started":
            run.place = message.about
            self.board.started(run.job, message.about.host, run.attempt, run.saved)
        elif message.kind == "progress":
            self.board.progress(run.job, message.about)
        else:
            self.board.say(f"{run.job.name}: {message.about}")

    def _ended(self, run: _Run, ref: Any) -> None:
        """Decide what happens to a job whose attempt has ended."""
        import ray

        errors = ray.exceptions
        try:
            outcome: Outcome = ray.get(ref)
        except errors.RayTaskError as error:  # first: it is also an error of the kind that the task has raised
            cause = error.cause if isinstance(error.cause, Exception) else error
            self._give_up(run, failure(cause) or f"{type(cause).__name__}: {reason(cause)}")
        except errors.TaskUnschedulableError as error:
            self._give_up(run, reason(error))
        except errors.RayError:  # its process or its node is gone
            self._lost(run)
        else:
            self._came_back(run, outcome)

    def _came_back(self, run: _Run, outcome: Outcome) -> None:
        if outcome.status == "finished":
            self._runs.pop(run.job.name, None)
            try:
                says = self.on_finished(run.job)
            except (UserError, OSError) as error:  # other runs change their files; the report in the end is complete
                says = f"finished, but there is no report yet: {reason(error)}"
            self.board.finished(run.job, says)
        elif outcome.status == "failed":
            self._give_up(run, outcome.reason)
        elif outcome.status == "busy":
            self._again(run, BUSY_DELAY, "another process trains it; waiting")
        elif outcome.status == "crashed":
            self._lost(run, outcome.reason)
        else:  # its machine is about to be taken away
            run.saved = run.job.saved()
            self._again(run, 0.0, f"stopped by its machine; {_rest(run.saved)}")

    def _lost(self, run: _Run, why: str = "") -> None:
        """Try a job again whose process or machine is gone, or whose machine could not train it."""
        before, run.saved = run.saved, run.job.saved()
        where = f" on {run.place.host}" if run.place else ""
        if not why and run.place is not None and not self._is_alive(run.place.node):
            self._again(run, 0.0, f"its machine was lost; {_rest(run.saved)}")
            return
        run.crashes = 0 if run.saved > before else run.crashes + 1
        if run.crashes >= self.max_crashes:
            crashed = f"it crashed {count(run.crashes, 'time')} in a row without progress, at last{where}"
            self._give_up(run, f"{crashed}: {why}" if why else crashed)
            return
        delay = min(LONGEST_DELAY, DELAY * 2 ** (run.crashes - 1)) if run.crashes else 0.0
        self._again(run, delay, f"{why or 'its process was lost'}{where}; {_rest(run.saved)}")

    def _is_alive(self, node: str) -> bool:
        import ray

        return any(one["Alive"] and one["NodeID"] == node for one in ray.nodes())

    def _again(self, run: _Run, delay: float, why: str) -> None:
        run.due = time.monotonic() + delay
        self.board.waiting(run.job, why)

    def _give_up(self, run: _Run, why: str) -> None:
        self._runs.pop(run.job.name, None)
        self.failed[run.job.name] = why
        self.board.failed(run.job, why)

    def _stop_tasks(self) -> None:
        import ray

        refs = list(self._refs)
        with suppress(Exception):  # of a cluster that is gone
            for ref in refs:
                ray.cancel(ref, force=False)
            ray.wait(refs, num_returns=len(refs), timeout=GRACE)


def _rest(saved: int) -> str:
    return f"it continues after update {saved:,}" if saved else "it starts again"


def train_jobs(
    jobs: Iterable[Job],
    config: ClusterConfig,
    console: Console,
    folder: Path,
    on_finished: OnFinished,
    finished: int = 0,
    total: int | None = None,
) -> dict[str, str]:
    """Train jobs with Ray in a folder that all nodes see, and show their progress; why jobs failed, by name.

    The jobs can be an iterator, which chooses each when there is room for it; then ``total`` says how many there are.
    """
    if isinstance(jobs, Sequence):
        total = finished + len(jobs)
    if total is None or total <= finished:
        return {}
    with ray_session(config) as resources:
        if not resources.fits:
            say(console, f"no node has {resources.cpus:g} cores and {resources.gpus:g} GPUs yet: runs wait for one")
        runs = count(total - finished, "run")
        say(console, f"training {runs} on {resources.description}; results go to {folder}")
        folder = folder.absolute()
        try:  # tasks see by this file whether they share the storage of the command
            folder.mkdir(parents=True, exist_ok=True)
            marker = tempfile.NamedTemporaryFile(prefix=".campaign-", dir=folder)  # noqa: SIM115
        except OSError as error:
            raise UserError(f"cannot write to {folder}: {reason(error)}; choose another --out") from None
        with marker:
            board = Board(console, total, finished)
            return Campaign(resources, board, on_finished, config.max_crashes, Path(marker.name)).train(jobs)


def raise_failures(failed: dict[str, str]) -> None:
    """Raise a `UserError` if runs could not be trained."""
    if failed:
        raise UserError(f"could not train {listed(list(failed), 3)}, as said above: the same command tries again")
