"""The page of training runs: how far they are, where they went, their curves, and what their evaluations found."""

import html
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from action_balance.files import Data, found_inside, own_file
from action_balance.plots.drawing import NAMES
from action_balance.plots.heatmaps import HEAT_STOPS
from action_balance.runs.folder import EVALUATION
from action_balance.runs.folder import SUMMARY as EVALUATION_SUMMARY
from action_balance.studies.training import data as view_data
from action_balance.studies.training import maps as view_maps
from action_balance.studies.training.data import CHARTS, FIRST_CHARTS, Watched, progress
from action_balance.web import markup
from action_balance.web import widgets as player
from action_balance.web.markup import NONE, counted, interval, number, table
from action_balance.web.widgets import read_table

#: Where a file of a run is to be found, for the page; None where it cannot be shown.
Link = Callable[[Path], str | None]

WATCH = (
    "How often the agents acted from each state, up to the same step, on one scale. Choose a cell to see how often "
    "each action was tried there (N), and its share. Above a map stands how many cells any of its seeds has visited."
)
READ = "Point at a chart, tap it, or use the arrow keys in it to read its values."
LARGE = (
    "The file is too large for this page; it is in the folder of the run, or on the page that <code>view</code> serves."
)
FOOTER = "Made from the files of the runs alone."

#: Seconds between two questions of a live page for what is new.
ASK_EVERY = 1.0

#: Of an evaluation: a row for each episode.
EPISODES = "episodes.csv"

#: Kinds of films, by how a file ends.
FILMS = {".mp4": "video", ".gif": "img"}


def runs_page(runs: Sequence[Watched], link: Link, served: bool, live: bool = False) -> str:
    """The whole page.

    Args:
        runs: that are shown together.
        link: where the page finds a file of a run.
        served: whether the page has a server.
        live: whether it asks that for what is new; then every run has a curve of its own.
    """
    begun = [run for run in runs if run.config is not None]
    curves = view_data.curves(begun, pooled=not live) if begun else []
    environments = list(dict.fromkeys(curve["environment"] for curve in curves))
    players = view_maps.players(runs)
    told = [progress(run) for run in runs]
    curve_of = {id(begun[member]): curve["key"] for curve in curves for member in curve["runs"]}
    for run, one in zip(runs, told, strict=True):
        one["curve"] = curve_of.get(id(run))
    data = {
        "heat": HEAT_STOPS,
        "players": players,
        "reach": [],
        "runs": {
            "live": live,
            "every": ASK_EVERY,
            "environments": environments,
            "curves": curves,
            "progress": told,
            "charts": CHARTS,
            "first": FIRST_CHARTS,
        },
    }
    sections = {
        "progress": _progress(told, live),
        **{f"world-{i}": _curves(i, name, curves) for i, name in enumerate(environments)},
        "watch": player.watch_section(players, WATCH),
        "evaluation": _evaluations(begun, link),
        "runs": "" if live else _table(told),  # what follows a run tells its progress already
    }
    titles = {"progress": "Progress", "watch": "Watch", "evaluation": "Evaluation", "runs": "Runs"}
    titles |= {f"world-{i}": html.escape(name) for i, name in enumerate(environments)}
    order = list(sections) if live else ["progress", "watch", *sections]  # what moves comes first
    shown = {name: sections[name] for name in order if sections[name]}
    methods = list(dict.fromkeys(str(NAMES.get(one["method"], one["method"])) for one in told if "method" in one))
    about = f"{markup.listed(methods)} in {markup.listed(environments)}" if begun else "Waiting for the first update"
    return markup.document(
        title=html.escape(f"Action balance: {markup.listed([run.name for run in runs[:3]])}"),
        kicker="Action balance &middot; training",
        heading=html.escape(about[0].upper() + about[1:]),
        shows="" if live else _shows(told),
        lead=html.escape(f"{counted(len(runs), 'run')}: {markup.listed(_some([run.name for run in runs]))}."),
        menu={name: titles[name] for name in shown},
        main="".join(shown.values()),
        footer=FOOTER,
        data=data,
        served=served,
    )


def _some(names: Sequence[str], most: int = 6) -> list[str]:
    return [*names[:most], f"{len(names) - most} more"] if len(names) > most else list(names)


def _shows(told: Sequence[Data]) -> str:
    """How far the runs are, in one sentence."""
    done = sum(one["status"] == "finished" for one in told)
    if done == len(told):
        return "The run is finished." if done == 1 else f"All {done} runs are finished."
    if len(told) == 1:
        one = told[0]
        return html.escape(f"Update {one.get('update', 0):,} of {one['updates']:,}." if "updates" in one else "")
    return f"Of {len(told)} runs, {done} {'is' if done == 1 else 'are'} finished."


def _progress(told: Sequence[Data], live: bool) -> str:
    if not live and all(one["status"] == "finished" for one in told):
        return ""
    following = '<p class="hint" id="connection" role="status">Following.</p>' if live else ""
    return (
        f'<section id="progress-section" class="wide"><h2>Progress</h2><div id="progress"></div>{following}</section>\n'
    )


def _curves(place: int, environment: str, curves: Sequence[Data]) -> str:
    here = [curve for curve in curves if curve["environment"] == environment]
    buckets = max(curve["bucket"] for curve in here)
    said = "Mean over seeds; the band goes from the lowest seed to the highest." if _several(here) else "One seed each."
    if buckets > 1:
        said += f" Each point is the mean of up to {buckets} updates."
    waiting = "" if any(curve["steps"] for curve in here) else '<p class="hint waiting">No update was made yet.</p>'
    return f"""<section id="world-{place}" class="wide">
<h2>{html.escape(environment)}</h2>
<p>{said} {READ}</p>
{waiting}<div id="charts-{place}"></div>
</section>
"""


def _several(curves: Sequence[Data]) -> bool:
    return any(curve["seeds"] > 1 for curve in curves)


def _table(told: Sequence[Data]) -> str:
    rows = []
    for one in told:
        if "updates" not in one:
            rows.append([f"<code>{html.escape(one['name'])}</code>", html.escape(one["status"]), *[NONE] * 4])
            continue
        done = f"{number(one['update'])}<small>of {number(one['updates'])}</small>"
        cells = [html.escape(one["status"]), done, number(one["steps"]), str(one["seeds"]), number(one["rate"])]
        rows.append([f"<code>{html.escape(one['name'])}</code>", *cells])
    head = ["Run", "Status", "Updates", "Steps of a seed", "Seeds", "Steps/s"]
    return f'<section id="runs"><h2>Runs</h2>{table("How far they are", head, rows)}</section>\n'


def _evaluations(runs: Sequence[Watched], link: Link) -> str:
    parts = [part for run in runs if (part := _evaluation(run, link))]
    return f'<section id="evaluation"><h2>Evaluation</h2>{"".join(parts)}</section>\n' if parts else ""


def _evaluation(run: Watched, link: Link) -> str:
    """What an evaluation found; nothing where there is none, or it is damaged."""
    folder = run.path / EVALUATION
    summary = found_inside(run.path, folder / EVALUATION_SUMMARY)
    if summary is None:
        return ""
    try:
        found = json.loads(summary.read_bytes())
        rows = [[html.escape(str(mode)), *_numbers(one)] for mode, one in found["ways"].items()]
        update = int(found["checkpoint"]["update"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    if not rows:
        return ""
    head = ["Acting", "Mean return", "95&nbsp;% interval", "Median", "Highest"]
    content = table(f"Full episodes of update {update:,}, without learning", head, rows)
    rooms = found.get("rooms")
    if isinstance(rooms, dict) and isinstance(rooms.get("all"), list):
        content += f"<p>{_rooms(found_inside(run.path, folder / EPISODES), rooms['all'])}</p>"
    for name in ("heatmap.png", "episode.mp4", "episode.gif"):
        if found_inside(run.path, folder / name):
            content += _medium(folder / name, link(folder / name), run.name)
    return f"<article><h3><code>{html.escape(run.name)}</code></h3>{content}</article>"


def _numbers(one: Data) -> list[str]:
    score = one["return"] if "return" in one else one["score"]
    return [number(score["mean"], 2), interval(score, 2), number(score["median"], 2), number(score["max"], 2)]


def _rooms(episodes: Path | None, rooms: Sequence[object]) -> str:
    """Which rooms were seen, and how many in a game."""
    rows = read_table(episodes, ("way",)) if episodes else []
    counts = [int(row["rooms"]) for row in rows if (row.get("rooms") or "").isdecimal()]
    span = f"{min(counts)} to {max(counts)}" if counts and min(counts) < max(counts) else f"{max(counts, default=0)}"
    each = f" In one game, {span} of them." if counts else ""
    return html.escape(f"{counted(len(rooms), 'room')} visited: {', '.join(map(str, rooms))}.{each}")


def _medium(path: Path, source: str | None, name: str) -> str:
    what = {"heatmap.png": "Where it went", "episode.mp4": "A game", "episode.gif": "An episode"}[path.name]
    if source is None:
        return f'<p class="hint">{what} (<code>{html.escape(path.name)}</code>): {LARGE}</p>'
    about = html.escape(f"{what}, {name}")
    shown = f'<img src="{html.escape(source)}" alt="{about}">'
    if FILMS.get(path.suffix) == "video":
        shown = f'<video controls preload="metadata" src="{html.escape(source)}" aria-label="{about}"></video>'
    return f'<figure class="medium">{shown}<figcaption>{what}.</figcaption></figure>'


def comparison_page(path: Path) -> str:
    """The curves of a folder of ``compare``."""
    rows = read_table(own_file(path, "curves.csv"), ("environment", "curve"), ("steps", "iqm", "low", "high", "seeds"))
    scores = read_table(own_file(path, "comparison.csv"), ("environment", "curve", "metric"))
    metric = scores[0]["metric"] if scores else "the metric"
    curves: dict[tuple[str, str], Data] = {}
    for row in rows:
        label, method = row["curve"], row["curve"].partition(",")[0]
        curve = curves.setdefault(
            (row["environment"], label),
            {
                "key": f"c{len(curves)}",
                "environment": row["environment"],
                "label": NAMES.get(method, method) + label[len(method) :].replace("_", " "),
                "method": method,
                "seeds": int(float(row["seeds"] or 0)),
                "bucket": 1,
                "steps": [],
                "metrics": {metric: {"mean": [], "low": [], "high": []}},
            },
        )
        curve["steps"].append(int(float(row["steps"] or 0)))
        for part, column in (("mean", "iqm"), ("low", "low"), ("high", "high")):
            curve["metrics"][metric][part].append(float(row[column]) if row[column] else None)
    environments = list(dict.fromkeys(environment for environment, _ in curves))
    charts = {metric: f"{CHARTS.get(metric, metric.replace('_', ' '))}, interquartile mean over seeds"}
    runs = {"live": False, "environments": environments, "curves": list(curves.values()), "progress": []}
    sections = "".join(
        f'<section id="world-{i}"><h2>{html.escape(name)}</h2><p>The band is the 95&nbsp;% interval. {READ}</p>'
        f'<div id="charts-{i}"></div></section>\n'
        for i, name in enumerate(environments)
    )
    return markup.document(
        title="Action balance: comparison",
        kicker="Action balance &middot; comparison",
        heading=html.escape(f"Who has more {metric.replace('_', ' ')}?"),
        lead=html.escape(f"{counted(len(curves), 'curve')} of {path.resolve().name}."),
        menu={f"world-{i}": html.escape(name) for i, name in enumerate(environments)},
        main=sections,
        footer=FOOTER,
        data={"runs": {**runs, "charts": charts, "first": 1}},
    )
