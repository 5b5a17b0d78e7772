"""Trains what is missing of a study, here or on a cluster, and writes its report from the runs that exist.

A study is a plan of training runs by name, each one condition: its settings, and one seed or many. A run is trained and
resumed like every other, so that a study can be interrupted at any time and shared by several processes.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from matplotlib.figure import Figure
from rich.console import Console

from action_balance import signals
from action_balance.cluster.driver import raise_failures, train_jobs
from action_balance.cluster.session import check_cluster, check_installed
from action_balance.cluster.worker import wait_until_free
from action_balance.config.cluster import ClusterConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.callbacks import Listeners
from action_balance.errors import UserError, WriteError, check_name
from action_balance.files import Data, check_inside, reason
from action_balance.machine import failure
from action_balance.plots import drawing
from action_balance.runs import ResultFolder, RunFolder
from action_balance.runs.owned import FolderBusy
from action_balance.studies.records import RUNS, Arrays, RunRecord, read_records
from action_balance.studies.run_job import (
    After,
    Measure,
    RunJob,
    is_finished,
    no_measure,
    no_more,
    same_command,
    train,
)
from action_balance.terminal.console import say
from action_balance.terminal.summary import training_line
from action_balance.terminal.training import command_line, training_progress
from action_balance.web.format import as_float
from action_balance.web.render import as_bytes

#: Seconds between two reports while runs are trained.
REPORT_EVERY = 60.0


class StudySettings(Protocol):
    """Settings of a study."""

    def plan(self) -> dict[str, TrainConfig]:
        """The runs by name, in the order in which they are trained."""


#: Header and rows of a CSV file.
Table = tuple[Sequence[str], Iterable[Sequence[object]]]


def fields_of(estimate: Data | None) -> list[float]:
    """An estimate as three fields of a table; nan, which becomes an empty field, where unknown."""
    return [round(as_float((estimate or {}).get(key)), 6) for key in ("value", "low", "high")]


@dataclass(frozen=True)
class Findings:
    """What a study makes of its runs."""

    summary: Data  # entries of summary.json
    tables: dict[str, Table]  # CSV files by name
    figures: dict[str, Figure]
    arrays: dict[str, Arrays] = field(default_factory=dict)  # of each .npz file


@dataclass(frozen=True)
class Study:
    """A study of training runs."""

    kind: str  # the command, such as reproduce atari
    record: type[RunRecord]  # what is read of a run
    belongs: Callable[[str, TrainConfig], bool]  # whether a run is one of the study, given its name and settings
    analyse: Callable[[Any, Sequence[Any], Sequence[str], Data | None], Findings]
    """Makes the findings of the settings, the runs, what was left out, and, where only a report is written, the summary
    of the one before; a `UserError` if there is nothing to report yet."""
    page: Callable[[Path, Data], str]  # makes the page of a folder and its summary
    conclude: Callable[[Data, Console], None]  # prints the verdict of a summary
    unfinished: bool = False  # whether runs that are not finished are reported, too
    compact: bool = False  # whether only the record of a finished run is kept; see `RunRecord.keep`
    measure: Measure = no_measure  # measures runs while they are trained
    after: Callable[[Any], After | None] = lambda _: None
    """What the settings want to be done with finished runs, such as to evaluate them."""


@dataclass(frozen=True)
class Wanted:
    """What the command asks for."""

    report_only: bool = False
    train_only: bool = False
    overwrite: bool = False  # delete the existing result and all of its runs
    only: str | None = None  # the only run to train; no report is written
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    def __post_init__(self) -> None:
        if self.report_only and self.train_only:
            raise UserError("--report-only does not train and --train-only does not report: choose one")
        if self.overwrite and self.report_only:
            raise UserError("--report-only reports the runs that --overwrite deletes: choose one")
        if self.overwrite and self.train_only:
            raise UserError("--overwrite deletes what other --train-only processes train: choose one")
        if self.report_only and self.cluster.is_wanted:
            raise UserError("--report-only does not train: leave out --on or --report-only")


def reproduce(study: Study, settings: StudySettings, out: Path, wanted: Wanted, console: Console) -> None:
    """Train what is missing of a study, and write its report, also of a part of the runs."""
    after = study.after(settings)
    if wanted.report_only and after is not None:
        raise UserError("--report-only does not play games: leave out --evaluate or --report-only")
    done = partial(_finish, study.record if study.compact else None, after or no_more)
    campaign = _Campaign(study, settings, settings.plan(), out, wanted, console, done)
    if wanted.only is not None:
        campaign.train_one(wanted.only)
        return
    failed = {} if wanted.report_only else campaign.train(everything=after is not None)
    if not wanted.train_only:
        try:
            campaign.report()
        except UserError:  # such as that there is nothing to report
            raise_failures(failed)
            raise
        study.conclude(ResultFolder.read(out).summary, console)
        say(console, f"Open {out / 'report.html'} in a browser for figures and tables.")
    raise_failures(failed)


def unfinished(out: Path, plan: Mapping[str, TrainConfig]) -> list[str]:
    """Names of the runs that are not finished; a `UserError` if one of them cannot be resumed."""
    missing = []
    for name, config in plan.items():
        path = out / RUNS / name
        if is_finished(path, config):
            continue
        if RunFolder.holds_run(path):
            RunFolder.open(path).check_resumable()
        missing.append(name)
    return missing


def _finish(record: type[RunRecord] | None, after: After, path: Path, config: TrainConfig, console: Console) -> bool:
    changed = after(path, config, console)
    if record is not None:
        record.keep(path, config)
    return changed


@dataclass
class _Campaign:
    """One command of a study."""

    study: Study
    settings: StudySettings
    plan: Mapping[str, TrainConfig]
    out: Path
    wanted: Wanted
    console: Console
    done: After  # called with every finished run
    reported: float = 0.0  # when the last report was written

    def report(self) -> None:
        """Write the summary, tables, figures and page of the runs that exist."""
        study = self.study
        records, notes = read_records(self.out, study.record, study.belongs, study.unfinished)
        if not records:
            what = "run with a completed update" if study.unfinished else "finished run"
            raise UserError(f"{self.out / RUNS} has no {what}: train first, or give another --out")
        with ResultFolder.renew(self.out, study.kind) as folder:
            found = study.analyse(self.settings, records, notes, folder.before if self.wanted.report_only else None)
            folder.summary |= found.summary
            for name, (header, rows) in found.tables.items():
                folder.write_csv(name, header, rows)
            for name, arrays in found.arrays.items():
                folder.add_arrays(name, arrays)
            for name, figure in found.figures.items():
                drawing.save(figure, folder.write, f"figures/{name}")
            folder.write("report.html", as_bytes(study.page(folder.path, folder.summary)))
            folder.save()
        self.reported = time.monotonic()

    def report_sometimes(self) -> None:
        """Write the report while runs are trained, of which others may change their files meanwhile."""
        if not self.wanted.train_only and time.monotonic() - self.reported >= REPORT_EVERY:
            with contextlib.suppress(UserError, OSError):
                self.report()

    def train_one(self, name: str) -> None:
        """Train one run, as one of several processes that do so."""
        config, path = self.plan[check_name("run", name, self.plan)], self.out / RUNS / name
        if not is_finished(path, config):
            _check_installed([config])
            wait_until_free(RunJob(name, path, config, ()).claim)
            self._train_shown(path, config, f"{name}: ")
        self.done(path, config, self.console)
        say(self.console, f"{path} is finished")

    def train(self, everything: bool) -> dict[str, str]:
        """Train what is missing, as far as possible; why runs could not be trained, by name.

        With ``everything``, what is done with finished runs is also done with those that are finished already.
        """
        plan, out, wanted = self.plan, self.out, self.wanted
        missing = list(plan) if wanted.overwrite else unfinished(out, plan)
        if missing and wanted.cluster.is_wanted:  # before anything is written or deleted
            (check_cluster(wanted.cluster) if wanted.overwrite else check_installed())
        elif missing:
            _check_installed([plan[name] for name in missing])
            say(self.console, training_line(len(missing), out / RUNS))
        if not wanted.train_only:  # refuses the result of something else
            ResultFolder.renew(out, self.study.kind, wanted.overwrite).release()
        if wanted.overwrite:
            self._delete_runs()
        if len(missing) < len(plan):
            there = f"{out} already has {len(plan) - len(missing)} of {len(plan)} runs"
            say(self.console, f"{there}: continuing with {missing[0]}" if missing else there)
        rest = f"{same_command(wanted.overwrite)} continues from there"
        said = f"runs are kept in {out / RUNS}; {rest}"
        try:
            with signals.kept(lambda: said):
                return self._train_on_cluster(missing, everything) if wanted.cluster.is_wanted else self._train_here()
        except BaseException as error:  # such as an interrupt, or a full disk: what is there is reported first
            with signals.kept(lambda: said), contextlib.suppress(UserError, OSError):
                if not wanted.train_only:
                    self.report()
                    said = f"{out / 'report.html'} shows the results so far; {rest}"
            if isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(said) from None
            raise

    def _train_here(self) -> dict[str, str]:
        """Train the runs that are not finished and that no other process trains."""
        failed: dict[str, str] = {}
        for place, (name, config) in enumerate(self.plan.items(), start=1):
            path = self.out / RUNS / name
            try:
                trains = not is_finished(path, config)
                if trains:
                    self._train_shown(path, config, f"{place}/{len(self.plan)} {name}: ")
                if self.done(path, config, self.console) or trains:
                    self.report_sometimes()
            except FolderBusy:
                say(self.console, f"another process trains {name}")
            except WriteError:  # which the other runs would meet as well
                raise
            except (UserError, MemoryError, RuntimeError) as error:
                why = reason(error) if isinstance(error, UserError) else failure(error)
                if why is None:
                    raise
                say(self.console, f"{name} could not be trained: {why}")
                failed[name] = why
        return failed

    def _train_shown(self, path: Path, config: TrainConfig, label: str) -> None:
        """Train what is missing of a run, with its progress on the screen after a label."""
        measured = self.study.measure(path, config)
        with training_progress(self.console, config, label) as shown:
            train(path, config, Listeners(command_line(), shown, partial(say, self.console), callbacks=measured))

    def _train_on_cluster(self, missing: Sequence[str], everything: bool) -> dict[str, str]:
        command, jobs = tuple(command_line()), []
        for name, config in self.plan.items():
            path = self.out / RUNS / name
            if name in missing or everything:
                job = RunJob(name, path.absolute(), config, command, after=self.done, measure=self.study.measure)
                jobs.append(job)
            else:
                self.done(path, config, self.console)
        before = len(self.plan) - len(jobs)
        cluster = self.wanted.cluster
        return train_jobs(jobs, cluster, self.console, self.out / RUNS, lambda _: self.report_sometimes(), before)

    def _delete_runs(self) -> None:
        """Delete the runs of the study; those of others stay, such as linked ones of another study."""
        check_inside(self.out, self.out / RUNS)
        for path in sorted((self.out / RUNS).glob("*")):
            if path.is_symlink():
                path.unlink()
            elif path.name in self.plan or self._is_ours(path):
                RunFolder.delete(path)

    def _is_ours(self, path: Path) -> bool:
        with contextlib.suppress(UserError):
            return self.study.belongs(path.name, TrainConfig.for_display(RunFolder.open(path).config))
        return False


def _check_installed(configs: Iterable[TrainConfig]) -> None:
    for env in dict.fromkeys(config.env for config in configs):
        env.check_spec(env.spec)
