"""``view``: the page of a result or of training runs, served on this machine or saved as one file."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from rich.console import Console

from action_balance.errors import UserError
from action_balance.files import Data, write_atomically
from action_balance.reading import entries, is_folder
from action_balance.runs import RunFolder
from action_balance.studies import registry
from action_balance.studies.checks import check_once
from action_balance.studies.records import RUNS
from action_balance.studies.training import maps as view_maps
from action_balance.studies.training.data import Watched
from action_balance.studies.training.page import Link, media, runs_page, scores_fragment
from action_balance.terminal.console import say
from action_balance.web.files import Embedded
from action_balance.web.render import as_bytes
from action_balance.web.serve import Site, serve


@dataclass(frozen=True)
class PageView:
    """What is shown."""

    page: Callable[[Link, bool], str]  # makes the page, given where it finds files and whether it is served
    runs: Sequence[Path] = ()  # those on it, whose news and files may be requested
    trust: bool = False  # whether families of environments that the runs name may be imported


def view(
    paths: Sequence[Path], save: Path | None, live: bool, port: int, opens: bool, trust: bool, console: Console
) -> None:
    if save is not None and live:
        raise UserError("a saved page cannot follow a live run: leave out --save or --live")
    if save is not None and opens:
        raise UserError("--open is for served pages: open the saved file yourself, or leave out --save")
    if not 0 <= port < 2**16:
        raise UserError(f"--port must be from 0 to {2**16 - 1}, not {port}")
    shown = chosen(paths, live, trust)
    if save is None:
        serve(site_of(shown, live), port, opens, console)
        return
    linked: list[tuple[Path, Path]] = []
    text = shown.page(lambda *file: linked.append(file), False)
    content = as_bytes(shown.page(Embedded(len(text)).link, False) if linked else text)
    write_atomically(save, content)
    say(console, f"wrote {save}, {len(content) / 1e6:.1f} MB")


def chosen(paths: Sequence[Path], live: bool, trust: bool = False) -> PageView:
    """What these folders show: the page of one result, or that of runs."""
    if not paths:
        raise UserError("nothing to view: give the folder of a result, or of one or more runs")
    results = [path for path in paths if registry.holds_result(path)]
    if live and results:
        raise UserError(f"{results[0]} is a result: leave out --live, which follows training runs")
    if len(paths) > 1 and results:
        raise UserError(f"{results[0]} is a result and has its own page: give only this result, or only runs")
    if results:
        return _of_result(results[0], trust)
    if not live:
        for path in paths:
            _check_reported(path)
            Watched.open(path, trust=trust)
        check_once(paths)
    return _of_runs(paths, live, trust)


def _check_reported(path: Path) -> None:
    if is_folder(path / RUNS) and not RunFolder.holds_run(path):
        command = f"action-balance reproduce STUDY --report-only --out {shlex.quote(str(path))}"
        raise UserError(f"{path} has the runs of a study, but no report: write it with {command}")


def _of_runs(paths: Sequence[Path], live: bool, trust: bool) -> PageView:
    def page(link: Link, served: bool) -> str:
        return runs_page([Watched.open(path, live, trust) for path in paths], link, served, live)

    return PageView(page, paths, trust)


def _of_result(path: Path, trust: bool) -> PageView:
    page = registry.page_of(path)
    if page is not None and trust:
        raise UserError(f"{path} is a result, and its page imports no code: leave out --trust")
    if page is not None:
        return PageView(lambda *_: page())
    runs = [run for run in entries(path / RUNS) if RunFolder.holds_run(run)]
    if not runs:
        raise UserError(f"{path} has no interactive page: open its report.html in a browser")
    return _of_runs(runs, False, trust)


def site_of(shown: PageView, live: bool) -> Site:
    """What a server offers: the page, the media of the runs' evaluations, and news of the runs."""
    files: dict[str, tuple[Path, Path]] = {}

    def make() -> str:
        for number, run in enumerate(shown.runs):
            files.update({f"/files/{number}/{quote(path.name)}": (run, path) for path in media(run)})
        urls = {path: url for url, (_, path) in files.items()}
        return shown.page(lambda _, path: urls.get(path), True)

    page = make()

    def news(query: Mapping[str, str]) -> Data | None:
        if "scores" in query:
            return {
                "scores": scores_fragment([Watched.open(path, live=True, trust=shown.trust) for path in shown.runs])
            }
        number = query.get("run", "")
        if not (number.isascii() and number.isdigit() and len(number) < 6 and int(number) < len(shown.runs)):
            return None
        run = shown.runs[int(number)]
        return view_maps.news(run, query.get("place", ""), query.get("visits", ""), shown.trust)

    return Site(make if live else lambda: page, files, news)
