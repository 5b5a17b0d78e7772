"""Try to break it: ``python benchmarks/chaos.py [--quick] [--seed N] [--minutes M] [--jobs N] [--only KIND]``.

Kinds of cases:

- *kills*: a training is killed at a random or aimed moment, resumed, and compared with an undisturbed one.
- *signals*: Ctrl-C once or twice, or SIGTERM; then the same. The time until the process ends is reported.
- *command-lines*: valid, nearly valid and wild ones, from the real forms of the commands.
- *configs*: a mutated or hostile config or manifest; nothing that it names may be imported or executed.
- *damage*: damaged or replaced files of runs and results; nothing may be deleted.
- *maps*: right, nearly right and wild ones.
- *disk*: a file system that fills up (needs root); the run is then resumed on a larger one.
- *pairs*: two processes on one folder.
- *folders*: links and lists of files that lead out of a folder, a hostile repository.

Every command must end within 60 s with exit code 0, 2 or 130, without a traceback, in at most 4 GB of memory. One that
would train for longer is interrupted as by Ctrl-C, which is part of the test. Most commands run in processes that a
warm interpreter forks, which start at once; some are real commands. When the time is over, nothing more is started, and
what is running is waited for. The exit code is 1 if anything failed, if the time was too short for one of the kinds, or
if less than half of the quick cases were tried; 130 after Ctrl-C.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from campaign.kinds import command_lines, configs, damage, disk, folders, kills, maps, pairs, signals
from campaign.pool import CaseFunction, WorkerPool, in_turn
from campaign.report import Report
from rich.console import Console

from action_balance.machine import cores


@dataclass(frozen=True)
class Kind:
    """A kind of case, and how many there are of it."""

    run: CaseFunction
    full: int
    quick: int


KINDS = {
    "kills": Kind(kills.run, 200, 5),
    "signals": Kind(signals.run, 60, 3),
    "command-lines": Kind(command_lines.run, 1000, 30),
    "configs": Kind(configs.run, 1000, 14),
    "damage": Kind(damage.run, 1000, 14),
    "maps": Kind(maps.run, 200, 6),
    "disk": Kind(disk.run, 30, 1),
    "pairs": Kind(pairs.run, 40, 2),
    "folders": Kind(folders.run, 100, 4),
}
#: Seconds after which a command is interrupted: in the quick campaign, and in the full one.
PATIENCE = {True: 6.0, False: 12.0}
#: Minutes of the quick campaign and of the full one, unless they are given.
MINUTES = {True: 5.0, False: 24 * 60.0}


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(description="Try to break it, and count what breaks.")
    parser.add_argument("--quick", action="store_true", help="few cases, in a few minutes on two cores")
    parser.add_argument("--seed", type=int, default=0, help="random seed; the same seed tries the same cases")
    parser.add_argument("--minutes", type=float, help="time limit; what was not tried by then is counted")
    parser.add_argument("--jobs", type=int, default=cores(), help="cases at the same time (default: number of cores)")
    parser.add_argument("--only", action="append", choices=KINDS, help="only this kind; may be given several times")
    parser.add_argument("--count", type=int, help="cases of each kind, in place of the defaults")
    parser.add_argument("--case", type=int, help="only the case with this number")
    parser.add_argument("--scratch", type=Path, help="folder for everything that is written (default: a temporary one)")
    parser.add_argument("--keep", action="store_true", help="keep the folders of all cases, not only of failed ones")
    found = parser.parse_args(words)
    if found.case is not None and len(found.only or ()) != 1:
        parser.error("--case needs --only KIND")
    return found


def campaign(flags: argparse.Namespace, scratch: Path, console: Console) -> int:
    """Try all cases and print what happens.

    Args:
        flags: the options.
        scratch: folder for everything that is written.
        console: where to print.

    Returns:
        The exit code.
    """
    began = time.monotonic()
    minutes = MINUTES[flags.quick] if flags.minutes is None else flags.minutes
    names = flags.only or list(KINDS)
    counts = {name: flags.count or (KINDS[name].quick if flags.quick else KINDS[name].full) for name in names}
    cases = in_turn(flags.seed, counts)
    if flags.case is not None:
        cases = [case for case in in_turn(flags.seed, {names[0]: flags.case + 1}) if case.number == flags.case]
        counts = {names[0]: 1}
    functions = {name: kind.run for name, kind in KINDS.items()}
    pool = WorkerPool(functions, scratch, PATIENCE[flags.quick], began + 60 * minutes, flags.keep)
    report = Report(console, counts, scratch / "outcomes.jsonl")
    interrupted = False
    try:
        for outcome in pool.work(cases, max(1, min(flags.jobs, len(cases)))):
            if outcome is not None:
                report.add(outcome, scratch / "cases" / outcome.case.name)
            report.progress(time.monotonic() - began)
    except KeyboardInterrupt:
        interrupted = True
        console.print("interrupted; what was tried so far:", highlight=False)
    finally:
        pool.close()
        disk.unmount_all()
    report.table(signals.PROMISED)
    wrong = [] if interrupted else [*pool.problems, *shortcomings(report, flags.quick)]
    for line in wrong:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if report.failed:
        console.print(f"the files of failed cases are in {scratch / 'cases'}", highlight=False, soft_wrap=True)
    return 130 if interrupted else int(bool(report.failed or wrong))


def shortcomings(report: Report, quick: bool) -> list[str]:
    """Why a campaign proves too little, although nothing may have failed.

    Args:
        report: what was tried.
        quick: whether it was the quick campaign, which has time for all of its cases.

    Returns:
        A line for each reason.
    """
    found = []
    if report.untried:
        found.append(f"the time was too short to try {', '.join(report.untried)}")
    if quick and 2 * report.unfinished > report.planned:
        found.append(f"{report.unfinished} of {report.planned} cases were not finished: too few to prove anything")
    return found


def main() -> None:
    """Run the campaign, and end with its exit code."""
    flags = arguments()
    # Also where a script has started this in the background, whose commands would inherit that Ctrl-C is ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 130)
    scratch = Path(tempfile.mkdtemp(prefix="chaos-")) if flags.scratch is None else flags.scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    code = 130
    try:
        code = campaign(flags, scratch, console)
        if code != 1 and flags.scratch is None and not flags.keep:
            shutil.rmtree(scratch, ignore_errors=True)
    except KeyboardInterrupt:  # again, while everything is ended
        disk.unmount_all()
    sys.stdout.flush()
    os._exit(code)  # a thread that did not end is not waited for


if __name__ == "__main__":
    main()
