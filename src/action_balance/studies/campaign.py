"""Studies of many long training runs: trained in turn, interrupted at any time, reported from the runs that exist."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError
from action_balance.files import Data, check_inside
from action_balance.plots import drawing
from action_balance.runs import ResultFolder, RunFolder
from action_balance.studies import campaign_page
from action_balance.studies.atari_training import CampaignSettings
from action_balance.studies.paper import TABLE_2_RUNS
from action_balance.studies.parts import same_command
from action_balance.studies.plan import as_begun
from action_balance.studies.records import RUNS, Record, common_settings, read_records
from action_balance.tasks import Task, task
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


def is_finished(path: Path, config: TrainConfig) -> bool:
    """Whether a run exists and is finished; a `UserError` if the folder holds a run with another config."""
    if not RunFolder.holds_run(path):
        return False
    folder = RunFolder.open(path)
    stored = TrainConfig.for_display(folder.config)
    if stored != as_begun(config, stored.agent.host):
        raise UserError(
            f"{path} contains a run with different settings: choose another --out, or replace it with --overwrite"
        )
    return bool(folder.manifest.get("status") == "finished")


def train(
    path: Path,
    config: TrainConfig,
    command: Sequence[str],
    report: Callable[[Progress], None],
    on_message: Callable[[str], None],
) -> None:
    """Train what is missing of a run.

    Args:
        path: folder of the run.
        config: the run.
        command: the command that the run records.
        report: called with the progress of the training.
        on_message: called with each line that the user should read.
    """
    if is_finished(path, config):
        return
    if RunFolder.holds_run(path):
        folder = RunFolder.open(path)
        # Not trusted: the runs of a study name no modules.
        loop.resume(folder, TrainConfig.from_dict(folder.config), command, report, on_message)
    else:
        loop.begin(path, config.with_defaults(), command, report)


def train_shown(path: Path, config: TrainConfig, name: str, console: Console) -> None:
    """Train what is missing of a run with its progress on the screen, after ``name``."""
    with training_progress(console, config, name) as report:
        train(path, config, command_line(), report, partial(say, console))


def reproduce(
    study: Study,
    settings: CampaignSettings,
    out: Path,
    report_only: bool,
    overwrite: bool,
    console: Console,
    after: Callable[[Path, TrainConfig], bool] = lambda _path, _config: False,
) -> None:
    """Train what is missing of a study, and write its report after every run, even after an interrupted one.

    Args:
        study: the study.
        settings: its settings, which plan the runs in the order in which they are trained.
        out: folder of the study.
        report_only: train nothing.
        overwrite: delete the existing result and all of its runs.
        console: the screen.
        after: called with every finished run; returns whether it changed anything that the report shows.
    """

    def report() -> None:
        records, notes = read_records(out, study.belongs)
        if not records:
            raise UserError(f"{out / RUNS} has no run with a completed update: train first, or give another --out")
        with ResultFolder.renew(out, study.kind) as folder:
            covered = campaign_page.planned(settings, folder.before, records) if report_only else settings
            _write(study, folder, covered, records, notes)

    if report_only:
        if overwrite:
            raise UserError("--report-only reports the runs that --overwrite deletes: choose one")
        report()
    else:
        # Where an interrupt leaves no time for a report, the runs are kept all the same.
        with task(Task(lambda: f"runs are kept in {out / RUNS}; {same_command(overwrite)} continues from there")):
            _train_missing(study, settings.plan(), out, overwrite, console, after, report)
    say(console, *study.conclude(ResultFolder.read(out).summary))
    say(console, f"Open {out / 'report.html'} in a browser for figures and tables.")


def _train_missing(
    study: Study,
    runs: Mapping[str, TrainConfig],
    out: Path,
    overwrite: bool,
    console: Console,
    after: Callable[[Path, TrainConfig], bool],
    report: Callable[[], None],
) -> None:
    missing = list(runs) if overwrite else _unfinished(out, runs)
    if missing:
        study.check()  # before anything is written
        say(console, training_line(len(missing), out / RUNS))
    ResultFolder.renew(out, study.kind, overwrite).release()  # a report may be written while runs are trained
    if overwrite:
        _delete_runs(out)
    if len(missing) < len(runs):
        there = f"{out} already has {len(runs) - len(missing)} of {len(runs)} runs"
        say(console, f"{there}: continuing with {missing[0]}" if missing else there)
    try:
        reported = False
        for place, (name, config) in enumerate(runs.items(), start=1):
            path = out / RUNS / name
            if name in missing:
                train_shown(path, config, f"{place}/{len(runs)} {name}: ", console)
            if after(path, config) or name in missing:
                report()
                reported = True
        if not reported:
            report()
    except KeyboardInterrupt:
        if not read_records(out, study.belongs)[0]:
            raise KeyboardInterrupt(f"nothing to report yet; {same_command(overwrite)} starts over") from None
        report()
        raise KeyboardInterrupt(
            f"{out / 'report.html'} shows the results so far; {same_command(overwrite)} continues from there"
        ) from None
    except Exception:  # a full disk, lost emulators: the report is written before the error is shown
        with contextlib.suppress(UserError, OSError):
            report()
        raise


def _unfinished(out: Path, runs: Mapping[str, TrainConfig]) -> list[str]:
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
