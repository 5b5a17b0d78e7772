"""What a search decides, whoever trains its trials: which comes next, and what follows when one ends."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from action_balance.errors import UserError
from action_balance.studies.sweep.ledger import Ledger, Status, Trial
from action_balance.studies.sweep.sampler import Sampler
from action_balance.studies.sweep.settings import SweepSettings

#: Failed trials, if no trial has succeeded, after which a search ends.
MAX_FAILED = 3


class Watcher(Protocol):
    """Shows a search."""

    def say(self, line: str) -> None:
        """A line about the search."""

    def started(self, trial: Trial) -> None:
        """A process trains a trial."""

    def lost(self, trial: Trial) -> None:
        """The process of a trial is gone; another one continues."""

    def reported(self, trial: Trial) -> None:
        """A trial has done a part of its training."""

    def ended(self, trial: Trial) -> None:
        """A trial has ended."""


class Search:
    """The trials of a sweep, from the first to the last."""

    def __init__(self, settings: SweepSettings, ledger: Ledger, watcher: Watcher, stop: Callable[[], bool]) -> None:
        """Continue with the trials that have not ended."""
        self._settings, self._ledger, self._watcher, self._stop = settings, ledger, watcher, stop
        self._sampler = Sampler(settings.space, settings.base.seed, ledger.trials)
        self._waiting = sorted(ledger.unfinished, key=lambda one: not one.points)  # first those that are known to work
        self.running: set[int] = set()

    @property
    def problem(self) -> str:
        """Why all trials fail; empty if they do not."""
        failed = [one for one in self._ledger.trials if one.status in ("failed", "crashed")]
        good = any(one.status in ("finished", "stopped") or one.points for one in self._ledger.trials)
        return failed[-1].reason if len(failed) >= MAX_FAILED and not good else ""

    @property
    def is_stopping(self) -> bool:
        """Whether no trial begins any more."""
        return self._stop() or bool(self.problem)

    def next_trial(self) -> Trial | None:
        """The next trial to train: one that has not ended, or a new one; None if there is none."""
        if self.is_stopping:
            return None
        if self._waiting:
            trial = self._waiting.pop(0)
            self._sampler.again(trial)
            return self._ledger.change(trial.number, status="running", reason="")
        while (number := len(self._ledger.trials)) < self._settings.search.trials:
            values = self._sampler.ask(number)
            if values is None:
                self._watcher.say(f"all {number} combinations of the values were tried")
                return None
            try:
                self._settings.space.apply(self._settings.base, values)
            except UserError as error:
                self._ledger.add(values)
                self._end(number, "invalid", str(error))
                continue
            return self._ledger.add(values)
        return None

    def started(self, number: int) -> None:
        """A process trains a trial."""
        self.running.add(number)
        self._watcher.started(self._ledger.trials[number])

    def lost(self, number: int) -> None:
        """The process of a trial is gone."""
        self.running.discard(number)
        self._watcher.lost(self._ledger.trials[number])

    def reported(self, number: int, report: Mapping[str, Any]) -> None:
        """A trial tells how far it is."""
        known = {name: report[name] for name in ("score", "updates", "steps", "seconds") if name in report}
        trial = self._ledger.note(number, **known)
        part = report.get("part", 0)
        if part and part not in dict(trial.points):
            trial = self._ledger.note(number, points=(*trial.points, (part, report["score"])))
            self._watcher.reported(trial)

    def ended(self, number: int, report: Mapping[str, Any]) -> None:
        """A trial does not continue: it is finished or has failed, or it is stopped early or with the sweep."""
        self.running.discard(number)
        status: Status = report.get("status", "running")
        if status == "running":
            if self.is_stopping:
                return
            status = "stopped"
        self._end(number, status, report.get("reason", ""))

    def crashed(self, number: int, reason: str) -> None:
        """The process of a trial has died too often."""
        self.running.discard(number)
        self._end(number, "crashed", reason)

    def _end(self, number: int, status: Status, reason: str) -> None:
        trial = self._ledger.change(number, status=status, reason=reason)
        self._sampler.tell(trial)
        self._watcher.ended(trial)

    def forget_failures(self) -> None:
        """Let all failed trials begin again when the sweep is continued."""
        for trial in self._ledger.trials:
            if trial.status in ("failed", "crashed"):
                self._ledger.change(trial.number, status="running", reason="")
