"""``compare``: the verdict and tables on the screen, and tables and a figure as files."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from action_balance.runs.results import ResultFolder
from action_balance.studies import statistics
from action_balance.studies.compare import KIND, analysis, screen
from action_balance.studies.compare.analysis import UNKNOWN, Comparison
from action_balance.studies.sweep.trials import final_runs, sweep_metric
from action_balance.terminal.console import say

FIGURE, TABLE, CURVES = "comparison", "comparison.csv", "curves.csv"

#: The columns of ``comparison.csv`` and ``curves.csv``. A mean has an interval, scores have a lowest and a highest.
TABLE_COLUMNS = (
    *("environment", "curve", "metric", "seeds"),
    *(f"{name}{end}" for name in ("iqm", "mean") for end in ("", "_low", "_high")),
    *("first_reward_median", "never_rewarded", "states_mean"),
    *("baseline", "better", "better_low", "better_high"),
    *("lowest", "highest"),
)
CURVE_COLUMNS = ("environment", "curve", "steps", "iqm", "low", "high", "seeds", "band")

#: The metric that is compared unless another one is named.
DEFAULT = "episode_return"

#: What a reader of the runs of a sweep should know.
OPTIMISTIC = (
    "the runs of a sweep are its finalists, and final/baseline without any change; if several finalists are compared, "
    "the score of the one that leads is optimistic"
)


def compare_runs(paths: Sequence[Path], metric: str | None, baseline: str | None, out: Path, console: Console) -> None:
    sweeps = [path for path in paths if final_runs(path)]
    metric = metric or (sweep_metric(paths[0]) if sweeps == list(paths) and len(paths) == 1 else None) or DEFAULT
    paths = [run for path in paths for run in final_runs(path) or [path]]
    result = analysis.compare(paths, metric, baseline)
    if sweeps:
        result = replace(result, notes=(*result.notes, OPTIMISTIC))
    screen.show(result, console)
    _write(result, sorted(path.resolve().name for path in paths), out)
    say(console, f"wrote {FIGURE}.png, {FIGURE}.svg, {TABLE} and {CURVES} to {out}")
    say(console, f"view it with: action-balance view {shlex.quote(str(out))}")


def _write(result: Comparison, runs: Sequence[str], out: Path) -> None:
    from action_balance.plots import drawing
    from action_balance.studies.compare.figures import learning_curves

    with ResultFolder.renew(out, KIND) as folder:
        folder.summary |= {"runs": list(runs), "metric": result.metric, "baseline": result.baseline}
        folder.summary["ours"] = {
            name: {
                curve.label: {
                    "seeds": len(curve.seeds),
                    "iqm": statistics.to_data(curve.score_iqm),
                    "mean": statistics.to_data(curve.score_mean),
                }
                for curve in curves
            }
            for name, curves in result.environments.items()
        }
        leads = {name: result.lead(name) for name in result.environments}
        folder.summary["verdict"] = {
            name: lead.to_data() | {"uneven_steps": result.uneven_steps(name)} for name, lead in leads.items() if lead
        }
        folder.summary["notes"] = list(result.notes)
        folder.summary["titles"] = result.titles
        folder.write_csv(TABLE, TABLE_COLUMNS, _table(result))
        folder.write_csv(
            CURVES,
            CURVE_COLUMNS,
            (
                (name, curve.label, steps, *statistics.rounded(*row), len(curve.seeds), curve.band or "")
                for name, curves in result.environments.items()
                for curve in curves
                for steps, *row in zip(curve.steps.tolist(), curve.iqm, curve.low, curve.high, strict=True)
            ),
        )
        drawing.save(learning_curves(result), folder.write, FIGURE)
        folder.save()


def _table(result: Comparison) -> list[list[object]]:
    """Rows of ``comparison.csv``; intervals are empty where there are too few seeds."""
    rows: list[list[object]] = []
    for name, curves in result.environments.items():
        for curve in curves:
            better = result.better(name, curve.label)
            rows.append([name, curve.label, result.metric, len(curve.seeds)])
            rows[-1] += statistics.rounded(*curve.score_iqm.parts, *curve.score_mean.parts)
            rows[-1] += [curve.first_reward_median, curve.never, curve.states_mean]
            rows[-1] += [result.baseline if better else "", *statistics.rounded(*(better or UNKNOWN).parts)]
            rows[-1] += statistics.rounded(float(curve.scores.min()), float(curve.scores.max()))
    for label, score in result.together.items():
        rows.append([screen.ALL, label, result.metric, result.seeds(label), *statistics.rounded(*score.parts)])
        rows[-1] += [""] * (len(TABLE_COLUMNS) - len(rows[-1]))
    return rows
