"""The training of a trial in a thread: it pauses after each part until the sweep has decided about it."""

import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from action_balance._version import __version__
from action_balance.cluster import worker
from action_balance.cluster.worker import Attempt
from action_balance.config.train import TrainConfig
from action_balance.config.trust import leads_to
from action_balance.engines import loop
from action_balance.engines.callbacks import Update
from action_balance.errors import UserError, WriteError
from action_balance.runs import RunFolder
from action_balance.runs.owned import PATIENCE, FolderBusy
from action_balance.studies.run_job import is_finished
from action_balance.studies.sweep.ledger import STOPPED_EARLY, Status
from action_balance.studies.sweep.plan import PART, TrialPlan
from action_balance.studies.sweep.scores import ScoreReader
from action_balance.studies.sweep.settings import PARTS, parts

#: Seconds between two questions whether the sweep stops.
POLL = 1.0

#: What a trial tells the sweep: plain data, with the status and the reason as a `Trial` has them.
Report = dict[str, Any]


class TrialTraining:
    """Trains the run of a trial, begun now or earlier."""

    def __init__(self, number: int, values: Mapping[str, Any], plan: TrialPlan, home: Any) -> None:
        """Begin."""
        self._number, self._values, self._plan, self._home = number, values, plan, home
        self._trust = bool(leads_to(plan.base))  # what the user has named
        self._reports: queue.SimpleQueue[Report | BaseException] = queue.SimpleQueue()
        self._permits: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._ending = threading.Event()  # the run is saved after the update that is under way
        self._early = False  # because it is stopped early
        self._trained = False  # an update was made, which is worth to wait for
        self._pauses = False
        self._thread = threading.Thread(target=self._run, name="trial", daemon=True)
        self._thread.start()

    def next_report(self, is_stopping: Callable[[], bool]) -> Report:
        """Continue until the next part is done, or until the training ends."""
        if is_stopping():
            self._ending.set()
        if self._pauses:
            self._permits.put(True)
        while True:
            try:
                report = self._reports.get(timeout=POLL)
            except queue.Empty:
                if not self._ending.is_set() and is_stopping():
                    self._ending.set()
                if self._ending.is_set() and not self._trained:
                    return {"status": "running", "done": True}
                continue
            if isinstance(report, BaseException):
                raise report
            self._pauses = not report["done"]
            return report

    def close(self, early: bool = False) -> None:
        """End the training; what was trained is saved, and nothing is lost while it compiles."""
        self._early = early
        self._ending.set()
        self._permits.put(False)
        if self._trained:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._reports.put(self._train_where_possible())
        except UserError as error:
            failed = worker.outcome_of(error).status == "failed" and not isinstance(error, WriteError)
            # Otherwise another process, another machine or another time may succeed.
            self._reports.put({"status": "failed", "reason": str(error), "done": True} if failed else error)
        except BaseException as error:
            self._reports.put(error)

    def _train_where_possible(self) -> Report:
        plan = self._plan
        if plan.version != __version__:
            raise RuntimeError(f"{socket.gethostname()} has version {__version__}, and the command {plan.version}")
        worker.prepare(Attempt(1, plan.cpus, plan.cwd, Path()))
        config = plan.space.apply(TrainConfig.from_dict(plan.base, trust=True), self._values)
        return self._train(plan.folder / f"{self._number:04}", config)

    def _train(self, folder: Path, config: TrainConfig) -> Report:
        ends, reader = parts(config.agent.updates), ScoreReader(folder, config, self._plan.metric)

        def report(status: Status, done: bool) -> Report:
            reader.read()
            return {"status": status, "done": done, **asdict(reader.measured())}

        def after_update(made: Update) -> bool:
            self._trained = True
            if self._ending.is_set():
                return False
            part = ends.get(made.update, PARTS)
            if part == PARTS:  # the last one is reported when the run is finished
                return True
            self._reports.put({PART: part, **report("running", done=False)})
            return self._permits.get()

        if not self._begin_or_resume(folder, config, after_update):
            if self._early:
                _note_early_stop(folder)
            return {PART: 0, **report("running", done=True)}
        return {PART: PARTS, **report("finished", done=True)}

    def _begin_or_resume(self, folder: Path, config: TrainConfig, after_update: Callable[[Update], bool]) -> bool:
        """Train what is missing; whether the run is finished. A process that was lost may hold its lock for a while."""
        if is_finished(folder, config):
            return True
        give_up = time.monotonic() + worker.PATIENCE
        while True:
            try:
                if not RunFolder.holds_run(folder):
                    return loop.begin(folder, config.with_defaults(), self._plan.command, _no, callbacks=[after_update])
                run = RunFolder.open(folder)
                stored = TrainConfig.from_dict(run.config, self._trust)
                return loop.resume(run, stored, self._plan.command, _no, _no, callbacks=[after_update])
            except FolderBusy:
                if time.monotonic() >= give_up or self._ending.is_set():
                    raise
                time.sleep(0.5)


def _no(_: object) -> None:
    """Nobody watches."""


def _note_early_stop(folder: Path) -> None:
    """Keep in the manifest of a run that its sweep does not continue it."""
    run = RunFolder.open(folder)
    run.acquire(PATIENCE)
    with run:
        run.record({STOPPED_EARLY: True})
