"""``view``: the page of a result or of training runs, served on this machine or saved as one file."""

import base64
import html
import json
import mimetypes
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from action_balance.errors import UserError
from action_balance.files import Data, found_inside, own_file, write_atomically
from action_balance.runs import RunFolder
from action_balance.runs.folder import EVALUATION
from action_balance.runs.legacy import EVALUATION_FILES
from action_balance.runs.results import SUMMARY
from action_balance.studies.explore import page as explore_page
from action_balance.studies.explore import run as explore
from action_balance.studies.grid import page, reproduce
from action_balance.studies.records import RUNS
from action_balance.studies.training import page as view_page
from action_balance.studies.training.data import Watched
from action_balance.studies.training.page import Link
from action_balance.web import markup
from action_balance.web import widgets as player

#: A saved page stays below so many bytes.
MOST_BYTES = 10_000_000

#: What numbers raise that are not there, or are no numbers.
UNFIT = (KeyError, TypeError, ValueError, IndexError)

#: Makes the page anew; is told where it finds files, and whether it is served.
MakePage = Callable[[Link, bool], str]


def view(paths: Sequence[Path], save: Path | None, live: bool, port: int, opens: bool, console: Console) -> None:
    """Show results or runs.

    Args:
        paths: folders of one result, or of runs.
        save: the file to write instead of serving.
        live: whether to follow runs that are still training.
        port: to serve at; 0 for any that is free.
        opens: whether to open the page in a browser.
        console: the screen.
    """
    if save is not None and live:
        raise UserError("a saved page cannot follow a run: leave out --save or --live")
    if save is not None and opens:
        raise UserError("--open is for a page that is served: open the saved file yourself, or leave out --save")
    if not 0 <= port < 2**16:
        raise UserError(f"--port must be from 0 to {2**16 - 1}, not {port}")
    make, runs = chosen(paths, live)
    if save is not None:
        asked: list[Path] = []
        text = make(asked.append, False)
        content = as_bytes(make(Embedded(len(text)).link, False) if asked else text)
        write_atomically(save, content)
        told = as_bytes(f"wrote {save}, {len(content) / 1e6:.1f} MB").decode()
        console.print(told, highlight=False, markup=False, soft_wrap=True)
        return
    from action_balance.web.serve import serve

    serve(make, runs, live, port, opens, console)


class Embedded:
    """Files inside the page, as long as there is room."""

    def __init__(self, used: int) -> None:
        self.left = MOST_BYTES - used - 100_000  # for the markup around them

    def link(self, path: Path) -> str | None:
        """The file as a URL; None where it is too large, cannot be read, or is outside of its run."""
        real = found_inside(run_of(path), path)
        if real is None:
            return None
        try:
            size = 4 * real.stat().st_size // 3 + 100
            if size > self.left:
                return None
            self.left -= size
            content = base64.b64encode(real.read_bytes()).decode("ascii")
        except OSError:
            return None
        return f"data:{mime_type(path)};base64,{content}"


def as_bytes(text: str) -> bytes:
    """Text for the browser; a name of a file that is no text, as Python hands it on, has question marks."""
    return text.encode("utf-8", "replace")


def mime_type(path: Path) -> str:
    """What kind of file it is."""
    return mimetypes.guess_type(path.name)[0] or "application/octet-stream"


def chosen(paths: Sequence[Path], live: bool) -> tuple[MakePage, list[Path]]:
    """What makes the page of these folders, and the runs that are on it."""
    if not paths:
        raise UserError("nothing to view: give the folder of a result, or of one or more runs")
    results = [path for path in paths if (path / SUMMARY).is_file() or _is_comparison(path)]
    if live:
        if results:
            raise UserError(f"{results[0]} is a result: --live follows training runs")
        return _page_of_runs(paths, live=True), list(paths)
    if not results:
        runs = list(paths)
        for path in runs:
            Watched.open(path)
        _check_once(runs)
        return _page_of_runs(runs, live=False), runs
    if len(paths) > 1:
        raise UserError(f"{results[0]} is a result, and has a page of its own: give it alone, or give runs only")
    return _of_result(results[0])


def _check_once(paths: Sequence[Path]) -> None:
    real = [path.resolve() for path in paths]
    for number, path in enumerate(real):
        if path in real[:number]:
            raise UserError(f"{paths[real.index(path)]} and {paths[number]} are the same run: give each once")


def _is_comparison(path: Path) -> bool:
    return (path / "curves.csv").is_file() and (path / "comparison.csv").is_file()


def _page_of_runs(paths: Sequence[Path], live: bool) -> MakePage:
    return lambda link, served: view_page.runs_page([Watched.open(path, live) for path in paths], link, served, live)


def _of_result(path: Path) -> tuple[MakePage, list[Path]]:
    if _is_comparison(path):
        return lambda *_: view_page.comparison_page(path), []
    kind = _summary(path).get("kind")
    maker = {reproduce.KIND: grid_result, explore.KIND: explore_result}.get(str(kind))
    if maker is not None:
        return lambda *_: maker(path, _summary(path)), []
    runs = sorted(run for run in (path / RUNS).glob("*") if RunFolder.holds_run(run))
    if not runs:
        raise UserError(f"{path} has nothing to watch: its report.html is all there is, open that in a browser")
    return _page_of_runs(runs, live=False), runs


def _damaged(path: Path) -> UserError:
    return UserError(f"{path / SUMMARY} is damaged: make the result anew with --overwrite")


def _summary(path: Path) -> Data:
    damaged = _damaged(path)
    try:
        found = json.loads(own_file(path, SUMMARY).read_bytes())
    except (OSError, ValueError, RecursionError):
        raise damaged from None
    if not isinstance(found, dict):
        raise damaged
    return found


def grid_result(path: Path, summary: Data) -> str:
    """The page of ``reproduce grid``, as that writes it."""
    try:
        return page.grid_page(summary, player.figures_of(path), player.result_data(path, summary))
    except (*UNFIT, AttributeError):
        raise _damaged(path) from None


def explore_result(path: Path, summary: Data) -> str:
    """The page of ``explore --out``."""
    try:
        return explore_page.explore_page(
            summary, player.figures_of(path), player.result_data(path, summary), path.resolve().name
        )
    except (*UNFIT, AttributeError):
        raise _damaged(path) from None


def served_files(runs: Sequence[Path]) -> dict[str, Path]:
    """The files of runs that a page may ask for, by URL path: what an evaluation may write, and nothing else."""
    return {
        f"/files/{number}/{name}": run / EVALUATION / name
        for number, run in enumerate(runs)
        for name in EVALUATION_FILES
    }


def run_of(file: Path) -> Path:
    """The run that one of the `served_files` belongs to."""
    return file.parents[1]


def error_page(told: str) -> str:
    """What a reader sees when the files changed so that there is no page any more."""
    return markup.document("Action balance", "Action balance", "This page cannot be made", html.escape(told), {}, "")
