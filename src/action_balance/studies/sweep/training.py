"""The training of a trial: an ordinary run that tells the journal its scores, and may be stopped early."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from action_balance.cluster.worker import outcome_of
from action_balance.engines.callbacks import Listeners, Update
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError, WriteError
from action_balance.studies import run_job
from action_balance.studies.run_job import RunJob
from action_balance.studies.sweep.scores import measure
from action_balance.studies.sweep.settings import rungs


@dataclass(frozen=True)
class TrialJob:
    """A trial that a cluster trains."""

    number: int
    run: RunJob
    journal: Path
    metric: str
    early_stopping: bool

    @property
    def name(self) -> str:
        return f"trial {self.number}"

    @property
    def folder(self) -> Path:
        return self.run.folder

    @property
    def updates(self) -> int:
        return self.run.updates

    @property
    def seeds(self) -> int:
        return self.run.seeds

    def saved(self) -> int:
        return self.run.saved()

    def claim(self) -> AbstractContextManager[None]:
        return self.run.claim()

    def train(self, report: Callable[[Progress], None], on_message: Callable[[str], None]) -> None:
        """Train what is missing, unless the trial has ended; what a run says is left out, as there are many."""
        del on_message
        from action_balance.studies.sweep.journal import Journal

        journal, run = Journal(self.journal, self.early_stopping), self.run
        if journal.has_ended(self.number):
            return
        parts = rungs(run.updates)

        def after_update(made: Update) -> bool:
            if made.update not in parts:
                return True
            measured = measure(run.folder, run.config, self.metric)
            known = math.isfinite(measured.score)  # not before the first episode has ended
            return not (known and journal.stops_early(self.number, parts[made.update], measured))

        try:
            listeners = Listeners(run.command, report, callbacks=[after_update])
            if not run_job.train(run.folder, run.config, listeners, run.trust):
                return
            measured = measure(run.folder, run.config, self.metric)
            if not math.isfinite(measured.score):
                raise UserError(f"{self.metric} has no value for all seeds in the end")
            journal.finish(self.number, measured)
        except UserError as error:
            if outcome_of(error).status == "failed" and not isinstance(error, WriteError):
                journal.fail(self.number, str(error))
            raise
