"""Studies of several parts: each part is run and written on its own, so that an interrupted study can continue."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from action_balance import signals
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.runs.results import ResultFolder
from action_balance.terminal.console import say
from action_balance.web.format import listed
from action_balance.web.render import as_bytes

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def run_missing(
    folder: ResultFolder,
    known: Iterable[str],
    chosen: Collection[str],
    run: Callable[[str], None],
    overwrite: bool,
    console: Console,
    kept: str = "",
) -> None:
    """Run the chosen parts that a result does not hold yet."""
    known = list(known)
    finished = [part for part in known if part in folder.summary["ours"]]
    missing = [part for part in known if part in chosen and part not in finished]
    if not missing:
        raise UserError(
            f"{folder.path} already contains this result: open its report.html, choose another --out, or replace it "
            "with --overwrite"
        )
    if finished:
        say(console, f"{folder.path} already has {listed(finished)}: continuing with {listed(missing)}")

    def state() -> str:
        there = [*finished, *([kept] if kept else [])]
        state = f"finished parts ({listed(there)}) are kept in {folder.path}" if there else "no part was completed"
        return f"{state}; {same_command(overwrite)} continues from there"

    with signals.kept(state):
        for part in missing:
            run(part)
            finished.append(part)


def same_command(overwrite: bool) -> str:
    """How to continue what was interrupted."""
    return "the same command without --overwrite" if overwrite else "the same command"


def without_choice(settings: "DataclassInstance") -> Data:
    """The settings of a study as plain data, without the choice of its parts: a result may be made part by part."""
    return {name: value for name, value in asdict(settings).items() if name != "studies"}


def finish_part(
    folder: ResultFolder, part: str, numbers: Data, timing: Data, page: Callable[[Path, Data], str]
) -> None:
    """Record a part as finished."""
    folder.summary["ours"][part] = numbers
    folder.summary["timings"][part] = timing
    folder.write("report.html", as_bytes(page(folder.path, folder.summary)))
    folder.save()  # last: from now on the part counts as finished
