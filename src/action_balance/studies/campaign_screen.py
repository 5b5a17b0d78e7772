"""Studies of many long training runs: trained in turn, stopped at any time, told from whatever is there."""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from action_balance.cli.train_screen import shown, typed
from action_balance.config.train import TrainConfig
from action_balance.envs.atari.games import vector_class
from action_balance.errors import UserError
from action_balance.runs import ResultFolder, RunFolder
from action_balance.studies import campaign
from action_balance.studies.records import RUNS, Record, read_records

#: Writes the report of the runs that are there, with lines about folders that were left out.
Write = Callable[[ResultFolder, list[Record], list[str]], None]


def reproduce(
    kind: str,
    plan: Callable[[], Mapping[str, TrainConfig]],
    belongs: Callable[[TrainConfig], bool],
    out: Path,
    report_only: bool,
    overwrite: bool,
    console: Console,
    write: Write,
    after: Callable[[Path, TrainConfig], bool] = lambda _path, _config: False,
) -> None:
    """Train what is missing of a study, and write its report after every run, also after one that was cut short.

    Args:
        kind: the command, e.g. ``reproduce atari``.
        plan: gives the runs by name, in the order in which they are trained.
        belongs: whether a run is one of the study.
        out: the folder of the study.
        report_only: train nothing.
        overwrite: delete the result and all runs that are there.
        console: the screen.
        write: writes the report.
        after: what is done with a finished run; whether there was anything to do.
    """

    def report() -> None:
        records, notes = read_records(out, belongs)
        if not records:
            raise UserError(f"{out / RUNS} has no run with an update: train first, or give another --out")
        write(ResultFolder.renew(out, kind), records, notes)

    if report_only:
        if overwrite:
            raise UserError("--report-only tells of the runs that --overwrite would delete: choose one")
        report()
        return
    runs = plan()
    missing = _missing(out, runs, overwrite)
    if missing:
        vector_class()  # what they need is missed before anything is written
    ResultFolder.renew(out, kind, overwrite)
    if overwrite:
        _delete_runs(out)
    if len(missing) < len(runs):
        said = f"{out} already has {len(runs) - len(missing)} of {len(runs)} runs"
        console.print(f"{said}: going on with {missing[0]}" if missing else said, highlight=False, soft_wrap=True)
    try:
        told = False
        for place, (name, config) in enumerate(runs.items(), start=1):
            path = out / RUNS / name
            if name in missing:
                _train(path, config, f"{place}/{len(runs)} {name}: ", console)
            if after(path, config) or name in missing:
                report()
                told = True
        if not told:
            report()
    except KeyboardInterrupt:
        same = "the same command without --overwrite" if overwrite else "the same command"
        if not read_records(out, belongs)[0]:
            raise KeyboardInterrupt(f"there is nothing to report yet; {same} begins again") from None
        report()
        raise KeyboardInterrupt(f"{out / 'report.html'} tells of what is there; {same} goes on from there") from None
    except Exception:  # a full disk, lost emulators: what ended the study is told after what there is of it
        with contextlib.suppress(UserError, OSError):
            report()
        raise


def _delete_runs(out: Path) -> None:
    for path in sorted((out / RUNS).glob("*")):
        if path.is_symlink():  # to a run of another study, which stays
            path.unlink()
        else:
            RunFolder.delete(path)


def _train(path: Path, config: TrainConfig, name: str, console: Console) -> None:
    with shown(console, config, name) as tell:
        warnings = campaign.train(path, config, typed(), tell)
    for warning in warnings:
        console.print(warning, highlight=False, soft_wrap=True)


def _missing(out: Path, runs: Mapping[str, TrainConfig], overwrite: bool) -> list[str]:
    """Names of the runs that are not finished; a `UserError` where one of them could not be gone on with."""
    if overwrite:
        return list(runs)
    missing = []
    for name, config in runs.items():
        path = out / RUNS / name
        if campaign.is_finished(path, config):
            continue
        if RunFolder.holds_run(path):
            RunFolder.open(path).check_resumable()
        missing.append(name)
    return missing
