"""Trains jobs as tasks of a Ray cluster. Ray decides when and where; here is decided what happens to lost ones."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from action_balance.cluster.board import Board
from action_balance.cluster.home import Home, Message, Place
from action_balance.cluster.jobs import Job
from action_balance.cluster.session import Resources, ray_session
from action_balance.cluster.worker import Attempt, Outcome, Storage, work
from action_balance.config.cluster import ClusterConfig
from action_balance.errors import UserError
from action_balance.files import reason
from action_balance.machine import failure
from action_balance.signals import graceful_stop
from action_balance.tasks import Task, task
from action_balance.terminal.console import say
from action_balance.web.format import count, listed

#: Seconds between two looks at the messages of tasks.
POLL = 0.25

#: Seconds that tasks have to save and end when the command is interrupted, and when it is terminated: a cluster kills
#: what has not ended half a minute after SIGTERM.
GRACE, TERMINATED = 60.0, 25.0

#: Seconds to wait for the last messages of a task that has ended.
LAST_WORDS = 2.0

#: Seconds before a job that has crashed without progress is tried again: doubled each time, up to the second.
DELAY, LONGEST_DELAY = 1.0, 30.0

#: Seconds until a job that another process trains is tried again.
BUSY_DELAY = 15.0


@dataclass(eq=False)
class _Run:
    """Where a job is."""

    job: Job
    attempt: int = 0
    crashes: int = 0  # in a row, without progress
    saved: int = 0  # updates that were kept when it was last lost
    place: Place | None = None  # of the current attempt
    due: float = 0.0  # when it is submitted


@dataclass
class Campaign:
    """The jobs that a command trains."""

    resources: Resources
    """What each of them reserves."""
    board: Board
    """Shows them."""
    on_finished: Callable[[Job], None]
    """Called with each job that is finished, such as to write a report."""
    max_crashes: int
    """Crashes in a row, without progress, after which a job is given up."""
    storage: Storage = "auto"
    failed: dict[str, str] = field(default_factory=dict)
    """Why jobs could not be trained, by name."""
    _runs: dict[str, _Run] = field(default_factory=dict)
    _refs: dict[Any, _Run] = field(default_factory=dict)
    _home: Any = None
    _taking: Any = None  # the request for messages that has not been answered yet

    def train(self, jobs: Sequence[Job]) -> dict[str, str]:
        """Train jobs until all of them are finished or have failed."""
        self._runs = {job.name: _Run(job, saved=job.saved(job.folder)) for job in jobs}
        self._home = self._start_home()
        under_way = partial(Task, stopping=self._stopping, closing=TERMINATED)
        with self.board, graceful_stop() as stop, task(under_way(stop=stop)):
            try:
                while self._refs or any(run.due >= 0 for run in self._runs.values()):
                    if stop.is_set():
                        raise KeyboardInterrupt
                    self._step()
            except BaseException:
                self._stop_tasks()
                raise
        return self.failed

    def _stopping(self) -> str:
        return f"stopping: {count(len(self._refs), 'run')} will be saved"

    def _start_home(self) -> Any:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor = ray.remote(Home).options(num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=here)
        return actor.remote()

    def _step(self) -> None:
        """Submit what is due, and take notice of what has happened since."""
        import ray

        now = time.monotonic()
        for run in self._runs.values():
            if 0 <= run.due <= now:
                self._submit(run)
        if not self._refs:
            time.sleep(POLL)
            return
        done, _ = ray.wait(list(self._refs), num_returns=1, timeout=POLL)
        if done:  # others may have ended, too
            done, _ = ray.wait(list(self._refs), num_returns=len(self._refs), timeout=0)
        self._read_messages(ended=bool(done))
        for ref in done:
            self._ended(self._refs.pop(ref), ref)
        self.board.refresh()

    def _submit(self, run: _Run) -> None:
        import ray

        run.attempt, run.place, run.due = run.attempt + 1, None, -1.0
        attempt = Attempt(run.attempt, max(1, int(self.resources.cpus)), os.getcwd(), self.storage)
        options = self.resources.options | {"max_retries": 0, "name": run.job.name}
        self._refs[ray.remote(work).options(**options).remote(run.job, attempt, self._home)] = run

    def _read_messages(self, ended: bool) -> None:
        """Show what tasks have told, and wait for the last words of those that have ended."""
        for message in [*self._take(LAST_WORDS if ended else 0.0), *(self._take(LAST_WORDS) if ended else [])]:
            self._show(message)

    def _take(self, patience: float) -> list[Message]:
        """Messages that have arrived; those that are not here in time come with the next call."""
        import ray

        self._taking = self._taking or self._home.take.remote()
        if not ray.wait([self._taking], timeout=patience)[0]:
            return []
        taking, self._taking = self._taking, None
        try:
            found: list[Message] = ray.get(taking)
        except ray.exceptions.RayError:  # the actor is started again
            return []
        return found

    def _show(self, message: Message) -> None:
        run = self._runs[message.job]
        if message.attempt != run.attempt or run not in self._refs.values():
            return  # of a process that was lost, or has ended
        if message.kind == "started":
            run.place = message.about
            self.board.started(run.job, message.about, run.attempt, run.saved)
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
            self.board.finished(run.job)
            try:
                self.on_finished(run.job)
            except (UserError, OSError) as error:  # other runs change their files; the report in the end is complete
                self.board.say(f"no report after {run.job.name}: {reason(error)}")
        elif outcome.status == "failed":
            self._give_up(run, outcome.reason)
        elif outcome.status == "busy":
            self._again(run, BUSY_DELAY, "another process trains it; waiting")
        elif outcome.status == "lost":
            self._again(run, DELAY, f"{outcome.reason}; waiting")
        elif outcome.status == "crashed":
            self._lost(run, outcome.reason)
        else:  # its machine is about to be taken away
            run.saved = run.job.saved(run.job.folder)
            self._again(run, 0.0, f"stopped by its machine; {_rest(run.saved)}")

    def _lost(self, run: _Run, why: str = "") -> None:
        """Try a job again whose process or machine is gone, or whose machine could not train it."""
        saved, before = run.job.saved(run.job.folder), run.saved
        run.saved = saved
        where = f" on {run.place.host}" if run.place else ""
        rest = _rest(saved)
        if not why and run.place is not None and not self._is_alive(run.place.node):
            self._again(run, 0.0, f"its machine was lost; {rest}")
            return
        run.crashes = 0 if saved > before else run.crashes + 1
        if run.crashes >= self.max_crashes:
            crashed = f"it crashed {count(run.crashes, 'time')} in a row without progress, at last{where}"
            self._give_up(run, f"{crashed}: {why}" if why else crashed)
            return
        delay = min(LONGEST_DELAY, DELAY * 2 ** (run.crashes - 1)) if run.crashes else 0.0
        self._again(run, delay, f"{why or 'its process was lost'}{where}; {rest}")

    def _is_alive(self, node: str) -> bool:
        import ray

        return any(one["Alive"] and one["NodeID"] == node for one in ray.nodes())

    def _again(self, run: _Run, delay: float, why: str) -> None:
        run.due = time.monotonic() + delay
        self.board.waiting(run.job, why)

    def _give_up(self, run: _Run, why: str) -> None:
        self.failed[run.job.name] = why
        self.board.failed(run.job, why)

    def _stop_tasks(self) -> None:
        """Let all tasks save and end."""
        import ray

        for run in self._runs.values():
            run.due = -1.0
        refs = list(self._refs)
        with suppress(Exception):  # of a cluster that is gone
            for ref in refs:
                ray.cancel(ref, force=False)
            ray.wait(refs, num_returns=len(refs), timeout=GRACE)
        self._refs = {}


def _rest(saved: int) -> str:
    return f"it continues after update {saved:,}" if saved else "it starts again"


def train_jobs(
    jobs: Sequence[Job],
    config: ClusterConfig,
    console: Console,
    folder: Path,
    on_finished: Callable[[Job], None],
    finished: int = 0,
    storage: Storage = "auto",
) -> dict[str, str]:
    """Train jobs with Ray, and show their progress."""
    if not jobs:
        return {}
    with ray_session(config) as resources:
        if not resources.fits:
            say(console, f"no node has {resources.cpus:g} cores and {resources.gpus:g} GPUs yet: runs wait for one")
        say(console, f"training {count(len(jobs), 'run')} on {resources.description}; results go to {folder}")
        for parent in {job.folder.parent for job in jobs}:
            make_parent(parent)
        board = Board(console, jobs, finished)
        return Campaign(resources, board, on_finished, config.max_crashes, storage).train(jobs)


def make_parent(folder: Path) -> None:
    """Make the folder that the folders of jobs are in: tasks see by it whether they share it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write to {folder}: {reason(error)}; choose another --out") from None


def raise_failures(failed: dict[str, str]) -> None:
    """Raise a `UserError` if runs could not be trained."""
    if failed:
        raise UserError(f"could not train {listed(list(failed), 3)}, as said above: the same command tries again")
