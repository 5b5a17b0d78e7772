"""The training loop: updates, metrics, checkpoints. A run can be stopped at any moment and continues where it was."""

import contextlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from action_balance.algorithms.state import TrainState
from action_balance.config.stopping import first_that_holds
from action_balance.config.train import TrainConfig
from action_balance.engines.base import Trainer
from action_balance.engines.callbacks import Listeners, MessageLog, Update
from action_balance.engines.continuation import Continuation
from action_balance.engines.factory import make_trainer
from action_balance.engines.metrics_rows import HostMetrics, check_finite, mean_metrics, memory, progress, rows, score
from action_balance.engines.restore import DEVICES, about, trained_on
from action_balance.engines.stall import StallWatch
from action_balance.envs.host_base import EnvironmentFailed, EnvironmentsLost
from action_balance.errors import UserError, WriteError
from action_balance.machine import failure
from action_balance.runs import MetricsLog, RunFolder
from action_balance.runs.folder import ENDED_EARLY, RunStatus, resume_command
from action_balance.signals import graceful_stop, kept
from action_balance.tracking import TRACKING, RunInfo, Tracking, check_installed, planned

#: Visits of all pairs are logged about this many times in a run, for environments with at most this many pairs.
VISITS_LOGGED, MAX_PAIRS = 60, 40_000

#: What helps where the machine is too small for a run.
SMALLER = "use a smaller world or smaller networks, or fewer --envs or --seeds"


def begin(path: Path, config: TrainConfig, listeners: Listeners, overwrite: bool = False) -> bool:
    """Train from the beginning, in a new folder; whether no callback has stopped it."""
    session = _Session(config, listeners, is_new=True)
    check_installed(listeners.track.names)
    with graceful_stop(session.stopping) as session.stop:
        trainer = make_trainer(config, session.messages)  # whatever it misses is noticed before there is a folder
        if session.stop.is_set():
            raise KeyboardInterrupt
        known = about(config, trainer.spec) | planned(listeners.track)
        folder = RunFolder.create(path, config.to_dict(), listeners.command, overwrite, known, config.env.packages)
        return session.run(folder, folder.metrics(), trainer, None, 0)


def resume(run: Continuation, listeners: Listeners) -> bool:
    """Train the rest of a run, from the newest intact checkpoint; whether no callback has stopped it."""
    folder, config, extension = run.folder, run.config, run.extension
    session = _Session(config, listeners, is_new=False)
    check_installed(listeners.track.names)
    with graceful_stop(session.stopping) as session.stop:
        saved = bool(folder.checkpoints().updates())
        trainer = make_trainer(config, session.messages, trained_on(folder) if saved else None)
        notes = [*run.notes, *([trainer.resume_note] if saved and trainer.resume_note else [])]
        shapes = trainer.state_shapes() if saved else None
        known = about(config, trainer.spec)
        before, now = folder.manifest.get(DEVICES), known.get(DEVICES)
        if saved and not notes and before != now and None not in (before, now):
            notes.append(f"the run was split over {before} devices, and now over {now}: results differ by rounding")
        say = listeners.on_message
        restored, log = folder.resume(shapes, listeners.command, notes, known, config.env.packages, say)
        if extension is not None:
            try:
                folder.change_config(extension.data, extension.before)
            except BaseException:
                folder.release()
                raise
            for line in extension.lines:
                say(line)
        elif restored.update:
            say(f"{folder.path}: continuing after update {restored.update:,} of {config.agent.updates:,}")
        return session.run(folder, log, trainer, restored.state, restored.update)


@dataclass
class _Session:
    """One process's part of a run."""

    config: TrainConfig
    listeners: Listeners
    is_new: bool  # whether this process makes the folder
    update: int = 0  # after which a stop is noticed
    trained: bool = False  # whether this process has finished an update
    stopped: bool = False  # whether a callback has ended the training
    stop: threading.Event = field(init=False)  # set when the user asks for a stop
    messages: MessageLog = field(init=False)
    folder: RunFolder = field(init=False)
    log: MetricsLog = field(init=False)
    trainer: Trainer = field(init=False)
    tracking: Tracking = field(init=False)

    def __post_init__(self) -> None:
        self.messages = MessageLog(self.listeners.on_message)

    def stopping(self) -> str:
        """When the run stops; nothing is lost by ending before the first update of this process is finished."""
        return f"stopping after this update ({self.update} of {self.config.agent.updates})" if self.trained else ""

    def run(self, folder: RunFolder, log: MetricsLog, trainer: Trainer, state: TrainState | None, done: int) -> bool:
        """Make the remaining updates; without a state, from the beginning. An error says how to continue."""
        self.folder, self.log, self.trainer = folder, log, trainer
        config = self.config
        run_info = RunInfo(folder.path.absolute().name, None, config.to_dict(), config.agent.label, config.env.name)
        self.tracking = Tracking(self.listeners.track, run_info, folder.manifest, self.messages)
        try:
            with kept(self._what_is_kept), self._recorded_end():
                try:
                    self.listeners.on_start()
                    if state is None:
                        self._tell_warmup()
                        state = trainer.init_state(self.stop.is_set)
                    if self.stop.is_set():
                        raise KeyboardInterrupt
                    trainer.start(state)
                    del state
                    self._train(done)
                finally:
                    trainer.close()
        except WriteError as error:
            raise error.then("run the same command again" if self._untrained() else self._how_to_resume()) from error
        except (EnvironmentsLost, EnvironmentFailed) as error:
            raise UserError(f"{error}; {self._what_is_kept()}") from error
        except Exception as error:
            why = failure(error)
            if why is None:
                raise
            raise UserError(f"{why}: {SMALLER}; {self._what_is_kept()}") from error
        if self.stop.is_set():  # a stop requested during the last update also ends a study
            raise KeyboardInterrupt(f"the run in {folder.path} had just finished")
        return not self.stopped

    def _train(self, done: int) -> None:
        config, total = self.config, self.config.agent.updates
        began = saved = time.perf_counter()
        stall = StallWatch(config.agent, config.seed, self.trainer.spec, is_done=done > 0)
        for update in range(done + 1, total + 1):
            try:
                metrics = self.trainer.advance()
            except (EnvironmentsLost, EnvironmentFailed):
                if update > done + 1:
                    self._save(update - 1, metrics)
                raise
            check_finite(metrics, update, self.folder.checkpoints().updates(), config.agent.algorithm.learning_rate)
            now = time.perf_counter()
            seconds, began = now - began, now
            steps = config.agent.steps_at(update)
            rate = config.seeds * config.agent.steps_per_update / seconds
            timing = {"update": update, "steps": steps, "steps_per_second": rate, **memory()}
            made, means = rows(metrics, update, steps, config.seed), mean_metrics(metrics, update, steps)
            self.log.append(made, timing)
            self._log_visits(update, steps)
            self.update, self.trained = update, True
            if line := stall(metrics):
                self.messages(line)
            self.listeners.report(progress(metrics, update, steps))  # as long as a terminal may take
            self.tracking.log(made, timing)
            self._record_tracking()
            self.messages.write(self.folder)
            try:
                is_enough = self.listeners.stops(Update(update, total, steps, means, made, self.trainer.state))
            except BaseException:  # of the code of a callback: nothing that was trained is lost
                self._save(update, metrics)
                raise
            reached, stopping, now = first_that_holds(config.conditions, means), self.stop.is_set(), time.perf_counter()
            self.update = min(update + 1, total)
            if stopping or is_enough or reached or config.is_checkpoint_due(update, now - saved):
                self._save(update, metrics)
                saved = time.perf_counter()
            if update == total:
                return
            if reached is not None:
                self.folder.record({ENDED_EARLY: {"condition": reached.text, "update": update}})
                self.messages(f"stopped after update {update:,} of {total:,}: --stop-when {reached.text} is met")
                return
            if stopping:
                raise KeyboardInterrupt
            if is_enough:
                self.stopped = True
                return

    def _tell_warmup(self) -> None:
        if steps := self.config.agent.steps_at(0):
            of_each = " of each seed" if self.config.seeds > 1 else ""
            self.messages(f"warm-up: the first {steps:,} steps{of_each} are those of a random agent")

    def _save(self, update: int, metrics: HostMetrics) -> None:
        self.log.sync()
        self.folder.checkpoints().save(update, self.trainer.state(), score(metrics))

    def _record_tracking(self) -> None:
        """Keep the ids of the tracked runs, with which a resume continues them."""
        tracked = self.tracking.news()
        if tracked is not None:
            self.folder.record({TRACKING: tracked})

    def _log_visits(self, update: int, steps: int) -> None:
        total = self.config.agent.updates
        if update % -(-total // VISITS_LOGGED) and update < total:
            return
        visits = self.trainer.visits()
        if visits is not None and visits.size <= MAX_PAIRS:
            self.log.append_visits(update, steps, visits)

    @contextmanager
    def _recorded_end(self) -> Iterator[None]:
        """Record how the run ended; a folder in which nothing was trained is removed."""
        status: RunStatus = "failed"
        try:
            yield
            status = "interrupted" if self.stopped else "finished"
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            try:
                self.tracking.finish(status)
            finally:
                self._finish(status)

    def _finish(self, status: RunStatus) -> None:
        # What ended the run is the first cause; the same full disk may also keep the manifest from being written.
        with contextlib.suppress(*(() if status == "finished" else (UserError,))):
            try:
                self._record_tracking()
                self.messages.write(self.folder)
            finally:
                self.folder.finish(status)
        if status != "finished" and self._untrained():
            with contextlib.suppress(UserError):
                RunFolder.delete(self.folder.path)  # the same command works once the cause is fixed

    def _untrained(self) -> bool:
        """Whether this process began the run, and has finished no update."""
        return self.is_new and self.folder.is_untrained

    def _what_is_kept(self) -> str:
        if self._untrained():
            return "no update was completed, so nothing was saved"
        saved, total = self.folder.checkpoints().updates(), self.config.agent.updates
        done = f"update {saved[-1]} of {total} is saved" if saved else "no checkpoint has been written yet"
        return f"{done}; {self._how_to_resume()}"

    def _how_to_resume(self) -> str:
        return f"resume with: {resume_command(self.folder.path, self.config.to_dict())}"
