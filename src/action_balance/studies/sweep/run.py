"""``sweep``: the search, the best settings with fresh seeds, and the report of both, all of them resumable."""

import contextlib
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from action_balance import signals
from action_balance.cluster.driver import raise_failures, train_jobs
from action_balance.cluster.jobs import Job
from action_balance.cluster.session import check_cluster, check_installed
from action_balance.config.cluster import ClusterConfig
from action_balance.config.train import TrainConfig
from action_balance.config.trust import leads_to
from action_balance.errors import UserError
from action_balance.files import check_inside
from action_balance.runs import ResultFolder, RunFolder
from action_balance.studies.registry import UNFIT
from action_balance.studies.run_job import RunJob, is_finished, same_command
from action_balance.studies.sweep import KIND
from action_balance.studies.sweep.journal import Journal, mend, propose
from action_balance.studies.sweep.page import result_page
from action_balance.studies.sweep.settings import PARTS, SweepSettings
from action_balance.studies.sweep.training import TrialJob, seed_scores
from action_balance.studies.sweep.trials import FINAL, TRIALS, Final, Trial, best, choose_finals, table
from action_balance.studies.sweep.verdict import show_verdict, values_text
from action_balance.terminal.console import say
from action_balance.terminal.summary import score
from action_balance.terminal.training import command_line
from action_balance.web.format import count
from action_balance.web.render import as_bytes

#: The file in which all processes keep what becomes of the trials.
JOURNAL = "journal.jsonl"

#: Failed trials, if no trial has a score, after which no other begins.
MAX_FAILED = 3

TABLE, REPORT = "sweep.csv", "report.html"


class Search:
    """The folder of a sweep: its trials, the runs with fresh seeds, and the report."""

    def __init__(self, folder: ResultFolder, settings: SweepSettings, console: Console) -> None:
        self._folder, self._settings, self._console = folder, settings, console
        self._out = folder.path.absolute()
        try:
            mend(self._out / JOURNAL)
            self._journal = Journal(self._out / JOURNAL, settings.search.early_stopping)
            for trial in self.trials():
                if trial.status != "invalid":
                    settings.space.apply(settings.base, trial.values)
        except (*UNFIT, UserError):
            raise UserError(
                f"{folder.path / JOURNAL} is damaged: choose another --out, or start over with --overwrite"
            ) from None

    def trials(self) -> list[Trial]:
        return self._journal.trials(self._settings)

    @property
    def finals(self) -> list[Final]:
        """What is trained with fresh seeds, with the scores of what is trained already."""
        return [read_scores(one, self._settings, self._out) for one in choose_finals(self._settings, self.trials())]

    def publish(self) -> None:
        settings, trials = self._settings, self.trials()
        space, metric = settings.space, settings.search.metric
        self._folder.summary |= {
            "command": shlex.join(command_line()),
            "planned": {"trials": settings.search.trials, "finalists": settings.search.finalists},
            "ours": {"trials": [one.to_data() for one in trials], "finals": [one.to_data() for one in self.finals]},
        }
        self._folder.write_csv(TABLE, *table(trials, space, metric))
        self._folder.write(REPORT, as_bytes(result_page(self._out, self._folder.summary)))
        self._folder.save()

    def train(self, cluster: ClusterConfig) -> None:
        """Train the trials that have not ended, and new ones."""
        wanted, trials = int(min(self._settings.search.trials, self._settings.space.size)), self.trials()
        ended = sum(self._journal.has_ended(one.number) for one in trials)
        if trials:
            say(self._console, f"{self._folder.path} already has {ended} of {count(wanted, 'trial')}")
        if ended >= wanted:
            return
        folder = self._folder.path / TRIALS
        failed = train_jobs(self._jobs(wanted), cluster, self._console, folder, self._finished, ended, wanted)
        for trial in self.trials():
            why = failed.get(f"trial {trial.number}")
            if why is not None and not self._journal.has_ended(trial.number):
                self._journal.note(trial.number, status="failed", reason=why)
        if failed and not self._journal.works():
            raise UserError(f"all trials fail: {list(failed.values())[-1]}")

    def _jobs(self, wanted: int) -> Iterator[Job]:
        """Trials that have not ended, first those that are known to work; then new ones, unless all fail."""
        space, base = self._settings.space, self._settings.base
        waiting = [one for one in self.trials() if not self._journal.has_ended(one.number)]
        for trial in waiting:
            self._journal.note(trial.number, status="running", reason="")
        for trial in sorted(waiting, key=lambda one: not one.part):
            if not self._all_fail():
                yield self._job(trial.number, space.apply(base, trial.values))
        while (number := len(self._journal.frozen())) < wanted and not self._all_fail():
            values = propose(space, base.seed, self._journal.frozen())
            if values is None:
                say(self._console, f"all {number} combinations of the values were tried")
                return
            text = f"trial {number}: {values_text(values, space)}"
            try:
                config = space.apply(base, values)
            except UserError as error:
                self._journal.add(space, values, invalid=str(error))
                say(self._console, f"{text}: invalid: {error}")
                continue
            self._journal.add(space, values)
            say(self._console, text)
            yield self._job(number, config)

    def _job(self, number: int, config: TrainConfig) -> TrialJob:
        search = self._settings.search
        run = self._run(TRIALS, f"{number:04}", config)
        return TrialJob(number, run, self._out / JOURNAL, search.metric, search.early_stopping)

    def _run(self, kind: str, name: str, config: TrainConfig) -> RunJob:
        trust = bool(leads_to(self._settings.base.to_dict()))  # the user has named all modules
        return RunJob(name, self._out / kind / name, config, tuple(command_line()), trust)

    def _all_fail(self) -> bool:
        return sum(one.status == "failed" for one in self.trials()) >= MAX_FAILED and not self._journal.works()

    def _finished(self, job: Job) -> str:
        self.publish()
        assert isinstance(job, TrialJob)
        trials = self.trials()
        trial = trials[job.number]
        text = trial.status if trial.status == "finished" else f"{trial.status} after {100 * trial.part // PARTS} %"
        text += f", score {score(trial.score)}"
        for first in best(trials, 1):
            is_best = first.number == trial.number
            text += ", the best so far" if is_best else f"; best so far: trial {first.number}, {score(first.score)}"
        return text

    def train_finals(self, cluster: ClusterConfig) -> None:
        """Train the best settings with fresh seeds, beside the settings without any change."""
        self.publish()
        finals = self.finals
        space, fresh = self._settings.space, self._settings.fresh
        jobs = [self._run(FINAL, one.name, space.apply(fresh, one.values)) for one in finals if not one.scores]
        if jobs:
            folder, done = self._folder.path / FINAL, len(finals) - len(jobs)
            raise_failures(train_jobs(jobs, cluster, self._console, folder, lambda _: self.publish(), done))
        self.publish()


def sweep(settings: SweepSettings, out: Path, overwrite: bool, cluster: ClusterConfig, console: Console) -> None:
    """Search for good settings, and train the best with fresh seeds."""
    for package in ("ray", "optuna"):
        check_installed(KIND, package)
    if overwrite:
        check_cluster(cluster)  # before anything is deleted
    with ResultFolder.open(out, KIND, settings.to_data(), overwrite, {}) as folder:
        if overwrite:
            _delete_runs(out)
        search, again = Search(folder, settings, console), f"{same_command(overwrite)} continues from there"

        def kept() -> str:
            return f"trials are kept in {out / TRIALS}; {again}"

        try:
            with signals.kept(kept):
                search.train(cluster)
                search.train_finals(cluster)
        except KeyboardInterrupt:
            with signals.kept(kept):
                search.publish()
            raise KeyboardInterrupt(f"{out / REPORT} shows the results so far; {again}") from None
        except Exception:  # a full disk, a cluster that is gone: the report is written before the error is shown
            with contextlib.suppress(UserError, OSError):
                search.publish()
            raise
    show_verdict(search.finals, settings.space, settings.search.metric, console)
    say(console, f"Open {out / REPORT} in a browser for all trials.")


def read_scores(final: Final, settings: SweepSettings, out: Path) -> Final:
    """The scores of the fresh seeds, if their run is finished."""
    path, config = out / FINAL / final.name, settings.space.apply(settings.fresh, final.values)
    done = is_finished(path, config)
    return replace(final, scores=tuple(seed_scores(path, config, settings.search.metric)[0].tolist()) if done else ())


def _delete_runs(out: Path) -> None:
    check_inside(out, out / JOURNAL)
    (out / JOURNAL).unlink(missing_ok=True)
    for name in (TRIALS, FINAL):
        check_inside(out, out / name)
        for path in sorted((out / name).glob("*")):
            if path.is_symlink():
                path.unlink()
            else:
                RunFolder.delete(path)
