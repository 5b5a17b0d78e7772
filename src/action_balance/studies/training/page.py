"""The page of training runs: progress, scores, maps, curves and evaluations; ``page.html`` has its text."""

from collections.abc import Callable, Sequence
from pathlib import Path

from action_balance.files import Data, found_inside
from action_balance.plots.heatmaps import HEAT_STOPS
from action_balance.reading import Unreadable, read_json
from action_balance.runs.evaluation import EVALUATION, evaluation_files
from action_balance.runs.evaluation import SUMMARY as EVALUATION_SUMMARY
from action_balance.studies.charts import CHARTS, FIRST_CHARTS, chart_title
from action_balance.studies.statistics import MIN
from action_balance.studies.training import data as view_data
from action_balance.studies.training import maps as view_maps
from action_balance.studies.training import scores as view_scores
from action_balance.studies.training.data import Group, Watched, progress
from action_balance.studies.training.scores import Score
from action_balance.web.files import mime_type, read_table
from action_balance.web.format import as_float, ends
from action_balance.web.render import render, render_fragment

#: Where a page finds a file of a run, given the run and the file; None where it cannot be shown.
Link = Callable[[Path, Path], str | None]

#: Seconds between two requests of a live page for news.
ASK_EVERY = 1.0

#: A row for each episode of an evaluation.
EPISODES = "episodes.csv"

#: The types of the files of an evaluation that are shown; an SVG image could run a script of its own.
MEDIA = ("image/png", "image/gif", "image/jpeg", "image/webp", "video/mp4", "video/webm")

#: Titles of files of an evaluation whose names do not say enough.
TITLES = {"episode": "The first episode with sampled actions, of the first seed"}


def runs_page(runs: Sequence[Watched], link: Link, served: bool, live: bool = False) -> str:
    begun = [run for run in runs if run.config is not None]
    groups = view_data.grouped(begun, pooled=not live)
    points = view_data.POINTS if live else view_data.points_for(groups)  # what is new comes in buckets of all points
    curves, scores = [], []
    for number, group in enumerate(groups):
        names = view_data.metric_names(group.runs)
        table, place = view_data.read_table(group.runs, names)
        bucket = view_data.bucket_of(group.configs[0], points)
        curves.append(view_data.curve(group, f"c{number}", names, table, place, bucket))
        scores.append(view_scores.score(group, names, table))
    players = view_maps.players(runs)
    curve_of = {id(begun[member]): curve["key"] for curve in curves for member in curve["runs"]}
    statuses = [{**progress(run), "curve": curve_of.get(id(run))} for run in runs]
    worlds = _worlds(groups, scores)
    shown = {"live": live, "every": ASK_EVERY, "environments": list(worlds), "curves": curves, "progress": statuses}
    titles = {
        name: chart_title(name) for name in dict.fromkeys([*CHARTS, *(n for one in curves for n in one["metrics"])])
    }
    return render(
        "studies/training/page.html",
        {
            "heat": HEAT_STOPS,
            "players": players,
            "reach": [],
            "runs": shown | {"charts": titles, "first": FIRST_CHARTS},
        },
        served,
        names=[run.name for run in runs],
        methods=list(dict.fromkeys(one["method"] for one in statuses if "method" in one)),
        live=live,
        statuses=statuses,
        finished=sum(one["status"] == "finished" for one in statuses),
        worlds=worlds,
        fewest=MIN,
        bucket=max((curve["bucket"] for curve in curves), default=1),
        players=players,
        evaluations=[found for run in begun if (found := _evaluation(run, link))],
    )


def scores_fragment(runs: Sequence[Watched]) -> str:
    """The scores of runs as they are now, as the live page shows them: the content of their section."""
    groups = view_data.grouped([run for run in runs if run.config is not None], pooled=False)
    worlds = _worlds(groups, view_scores.read_scores(groups))
    return render_fragment("studies/training/scores.html", worlds=worlds, fewest=MIN)


def _worlds(groups: Sequence[Group], scores: Sequence[Score]) -> dict[str, Data]:
    by_name: dict[str, list[Score]] = {}
    for group, one in zip(groups, scores, strict=True):
        by_name.setdefault(group.environment, []).append(one)
    return {name: view_scores.compared(several) for name, several in by_name.items()}


def _evaluation(run: Watched, link: Link) -> Data | None:
    """What an evaluation of a run found; None where there is none, or it is damaged."""
    folder = run.path / EVALUATION
    summary = found_inside(run.path, folder / EVALUATION_SUMMARY)
    if summary is None:
        return None
    try:
        found = read_json(summary, "the summary of an evaluation")
        scores = {str(mode): _score(one) for mode, one in found["modes"].items()}
        update = int(found["checkpoint"]["update"])
        rooms = found.get("rooms")
    except (Unreadable, ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None
    if not scores:
        return None
    return {
        "name": run.name,
        "update": update,
        "scores": scores,
        "info_names": list(dict.fromkeys(name for score in scores.values() for name in score["info"])),
        "rooms": rooms["all"] if isinstance(rooms, dict) and isinstance(rooms.get("all"), list) else None,
        "rooms_each": _rooms_each(found_inside(run.path, folder / EPISODES)),
        "media": [_medium(path, link(run.path, path)) for path in media(run.path)],
    }


def media(run: Path) -> list[Path]:
    """The pictures and films of a run's last evaluation."""
    return [path for path in evaluation_files(run) if mime_type(path) in MEDIA and found_inside(run, path)]


def _medium(path: Path, source: str | None) -> Data:
    title = TITLES.get(path.stem, path.stem.replace("_", " ").capitalize())
    return {"file": path.name, "title": title, "source": source, "is_film": mime_type(path).startswith("video/")}


def _score(one: Data) -> Data:
    score = one["return"] if "return" in one else one["score"]
    mean, low, high = ends({**score, "value": score["mean"]})
    info = one.get("info")
    return {
        "value": mean,
        "low": low,
        "high": high,
        "median": as_float(score["median"]),
        "max": as_float(score["max"]),
        "info": {str(name): as_float(value) for name, value in info.items()} if isinstance(info, dict) else {},
    }


def _rooms_each(episodes: Path | None) -> list[int]:
    """The fewest and the most rooms of a game; empty where rooms were not counted."""
    rows = read_table(episodes, ()) if episodes else []
    counts = [int(row["rooms"]) for row in rows if (row.get("rooms") or "").isdecimal()]
    return sorted({min(counts), max(counts)}) if counts else []
