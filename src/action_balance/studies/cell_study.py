"""Trains what is missing of a study of cells, here or on a cluster, and writes its report."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from action_balance import signals
from action_balance.cluster.driver import train_jobs
from action_balance.cluster.jobs import Job
from action_balance.cluster.session import check_cluster, check_installed
from action_balance.cluster.worker import wait_until_free
from action_balance.config.cluster import ClusterConfig
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError, WriteError, check_name
from action_balance.files import reason
from action_balance.machine import failure
from action_balance.runs.checkpoints import Checkpoints
from action_balance.runs.owned import FolderBusy
from action_balance.runs.results import ResultFolder
from action_balance.studies.cells import (
    CELLS,
    CHECKPOINT,
    Cell,
    Load,
    Record,
    Report,
    Train,
    checkpoint_folder,
    claimed,
    delete_checkpoints,
    delete_records,
    is_trained,
    record_path,
    record_paths,
    train_cell,
)
from action_balance.studies.parts import same_command
from action_balance.terminal.console import say
from action_balance.terminal.summary import training_line
from action_balance.terminal.training import training_progress
from action_balance.web.format import listed


@dataclass(frozen=True)
class CellJob:
    """A cell that a cluster trains."""

    cell: Cell
    """The agents."""
    folder: Path
    """The folder of the records of its study."""
    load: Load
    """Reads a record."""
    training: Callable[..., Record]
    """Trains a cell; the folder of the study is its argument ``out``."""

    @property
    def name(self) -> str:
        """That of the cell."""
        return self.cell.name

    @property
    def updates(self) -> int:
        """Updates of the whole training."""
        return self.cell.config.agent.updates

    @property
    def seeds(self) -> int:
        """Agents that are trained together."""
        return self.cell.config.seeds

    def train(self, report: Report, on_message: Callable[[str], None]) -> None:
        """Train what is missing; a `FolderBusy` if another process trains it."""
        del on_message
        out = self.folder.parent
        done = train_cell(out, self.cell, self.load, partial(self.training, out=out), report)
        if not done and not is_trained(out, self.cell, self.load):
            raise FolderBusy(f"another process trains {self.name}")

    def saved(self) -> int:
        """The update of the newest checkpoint, of any settings; 0 without one."""
        found = checkpoint_folder(self.folder.parent, self.name).glob("*")
        return max((max(Checkpoints(one).updates(), default=0) for one in found if one.is_dir()), default=0)

    @contextlib.contextmanager
    def claim(self) -> Iterator[None]:
        """Keep other processes from training it; a `FolderBusy` if one does."""
        with claimed(self.folder.parent, self.name) as lock:
            if lock is None:
                raise FolderBusy(f"another process trains {self.name}")
            yield


@dataclass(frozen=True)
class CellStudy:
    """A study of cells, as `run` needs it. Other processes may call ``load`` and ``train``: both can be pickled."""

    kind: str
    """Its command, without the name of the program."""
    plan: Mapping[str, Any]
    """The cells that it needs by name, in the order in which they are trained."""
    load: Load
    """Reads a record."""
    train: Train
    """Trains a cell; calls a function after every update."""
    places: Collection[str]
    """What its records are named after."""
    write_report: Callable[[bool], None]
    """Writes the report; with True, the settings of an earlier report are kept."""
    conclude: Callable[[], None]
    """Prints the verdict."""


@dataclass(frozen=True)
class Wanted:
    """What the command asks for."""

    report_only: bool = False
    """Train nothing."""
    train_only: bool = False
    """Write no report."""
    overwrite: bool = False
    """Delete the existing result and all of its records."""
    only: str | None = None
    """The only cell to train; no report is written."""
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    """Where cells are trained."""

    def __post_init__(self) -> None:
        if self.report_only and self.train_only:
            raise UserError("--report-only does not train and --train-only does not report: choose one")
        if self.report_only and self.cluster.is_wanted:
            raise UserError("--report-only does not train: leave out --on or --report-only")
        if self.overwrite and (self.report_only or self.train_only):
            raise UserError(
                "--overwrite deletes what --report-only reports and what other --train-only processes train: use it "
                "alone"
            )


def run(study: CellStudy, out: Path, wanted: Wanted, console: Console) -> None:
    """Train what is missing of a study, and write its report."""
    if wanted.only is not None:
        _train_only(study, out, wanted.only, console)
        return
    failed = [] if wanted.report_only else _train(study, out, wanted, console)
    if not wanted.train_only and (record_paths(out) or not failed):
        study.write_report(wanted.report_only)
        study.conclude()
        say(console, f"Open {out / 'report.html'} in a browser for all numbers.")
    if failed:
        raise UserError(f"could not train {listed(failed, 3)}, as said above: the same command tries again")


def _train(study: CellStudy, out: Path, wanted: Wanted, console: Console) -> list[str]:
    """Train what is missing, as far as possible; the names of the cells that failed."""
    plan, overwrite = study.plan, wanted.overwrite
    if wanted.cluster.is_wanted:
        (check_cluster(wanted.cluster) if overwrite else check_installed())  # before anything is written or deleted
    trained = [] if overwrite else [name for name, cell in plan.items() if is_trained(out, cell, study.load)]
    if not wanted.train_only:
        ResultFolder.renew(out, study.kind, overwrite).release()  # refuses the result of something else
    if overwrite:
        delete_records(out, study.places)
    for name in trained:
        delete_checkpoints(out, name)  # of a process that was killed when it had just saved the record
    if trained:
        say(console, f"{out} already has {len(trained)} of {len(plan)} groups of agents")
    rest = f"{same_command(overwrite)} continues from there"

    def kept() -> str:
        others = " and checkpoints of the unfinished ones" if any((out / CELLS).glob(f".*{CHECKPOINT}")) else ""
        return f"finished groups of agents{others} are kept in {out / CELLS}; {rest}"

    try:
        with signals.kept(kept):
            if wanted.cluster.is_wanted:
                return _train_on_cluster(study, out, wanted, console)
            return _train_missing(study, out, console)
    except KeyboardInterrupt:
        if wanted.train_only or not record_paths(out):
            raise
        with signals.kept(kept):
            study.write_report(False)
        raise KeyboardInterrupt(f"{out / 'report.html'} shows the results so far; {rest}") from None


def unfinished(out: Path, plan: Mapping[str, Cell], load: Load) -> list[str]:
    """Names of the cells that have no record."""
    return [name for name, cell in plan.items() if not is_trained(out, cell, load)]


def _train_only(study: CellStudy, out: Path, name: str, console: Console) -> None:
    """Train one cell, as one of several processes that do so."""
    cell = study.plan[check_name("run", name, study.plan)]
    rest = f"the same command continues with what is in {out / CELLS}"
    with signals.kept(lambda: rest):
        wait_until_free(CellJob(cell, out / CELLS, study.load, study.train).claim)
        done = train_cell(out, cell, study.load, partial(_train_shown, study.train, console, ""))
    if not done and not is_trained(out, cell, study.load):
        raise UserError(f"another process trains {name}: wait for it to finish, or stop it")
    say(console, f"{record_path(out, name)} is complete")


def _train_on_cluster(study: CellStudy, out: Path, wanted: Wanted, console: Console) -> list[str]:
    """Train the cells that have no record in parallel; the names of those that failed."""
    folder = (out / CELLS).absolute()
    names = unfinished(out, study.plan, study.load)
    jobs = [CellJob(study.plan[name], folder, study.load, study.train) for name in names]

    def come_in(_job: Job) -> None:
        if not wanted.train_only:
            study.write_report(False)

    return list(train_jobs(jobs, wanted.cluster, console, out / CELLS, come_in, len(study.plan) - len(jobs)))


def _train_missing(study: CellStudy, out: Path, console: Console) -> list[str]:
    """Train the cells that have no record and that no other process trains; the names of those that failed."""
    plan, failed = study.plan, []
    missing = [plan[name] for name in unfinished(out, plan, study.load)]
    for env in dict.fromkeys(cell.config.env for cell in missing):
        env.check_spec(env.spec)  # a library that is not installed is an error before anything is trained
    if missing:
        say(console, training_line(len(missing), out / CELLS))
    for place, (name, cell) in enumerate(plan.items(), start=1):
        if is_trained(out, cell, study.load):
            continue
        try:
            train_cell(out, cell, study.load, partial(_train_shown, study.train, console, f"{place}/{len(plan)} "))
        except WriteError:  # which the other cells would meet as well, after they are trained
            raise
        except (UserError, MemoryError, RuntimeError) as error:
            why = reason(error) if isinstance(error, UserError) else failure(error)
            if why is None:
                raise
            say(console, f"{name} could not be trained: {why}")
            failed.append(name)
    return failed


def _train_shown(train: Train, console: Console, place: str, cell: Cell, report: Report) -> Record:
    """Train a cell and show its progress, from the moment at which it is claimed."""
    with training_progress(console, cell.config, f"{place}{cell.name}: ") as shown:

        def update(now: Progress) -> None:
            shown(now)
            report(now)

        return train(cell, update)
