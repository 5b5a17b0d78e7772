"""``sweep``: the search, the best settings with fresh seeds, and the report of both, all of them resumable."""

import contextlib
import shlex
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from action_balance.cluster.driver import TERMINATED
from action_balance.cluster.session import check_cluster, check_installed, ray_session
from action_balance.config.cluster import ClusterConfig
from action_balance.errors import UserError
from action_balance.files import check_inside
from action_balance.runs import ResultFolder, RunFolder
from action_balance.signals import graceful_stop
from action_balance.studies.registry import UNFIT, damaged
from action_balance.studies.run_job import same_command
from action_balance.studies.sweep import KIND
from action_balance.studies.sweep.final import Final, choose_finals, read_scores, train_finals
from action_balance.studies.sweep.folder import FINAL, TRIALS
from action_balance.studies.sweep.ledger import Ledger, Trial, columns, recovered, rows
from action_balance.studies.sweep.page import sweep_page
from action_balance.studies.sweep.screen import SearchScreen, show_verdict
from action_balance.studies.sweep.settings import SweepSettings
from action_balance.tasks import Task, task
from action_balance.terminal.console import say
from action_balance.terminal.training import command_line
from action_balance.web.format import count
from action_balance.web.render import as_bytes

#: Seconds between two reports while trials come in.
REPORT_EVERY = 10.0

TABLE, REPORT = "sweep.csv", "report.html"


class Record:
    """The folder of a sweep: its trials, the runs with fresh seeds, and the report."""

    def __init__(
        self, folder: ResultFolder, settings: SweepSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Read what is there."""
        self._folder, self._settings, self._clock = folder, settings, clock
        self._reported = -REPORT_EVERY
        ours = folder.summary["ours"]
        try:
            self.finals = [Final.from_data(one) for one in ours.get("finals", [])]
            trials = [Trial.from_data(one) for one in ours.get("trials", [])]
            for place, trial in enumerate(trials):
                if trial.number != place or {*trial.values} != {*settings.space.names}:
                    raise ValueError("trials that do not belong together")
                if trial.status != "invalid":
                    settings.space.apply(settings.base, trial.values)
        except (*UNFIT, UserError):
            raise damaged(folder.path) from None
        self.ledger = Ledger(self.keep, trials)

    def recover(self) -> None:
        """Notice how trials ended that another process has trained since the ledger was written."""
        settings, folder = self._settings, self._folder.path / TRIALS
        for trial in self.ledger.unfinished:
            config = settings.space.apply(settings.base, trial.values)
            found = recovered(trial, folder / trial.name, config, settings.search.metric)
            self.ledger.trials[trial.number] = found

    def keep(self) -> None:
        """Write the trials; every now and then also the table and the report."""
        self._fill()
        self._folder.save()
        if self._clock() - self._reported >= REPORT_EVERY:
            self.publish()

    def publish(self) -> None:
        """Write everything."""
        self._reported = self._clock()
        self._fill()
        space, metric = self._settings.space, self._settings.search.metric
        self._folder.write_csv(TABLE, columns(space, metric), rows(self.ledger.trials, space))
        self._folder.write(REPORT, as_bytes(sweep_page(self._folder.summary)))
        self._folder.save()

    def choose_finals(self) -> None:
        """Choose what is trained with fresh seeds, and read the scores of what is trained already."""
        chosen = choose_finals(self._settings, self.ledger.trials)
        self.finals = [read_scores(one, self._settings, self._folder.path) for one in chosen]

    def _fill(self) -> None:
        self._folder.summary["command"] = shlex.join(command_line())
        self._folder.summary["planned"] = {
            "trials": self._settings.search.trials,
            "finalists": self._settings.search.finalists,
        }
        self._folder.summary["ours"] = {
            "trials": [one.to_data() for one in self.ledger.trials],
            "finals": [one.to_data() for one in self.finals],
        }


def sweep(settings: SweepSettings, out: Path, overwrite: bool, cluster: ClusterConfig, console: Console) -> None:
    """Search for good settings, and train the best with fresh seeds."""
    for package in ("ray", "optuna"):
        check_installed(KIND, package)
    if overwrite:
        check_cluster(cluster)  # before anything is deleted
    with ResultFolder.open(out, KIND, settings.to_data(), overwrite, {}) as folder:
        if overwrite:
            _delete_runs(out)
        record = Record(folder, settings)
        kept = f"trials are kept in {out / TRIALS}; {same_command(overwrite)} continues from there"
        with task(Task(lambda: kept)):
            try:
                _search(record, settings, out, cluster, console)
                _finish(record, settings, out, cluster, console)
            except KeyboardInterrupt:
                record.choose_finals()
                record.publish()
                shows = f"{out / REPORT} shows the results so far" if record.ledger.trials else "nothing was tried yet"
                raise KeyboardInterrupt(f"{shows}; {same_command(overwrite)} continues from there") from None
            except Exception:  # a full disk, a cluster that is gone: the report is written before the error is shown
                with contextlib.suppress(UserError, OSError):
                    record.publish()
                raise
        record.publish()
    show_verdict(record.finals, settings.space, settings.search.metric, console)
    say(console, f"Open {out / REPORT} in a browser for all trials.")


def _search(record: Record, settings: SweepSettings, out: Path, cluster: ClusterConfig, console: Console) -> None:
    from action_balance.studies.sweep.search import Search

    record.recover()
    ledger, trials = record.ledger, int(min(settings.search.trials, settings.space.size))
    ended = len(ledger.trials) - len(ledger.unfinished)
    if ledger.trials:
        say(console, f"{out} already has {ended} of {count(trials, 'trial')}")
    if ended >= trials:
        return
    with ray_session(cluster) as resources:
        from action_balance.studies.sweep.tuning import tune_trials

        where = f"{resources.description}; runs go to {out / TRIALS}"
        say(console, f"training {count(trials - ended, 'trial')} on {where}")
        with SearchScreen(console, settings.space, ledger, trials) as screen, graceful_stop() as stop:
            search = Search(settings, ledger, screen, stop.is_set)
            with task(Task(stop=stop, stopping=lambda: _stopping(search.running), closing=TERMINATED)):
                tune_trials(settings, search, ledger, out, resources, cluster)
        if stop.is_set():
            raise KeyboardInterrupt
        if why := search.problem:
            search.forget_failures()
            raise UserError(f"all trials fail: {why}")


def _stopping(running: set[int]) -> str:
    return f"stopping: {count(len(running), 'trial')} will be saved"


def _finish(record: Record, settings: SweepSettings, out: Path, cluster: ClusterConfig, console: Console) -> None:
    record.choose_finals()
    record.publish()
    if record.ledger.best is None:
        return

    def on_finished() -> None:
        record.choose_finals()
        record.publish()

    train_finals(record.finals, settings, out, cluster, console, on_finished)
    record.choose_finals()


def _delete_runs(out: Path) -> None:
    for name in (TRIALS, FINAL):
        check_inside(out, out / name)
        for path in sorted((out / name).glob("*")):
            if path.is_symlink():
                path.unlink()
            else:
                RunFolder.delete(path)
