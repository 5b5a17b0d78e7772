"""The training loop: updates, metrics, checkpoints. A run can be stopped at any moment and continues where it was."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from action_balance.agent.context import AgentContext
from action_balance.agent.state import TrainState
from action_balance.agent.warmup import random_steps
from action_balance.config.stopping import Condition, first_that_holds
from action_balance.config.train import TrainConfig
from action_balance.engines.base import Trainer
from action_balance.engines.callbacks import Callback, Update, call, mean_metrics
from action_balance.engines.device.devices import choose_devices
from action_balance.engines.extend import Extension
from action_balance.engines.factory import make_trainer
from action_balance.engines.memory import memory
from action_balance.engines.messages import MessageLog, OnMessage
from action_balance.engines.metrics_rows import HostMetrics, Progress, check_finite, progress, rows, score
from action_balance.engines.stall import StallWatch
from action_balance.envs.host_base import EnvironmentFailed, EnvironmentsLost
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError, WriteError
from action_balance.machine import failure
from action_balance.runs import MetricsLog, RunFolder
from action_balance.runs.folder import ENDED_EARLY, RunStatus, resume_command
from action_balance.signals import graceful_stop, kept
from action_balance.tracking import TRACKING, RunInfo, TrackConfig, Tracking, check_installed, planned

#: Visits of all pairs are logged about this many times in a run, for environments with at most this many pairs.
VISITS_LOGGED, MAX_PAIRS = 60, 40_000

#: Where the manifest of a run has the `EnvSpec` that its agents were built for.
ENV_SPEC = "env_spec"
#: Where it has the environment's own spaces, if they differ from what the `EnvSpec` describes.
SPACES = "spaces"

#: Where the manifest has the environment steps of a random agent before the first update, of each seed.
WARMUP = "warmup_steps"

#: Where it has the number of devices that a run is split over, if the settings say one.
DEVICES = "devices"

#: What helps where the machine is too small for a run.
SMALLER = "use a smaller world or smaller networks, or fewer --envs or --seeds"

#: Called after every update.
Report = Callable[[Progress], None]


def begin(
    path: Path,
    config: TrainConfig,
    command: Sequence[str],
    report: Report,
    overwrite: bool = False,
    on_message: OnMessage = lambda _: None,
    track: TrackConfig | None = None,
    callbacks: Sequence[Callback] = (),
    on_start: Callable[[], None] = lambda: None,
) -> bool:
    """Train from the beginning, in a new folder."""
    track = track or TrackConfig()
    check_installed(track.names)
    messages = MessageLog(on_message)
    now = _Now(config.agent.updates)
    with graceful_stop(now.stopping) as stop:
        trainer = make_trainer(config, messages)  # whatever it misses is noticed before there is a folder
        if stop.is_set():
            raise KeyboardInterrupt
        about = _about(trainer, config) | planned(track)
        folder = RunFolder.create(path, config.to_dict(), command, overwrite, about, config.env.packages)
        tracking = Tracking(track, _run_info(path, config), {}, messages)
        log = folder.metrics()
        session = _Session(folder, config, trainer, log, report, stop, messages, tracking, callbacks, True, now)
        return session.run(None, 0, on_start)


def resume(
    folder: RunFolder,
    config: TrainConfig,
    command: Sequence[str],
    report: Report,
    on_message: OnMessage,
    track: TrackConfig | None = None,
    callbacks: Sequence[Callback] = (),
    on_start: Callable[[], None] = lambda: None,
    extension: Extension | None = None,
    notes: Sequence[str] = (),
) -> bool:
    """Train the rest of a run, from the newest intact checkpoint."""
    track = track or TrackConfig()
    config = extension.config if extension else config
    check_installed(track.names)
    messages, now = MessageLog(on_message), _Now(config.agent.updates)
    with graceful_stop(now.stopping) as stop:
        saved = bool(folder.checkpoints().updates())
        trainer = make_trainer(config, messages, trained_on(folder) if saved else None)
        notes = [*notes, *([trainer.resume_note] if saved and trainer.resume_note else [])]
        shapes = trainer.state_shapes() if saved else None
        about = _about(trainer, config)
        before, here = folder.manifest.get(DEVICES), about.get(DEVICES)
        if saved and not notes and before != here and None not in (before, here):
            notes.append(f"the run was split over {before} devices, and now over {here}: results differ by rounding")
        if saved and WARMUP in folder.manifest:  # the run had it; a plan of another length would have had another
            del about[WARMUP]
        restored, log = folder.resume(shapes, command, notes, about, config.env.packages, on_message)
        if extension is not None:
            try:
                extension.write(folder)
            except BaseException:
                folder.release()
                raise
            for line in extension.lines:
                on_message(line)
        elif restored.update:
            on_message(f"{folder.path}: continuing after update {restored.update:,} of {config.agent.updates:,}")
        tracking = Tracking(track, _run_info(folder.path, config), folder.manifest, messages)
        session = _Session(folder, config, trainer, log, report, stop, messages, tracking, callbacks, False, now)
        return session.run(restored.state, restored.update, on_start)


def says_finished(folder: RunFolder, on_message: OnMessage) -> bool:
    """Whether a run is finished; if so, a message says it."""
    folder.check_unchanged()
    if folder.manifest.get("status") != "finished":
        return False
    on_message(f"{folder.path} is finished and has nothing left to train; to extend it, increase --steps")
    return True


def trained_on(folder: RunFolder) -> EnvSpec | None:
    """What the agents of a run were built for; None if the run did not record it."""
    return EnvSpec.from_dict(folder.manifest.get(ENV_SPEC))


def _run_info(path: Path, config: TrainConfig) -> RunInfo:
    """The description of a run that trackers receive."""
    return RunInfo(path.absolute().name, None, config.to_dict(), config.agent.label, config.env.name)


def _about(trainer: Trainer, config: TrainConfig) -> dict[str, Any]:
    spaces = config.env.spaces()
    known = {ENV_SPEC: trainer.spec.to_dict(), WARMUP: random_steps(AgentContext(config.agent, trainer.spec))}
    split = {DEVICES: len(choose_devices(config))} if config.devices is not None else {}
    return known | split | ({SPACES: spaces} if spaces is not None else {})


@dataclass
class _Now:
    """Where a run is, also for the thread that answers signals."""

    total: int  # updates of the whole run
    update: int = 0  # after which a stop is noticed
    trained: bool = False  # whether this process has finished an update
    stopped: bool = False  # whether a callback has ended the training

    def stopping(self) -> str:
        """When the run stops; nothing is lost by ending before the first update of this process is finished."""
        return f"stopping after this update ({self.update} of {self.total})" if self.trained else ""


@dataclass(frozen=True)
class _Session:
    """One process's part of a run."""

    folder: RunFolder
    config: TrainConfig
    trainer: Trainer
    log: MetricsLog
    report: Report
    stop: threading.Event  # set when the user asks for a stop
    messages: MessageLog
    tracking: Tracking
    callbacks: Sequence[Callback]
    is_new: bool  # whether this process has made the folder
    now: _Now

    def run(self, state: TrainState | None, done: int, on_start: Callable[[], None]) -> bool:
        """Make the remaining updates; without a state, from the beginning. An error says how to continue."""
        try:
            with kept(self._what_is_kept), self._recorded_end():
                try:
                    on_start()
                    if state is None:
                        self._tell_warmup()
                        state = self.trainer.init_state(self.stop.is_set)
                    if self.stop.is_set():
                        raise KeyboardInterrupt
                    self.trainer.start(state)
                    del state
                    self._train(done)
                finally:
                    self.trainer.close()
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
            raise KeyboardInterrupt(f"the run in {self.folder.path} had just finished")
        return not self.now.stopped

    def _tell_warmup(self) -> None:
        if steps := self.folder.manifest.get(WARMUP):
            of_each = " of each seed" if self.config.seeds > 1 else ""
            self.messages(f"warm-up: {steps:,} steps{of_each} of a random agent, in addition to --steps")

    def _train(self, done: int) -> None:
        config, checkpoints, total = self.config, self.folder.checkpoints(), self.config.agent.updates
        conditions, saved = config.conditions, time.perf_counter()
        began = saved
        stall = StallWatch(config.agent, config.seed, self.trainer.spec, is_done=done > 0)
        for update in range(done + 1, total + 1):
            try:
                metrics = self.trainer.advance()
            except (EnvironmentsLost, EnvironmentFailed):
                if update > done + 1:
                    self._save(update - 1, self.trainer.state, score(metrics))
                raise
            check_finite(metrics, update, checkpoints.updates(), config.agent.ppo.learning_rate)
            now = time.perf_counter()
            seconds, began = now - began, now
            steps = update * config.agent.steps_per_update
            rate = config.seeds * config.agent.steps_per_update / seconds
            timing = {"update": update, "steps": steps, "steps_per_second": rate, **memory()}
            made, means = rows(metrics, update, steps, config.seed), mean_metrics(metrics, update, steps)
            reached = first_that_holds(conditions, means)
            self.log.append(made, timing)
            self._log_visits(update, steps)
            self.now.update, self.now.trained = update, True
            if line := stall(metrics):
                self.messages(line)
            self.report(progress(metrics, update, steps))  # as long as a terminal may take
            self.tracking.log(made, timing)
            self._record_tracking()
            self.messages.write(self.folder)
            with self._saved_if_it_fails(update, metrics):
                self.now.stopped = call(self.callbacks, Update(update, total, steps, means, made)) and update < total
            ending = reached is not None or self.now.stopped
            stopping, now = self.stop.is_set(), time.perf_counter()
            self.now.update = min(update + 1, total)  # after which the next stop is noticed
            if stopping or ending or config.is_checkpoint_due(update, now - saved):
                self._save(update, self.trainer.state, score(metrics))
                saved = time.perf_counter()
            if reached is not None and update < total:
                self._end_early(reached, update, total)
                return
            if stopping and update < total:
                raise KeyboardInterrupt
            if ending:
                return

    @contextmanager
    def _saved_if_it_fails(self, update: int, metrics: HostMetrics) -> Iterator[None]:
        """Save the update if the code of a callback fails: nothing that was trained is lost."""
        try:
            yield
        except BaseException:
            self._save(update, self.trainer.state, score(metrics))
            raise

    def _save(self, update: int, state: Callable[[], TrainState], reached: float | None) -> None:
        """Save a checkpoint after all rows up to it."""
        self.log.sync()
        self.folder.checkpoints().save(update, state(), reached)

    def _end_early(self, reached: Condition, update: int, total: int) -> None:
        """Record that a condition has ended the run."""
        self.now.stopped = False
        self.folder.record({ENDED_EARLY: {"condition": reached.text, "update": update}})
        self.messages(f"stopped after update {update:,} of {total:,}: --stop-when {reached.text} is met")

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
            status = "interrupted" if self.now.stopped else "finished"
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
        saved = self.folder.checkpoints().updates()
        done = (
            f"update {saved[-1]} of {self.config.agent.updates} is saved"
            if saved
            else "no checkpoint has been written yet"
        )
        return f"{done}; {self._how_to_resume()}"

    def _how_to_resume(self) -> str:
        return f"resume with: {resume_command(self.folder.path, self.config.to_dict())}"
