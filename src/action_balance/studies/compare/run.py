"""``compare``: tables on the screen, and tables and a figure as files."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from action_balance.reading import read_bytes
from action_balance.runs.results import ResultFolder, to_csv
from action_balance.studies import statistics
from action_balance.studies.compare import KIND, analysis, holds_result
from action_balance.studies.compare.analysis import UNKNOWN, Comparison, Curve
from action_balance.studies.statistics import Estimate
from action_balance.terminal.console import say

FIGURE, TABLE, CURVES = "comparison", "comparison.csv", "curves.csv"

#: The columns of ``curves.csv``.
CURVE_COLUMNS = ("environment", "curve", "steps", "iqm", "low", "high", "seeds")

#: The environment of rows over all environments.
ALL = "all environments"

NONE = "-"


def compare_runs(paths: Sequence[Path], metric: str, baseline: str | None, out: Path, console: Console) -> None:
    """Compare training runs.

    Args:
        paths: folders of the runs.
        metric: name of a metric.
        baseline: label of the curve that the others are compared with.
        out: folder for the tables and the figure.
        console: the screen.
    """
    result = analysis.compare(paths, metric, baseline)
    _show(result, console)
    _write(result, sorted(path.resolve().name for path in paths), out)
    say(console, f"wrote {FIGURE}.png, {FIGURE}.svg, {TABLE} and {CURVES} to {out}")


def _write(result: Comparison, runs: Sequence[str], out: Path) -> None:
    from action_balance.plots import drawing
    from action_balance.studies.compare.figures import learning_curves

    with ResultFolder.renew(out, KIND) as folder:
        header, rows = _table(result)
        if not folder.before and _is_old(out, header):
            folder.summary["files"] = [TABLE, CURVES, f"{FIGURE}.png", f"{FIGURE}.svg"]
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
        folder.write_csv(TABLE, header, rows)
        folder.write_csv(
            CURVES,
            CURVE_COLUMNS,
            (
                (name, curve.label, steps, *statistics.rounded(*row), len(curve.seeds))
                for name, curves in result.environments.items()
                for curve in curves
                for steps, *row in zip(curve.steps.tolist(), curve.iqm, curve.low, curve.high, strict=True)
            ),
        )
        drawing.save(learning_curves(result), folder.write, FIGURE)
        folder.save()


def _is_old(out: Path, header: Sequence[str]) -> bool:
    """Whether a folder holds a comparison of version 0.1.0, which has tables but no summary."""
    headers = {TABLE: to_csv(header, ()), CURVES: to_csv(CURVE_COLUMNS, ())}
    return holds_result(out) and all(
        read_bytes(out / name, "a table (.csv)").startswith(line) for name, line in headers.items()
    )


def _table(result: Comparison) -> tuple[list[str], list[list[object]]]:
    """Header and rows of ``comparison.csv``."""
    header = ["environment", "curve", "metric", "seeds"]
    header += [f"{name}{end}" for name in ("iqm", "mean") for end in ("", "_low", "_high")]
    header += ["first_reward_median", "never_rewarded", "states_mean"]
    header += ["baseline", "better", "better_low", "better_high"]
    rows: list[list[object]] = []
    for name, curves in result.environments.items():
        for curve in curves:
            better = result.better(name, curve.label)
            rows.append([name, curve.label, result.metric, len(curve.seeds)])
            rows[-1] += statistics.rounded(*curve.score_iqm.parts, *curve.score_mean.parts)
            rows[-1] += [curve.first_reward_median, curve.never, curve.states_mean]
            rows[-1] += [result.baseline if better else "", *statistics.rounded(*(better or UNKNOWN).parts)]
    for label, score in result.together.items():
        rows.append(
            [
                ALL,
                label,
                result.metric,
                _seeds(result, label),
                *statistics.rounded(*score.parts),
                *[""] * (len(header) - 7),
            ]
        )
    return header, rows


def _seeds(result: Comparison, label: str) -> int:
    """Number of seeds of a curve in all environments."""
    return sum(len(curve.seeds) for curves in result.environments.values() for curve in curves if curve.label == label)


def _show(result: Comparison, console: Console) -> None:
    """Print a table for each environment, with two lines per row to fit into 80 columns."""
    scores = [curve.score_iqm for curves in result.environments.values() for curve in curves]
    digits = _digits(one.value for one in scores)
    measured = any(result.better(name, label) for name in result.environments for label in result.labels)
    lines = [f"{result.metric}, mean of the last {100 * statistics.LAST:.0f} % of the updates; below, 95 % intervals"]
    lines += [f"better: probability that a seed scores higher than one of {result.baseline}"] if measured else []
    say(console, *lines)
    for name, curves in result.environments.items():
        table = _new_table(name, "IQM", "mean", "first\nreward", "states", *(["better"] if measured else []))
        for curve in curves:
            cells = [_cell(curve.score_iqm, digits), _cell(curve.score_mean, digits), _first_reward(curve)]
            cells += [NONE if math.isnan(curve.states_mean) else f"{curve.states_mean:,.0f}"]
            cells += [_cell(result.better(name, curve.label), 2)] if measured else []
            table.add_row(_first_cell(curve.label, len(curve.seeds)), *cells)
        console.print()
        console.print(table, highlight=False)
    if result.together:
        table = _new_table(ALL, "IQM")
        for label, score in result.together.items():
            table.add_row(_first_cell(label, _seeds(result, label)), _cell(score, digits))
        console.print()
        console.print(table, highlight=False)
    console.print()
    say(console, *result.notes)


def _new_table(title: str, *heads: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("", max_width=24)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _first_cell(label: str, seeds: int) -> Text:
    return Text(f"{label}\n{seeds} seed{'s' * (seeds != 1)}")


def _digits(values: Iterable[float]) -> int:
    """Decimals that show three significant digits of the largest number."""
    largest = max((abs(value) for value in values if value and math.isfinite(value)), default=1.0)
    return min(max(2 - math.floor(math.log10(largest)), 0), 6)


def _cell(estimate: Estimate | None, digits: int) -> str:
    """A value with its interval below it."""
    if estimate is None or math.isnan(estimate.value):
        return NONE
    value, low, high = (f"{part:,.{digits}f}" for part in estimate.parts)
    if math.isnan(estimate.low):
        return value
    return f"{value}\n{low}..{high}"


def _first_reward(curve: Curve) -> str:
    """Median steps, and the number of seeds without a reward."""
    median = NONE if math.isinf(curve.first_reward_median) else f"{curve.first_reward_median:,.0f}"
    return f"{median}\n{curve.never} never" if curve.never else median
