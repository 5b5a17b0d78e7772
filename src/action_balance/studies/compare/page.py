"""The page of ``compare``: the curves of its tables; ``page.html`` has its text."""

from pathlib import Path

from action_balance.files import Data, own_file
from action_balance.plots.drawing import method_name
from action_balance.printable import printable
from action_balance.studies.charts import chart_title
from action_balance.web.files import read_table
from action_balance.web.render import render


def result_page(folder: Path) -> str:
    """The page of a comparison."""
    numbers = ("steps", "iqm", "low", "high", "seeds")
    rows = read_table(own_file(folder, "curves.csv"), ("environment", "curve"), numbers)
    scores = read_table(own_file(folder, "comparison.csv"), ("environment", "curve", "metric"))
    metric = scores[0]["metric"] if scores else "the metric"
    curves: dict[tuple[str, str], Data] = {}
    for row in rows:
        label, method = row["curve"], row["curve"].partition(",")[0]
        curve = curves.setdefault(
            (row["environment"], label),
            {
                "key": f"c{len(curves)}",
                "environment": row["environment"],
                "label": method_name(method) + label[len(method) :].replace("_", " "),
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
    charts = {metric: f"{chart_title(metric)}, interquartile mean over seeds"}
    runs = {"live": False, "environments": environments, "curves": list(curves.values()), "progress": []}
    return render(
        "studies/compare/page.html",
        {"runs": {**runs, "charts": charts, "first": 1}},
        name=printable(folder.resolve().name),
        metric=metric,
        environments=environments,
        curves=len(curves),
    )
