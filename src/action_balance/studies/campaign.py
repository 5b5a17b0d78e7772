"""Studies of many long training runs: trained in turn, interrupted at any time, reported from the runs that exist."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console

from action_balance import signals
from action_balance.cluster.driver import raise_failures, train_jobs
from action_balance.cluster.session import check_cluster, check_installed
from action_balance.cluster.worker import wait_until_free
from action_balance.config.cluster import ClusterConfig
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError, check_name
from action_balance.files import Data, check_inside
from action_balance.plots import drawing
from action_balance.runs import ResultFolder, RunFolder
from action_balance.studies import campaign_page
from action_balance.studies.atari_training import CampaignSettings
from action_balance.studies.paper import TABLE_2_RUNS
from action_balance.studies.parts import same_command
from action_balance.studies.records import RUNS, Record, common_settings, read_records
from action_balance.studies.run_job import After, RunJob, is_finished, no_more, train
from action_balance.terminal.console import say
from action_balance.terminal.summary import training_line
from action_balance.terminal.training import command_line, training_progress
from action_balance.web.render import as_bytes


@dataclass(frozen=True)
class Report:
    """What a study makes of its runs."""

    groups: Sequence[Sequence[Record]]
    """The runs of each thing that is compared."""
    ours: Data
    """Its numbers for the summary."""
    tables: Mapping[str, tuple[Sequence[str], Iterable[Sequence[object]]]]
    """Header and rows of each CSV file by name."""
    figures: Mapping[str, Figure]
    """Figures by name."""
    page: Callable[[Path, Data], str]
    """Makes the page of a folder and its summary."""
    paper: Data | None = None
    """The paper's numbers for the summary."""


@dataclass(frozen=True)
class Study:
    """A study of training runs."""

    kind: str
    """The command, e.g. ``reproduce atari``."""
    belongs: Callable[[TrainConfig], bool]
    """Whether a run is one of the study."""
    report: Callable[[Sequence[Record]], Report]
    """Analyses the runs."""
    conclude: Callable[[Data], Iterable[str]]
    """Headline lines from the summary."""
    check: Callable[[], object]
    """Raises a `UserError` if a package is missing that the training needs."""


def train_shown(path: Path, config: TrainConfig, name: str, console: Console) -> None:
    """Train what is missing of a run with its progress on the screen, after ``name``."""
    with training_progress(console, config, name) as report:
        train(path, config, command_line(), report, partial(say, console))


@dataclass(frozen=True)
class Wanted:
    """What the command asks for."""

    report_only: bool = False
    """Train nothing."""
    overwrite: bool = False
    """Delete the existing result and all of its runs."""
    only: str | None = None
    """The only run to train; no report is written."""
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    """Where runs are trained."""

    def __post_init__(self) -> None:
        if self.overwrite and self.report_only:
            raise UserError("--report-only reports the runs that --overwrite deletes: choose one")
        if self.report_only and self.cluster.is_wanted:
            raise UserError("--report-only does not train: leave out --on or --report-only")


def reproduce(
    study: Study,
    settings: CampaignSettings,
    out: Path,
    wanted: Wanted,
    console: Console,
    after: After = no_more,
) -> None:
    """Train what is missing of a study, and write its report after every run, even after an interrupted one."""

    def report() -> None:
        records, notes = read_records(out, study.belongs)
        if not records:
            raise UserError(f"{out / RUNS} has no run with a completed update: train first, or give another --out")
        with ResultFolder.renew(out, study.kind) as folder:
            covered = campaign_page.planned(settings, folder.before, records) if wanted.report_only else settings
            _write(study, folder, covered, records, notes)

    if wanted.only is not None:
        _train_only(study, settings.plan(), out, wanted.only, console, after)
        return
    if wanted.report_only:
        report()
    else:
        _train_missing(study, settings.plan(), out, wanted, console, after, report)
    say(console, *study.conclude(ResultFolder.read(out).summary))
    say(console, f"Open {out / 'report.html'} in a browser for figures and tables.")


def unfinished(out: Path, runs: Mapping[str, TrainConfig]) -> list[str]:
    """Names of the runs that are not finished; a `UserError` if one of them cannot be resumed."""
    missing = []
    for name, config in runs.items():
        path = out / RUNS / name
        if is_finished(path, config):
            continue
        if RunFolder.holds_run(path):
            RunFolder.open(path).check_resumable()
        missing.append(name)
    return missing


def _train_only(
    study: Study,
    runs: Mapping[str, TrainConfig],
    out: Path,
    name: str,
    console: Console,
    after: After,
) -> None:
    """Train one run, as one of several processes that do so."""
    config, path = runs[check_name("run", name, runs)], out / RUNS / name
    study.check()
    if is_finished(path, config):
        say(console, f"{path} is finished")
    else:
        wait_until_free(RunJob(name, path, config, ()).claim)
        train_shown(path, config, f"{name}: ", console)
    after(path, config, console)


def _train_missing(
    study: Study,
    runs: Mapping[str, TrainConfig],
    out: Path,
    wanted: Wanted,
    console: Console,
    after: After,
    report: Callable[[], None],
) -> None:
    overwrite, cluster = wanted.overwrite, wanted.cluster
    missing = list(runs) if overwrite else unfinished(out, runs)
    if missing and cluster.is_wanted:
        (check_cluster(cluster) if overwrite else check_installed())  # before anything is written or deleted
    elif missing:
        study.check()
        say(console, training_line(len(missing), out / RUNS))
    ResultFolder.renew(out, study.kind, overwrite).release()  # a report may be written while runs are trained
    if overwrite:
        _delete_runs(out)
    if len(missing) < len(runs):
        there = f"{out} already has {len(runs) - len(missing)} of {len(runs)} runs"
        say(console, f"{there}: continuing with {missing[0]}" if missing else there)

    def kept() -> str:
        return f"runs are kept in {out / RUNS}; {same_command(overwrite)} continues from there"

    try:
        with signals.kept(kept):
            reported = False
            if cluster.is_wanted:  # a finished run may have to be evaluated
                chosen = missing if after is no_more else list(runs)
                _train_on_cluster(
                    {name: runs[name] for name in chosen}, out, cluster, console, after, report, len(runs)
                )
                reported = bool(chosen)
            for place, (name, config) in enumerate(({} if cluster.is_wanted else runs).items(), start=1):
                path, trains = out / RUNS / name, name in missing
                if trains:
                    train_shown(path, config, f"{place}/{len(runs)} {name}: ", console)
                if after(path, config, console) or trains:
                    report()
                    reported = True
            if not reported:
                report()
    except KeyboardInterrupt:
        if not read_records(out, study.belongs)[0]:
            raise KeyboardInterrupt(f"nothing to report yet; {same_command(overwrite)} starts over") from None
        with signals.kept(kept):
            report()
        raise KeyboardInterrupt(
            f"{out / 'report.html'} shows the results so far; {same_command(overwrite)} continues from there"
        ) from None
    except Exception:  # a full disk, lost emulators: the report is written before the error is shown
        with contextlib.suppress(UserError, OSError):
            report()
        raise


def _train_on_cluster(
    missing: Mapping[str, TrainConfig],
    out: Path,
    cluster: ClusterConfig,
    console: Console,
    after: After,
    report: Callable[[], None],
    planned: int,
) -> None:
    """Train runs in parallel, and write the report whenever one comes in."""
    command = tuple(command_line())
    jobs = [
        RunJob(name, (out / RUNS / name).absolute(), config, command, after=after) for name, config in missing.items()
    ]
    raise_failures(train_jobs(jobs, cluster, console, out / RUNS, lambda _: report(), planned - len(jobs)))


def _delete_runs(out: Path) -> None:
    check_inside(out, out / RUNS)
    for path in sorted((out / RUNS).glob("*")):
        if path.is_symlink():  # to a run of another study, which stays
            path.unlink()
        else:
            RunFolder.delete(path)


def _write(
    study: Study, folder: ResultFolder, settings: CampaignSettings, records: list[Record], notes: list[str]
) -> None:
    """Write the summary, tables, figures and page of the existing runs."""
    # A report alone is not given the training settings of its runs.
    settings = replace(settings, training=settings.training.as_made(records[0].config.agent))
    common, report = common_settings(records), study.report(records)
    runs = [campaign_page.run_data(run) for group in report.groups for run in group]
    finished = [sum(run.finished for run in group) for group in report.groups]
    folder.summary |= {
        "settings": common,
        "requested": campaign_page.requested(settings),
        **campaign_page.command(study.kind, settings, type(settings)(), records),
        **({} if report.paper is None else {"paper": report.paper}),
        "deviations": campaign_page.deviations(records, finished, TABLE_2_RUNS),
        "notes": notes,
        "runs": runs,
        "ours": report.ours,
    }
    folder.write_csv("runs.csv", campaign_page.RUN_COLUMNS, campaign_page.run_rows(runs))
    for name, (header, rows) in report.tables.items():
        folder.write_csv(name, header, rows)
    for name, figure in report.figures.items():
        drawing.save(figure, folder.write, f"figures/{name}")
    folder.write("report.html", as_bytes(report.page(folder.path, folder.summary)))
    folder.save()
