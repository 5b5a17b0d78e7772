"""The page of ``compare``: the verdict, scores and curves of its files; ``page.html`` has its text."""

import math
from pathlib import Path

from action_balance.files import Data, own_file
from action_balance.plots.drawing import method_name
from action_balance.printable import printable
from action_balance.runs.learning_curve import LAST
from action_balance.studies.charts import chart_title
from action_balance.studies.compare.screen import ALL
from action_balance.studies.statistics import MIN, has_interval
from action_balance.web.files import read_table
from action_balance.web.format import as_float, decimals, ends, listed
from action_balance.web.render import render

TABLE_NUMBERS = (
    *("seeds", "iqm", "iqm_low", "iqm_high", "mean", "mean_low", "mean_high"),
    *("first_reward_median", "never_rewarded", "states_mean", "better", "better_low", "better_high"),
)


def result_page(folder: Path, summary: Data) -> str:
    rows = read_table(own_file(folder, "comparison.csv"), ("environment", "curve", "metric"))
    metric = rows[0]["metric"] if rows else "the metric"
    worlds: dict[str, list[Data]] = {}
    for row in rows:
        worlds.setdefault(row["environment"], []).append(_scores(row))
    titles = summary.get("titles", {})
    curves = [
        one | {"environment": titles.get(one["environment"], one["environment"])} for one in _curves(folder, metric)
    ]
    environments = list(dict.fromkeys(curve["environment"] for curve in curves))
    charts = {metric: f"{chart_title(metric)}, interquartile mean over seeds"}
    runs = {"live": False, "environments": environments, "curves": curves, "progress": []}
    together = worlds.pop(ALL, [])
    return render(
        "studies/compare/page.html",
        {"runs": {**runs, "charts": charts, "first": 1}},
        name=printable(folder.resolve().name),
        metric=metric,
        words=metric.replace("_", " "),
        worlds={titles.get(name, name): _world(name, found, summary) for name, found in worlds.items()},
        together=_world(ALL, together, {}),
        curves=len({row["curve"] for found in worlds.values() for row in found}),
        label=_label,
        named=lambda names: listed([_label(name) for name in names]),
        charted=environments,
        most_seeds=max((one["seeds"] for one in curves), default=0),
        bands={
            name: sorted({one["band"] for one in curves if one["environment"] == name and one["band"]})
            for name in environments
        },
        runs=summary.get("runs", []),
        notes=summary.get("notes", []),
        baseline=next((row["baseline"] for found in worlds.values() for row in found if row["baseline"]), None),
        fewest=MIN,
        last=LAST,
        infinity=math.inf,
    )


def _label(curve: str) -> str:
    """A curve's name: that of its method, and the settings in which it differs from others."""
    method = curve.partition(",")[0]
    return method_name(method) + curve[len(method) :].replace("_", " ")


def _scores(row: Data) -> Data:
    known = {name: as_float(row.get(name) or None) for name in (*TABLE_NUMBERS, "lowest", "highest")}
    seeds = 0 if math.isnan(known["seeds"]) else int(known["seeds"])

    def estimate(name: str) -> Data:
        low, high = (known[f"{name}_{end}"] for end in ("low", "high"))
        extremes = [known["lowest"], known["highest"]]
        is_range = not has_interval(seeds) and seeds > 1 and name != "better" and all(map(math.isfinite, extremes))
        return {"value": known[name], "low": low, "high": high, "range": extremes if is_range else None}

    return {
        "curve": row["curve"],
        "label": _label(row["curve"]),
        "method": row["curve"].partition(",")[0],
        "seeds": seeds,
        **{name: estimate(name) for name in ("iqm", "mean", "better")},
        "first_reward": known["first_reward_median"],
        "never": known["never_rewarded"],
        "states": known["states_mean"],
        "baseline": row.get("baseline") or None,
    }


def _world(name: str, rows: list[Data], summary: Data) -> Data:
    """The scores of an environment, with its verdict and its decimals."""
    estimates = [row[part] for row in rows for part in ("iqm", "mean")]
    spreads = [tuple(one["range"] or ends(one)[1:]) for one in estimates]
    digits = decimals((one["value"] for one in estimates), (high - low for low, high in spreads))
    return {"rows": rows, "digits": digits, "verdict": (summary.get("verdict") or {}).get(name)}


def _curves(folder: Path, metric: str) -> list[Data]:
    numbers = ("steps", "iqm", "low", "high", "seeds")
    curves: dict[tuple[str, str], Data] = {}
    for row in read_table(own_file(folder, "curves.csv"), ("environment", "curve"), numbers):
        seeds = int(float(row["seeds"] or 0))
        curve = curves.setdefault(
            (row["environment"], row["curve"]),
            {
                "key": f"c{len(curves)}",
                "environment": row["environment"],
                "label": _label(row["curve"]),
                "method": row["curve"].partition(",")[0],
                "seeds": seeds,
                "band": row.get("band") or None,
                "bucket": 1,
                "steps": [],
                "metrics": {metric: {"mean": [], "low": [], "high": []}},
            },
        )
        curve["steps"].append(int(float(row["steps"] or 0)))
        for part, column in (("mean", "iqm"), ("low", "low"), ("high", "high")):
            curve["metrics"][metric][part].append(float(row[column]) if row[column] else None)
    return list(curves.values())
