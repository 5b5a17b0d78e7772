"""A comparison on the terminal: the verdict in words, then a table for each environment."""

import math
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from action_balance.runs import learning_curve
from action_balance.studies.compare.analysis import Comparison, LearningCurve
from action_balance.studies.lead import Lead
from action_balance.studies.statistics import MIN, Estimate
from action_balance.terminal.console import say
from action_balance.web.format import count, listed

#: The environment of rows over all environments.
ALL = "all environments"

NONE = "-"


def show(result: Comparison, console: Console) -> None:
    """Print the verdict, and a table for each environment, with two lines per row to fit into 80 columns."""
    say(console, *verdicts(result), "")
    measured = any(result.better(name, label) for name in result.environments for label in result.labels)
    say(console, *_legend(result, measured))
    for name, curves in result.environments.items():
        table = _new_table(
            result.title(name), "IQM", "mean", "first\nreward", "states", *(["better"] if measured else [])
        )
        digits = result.digits(name)
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
            table.add_row(_first_cell(label, result.seeds(label)), _cell(score, result.digits_together))
        console.print()
        console.print(table, highlight=False)
    console.print()
    say(console, *result.notes)


def verdicts(result: Comparison) -> Iterator[str]:
    """For each environment, who leads, by how much, and whether that is certain."""
    for name in result.environments:
        lead, uneven = result.lead(name), result.uneven_steps(name)
        if lead is None:
            yield f"{result.title(name)}: no curve has a score for every seed yet"
            continue
        text = _verdict(lead, result.metric, result.digits(name))
        if uneven and lead.second is not None:
            text += f" The curves end at different points, {uneven[0]:,} to {uneven[1]:,} steps per seed."
        yield f"{result.title(name)}: {text}"


def _verdict(lead: Lead, metric: str, digits: int) -> str:
    leaders, score = listed(lead.leaders), f"a mean {metric} of {lead.score:,.{digits}f}"
    if lead.second is None or lead.difference is None:
        return f"{leaders} {'end' if len(lead.leaders) > 1 else 'ends'} with {score}."
    more = f"{lead.difference.value:,.{digits}f} more than {lead.second}"
    text = f"{leaders} {'lead' if len(lead.leaders) > 1 else 'leads'} with {score}, {more}"
    if lead.fewest < MIN:
        seeds = f"{count(lead.fewest, 'seed')} {'is' if lead.fewest == 1 else 'are'} too few for an interval"
        return f"{text}. This may be due to chance: {seeds}, which needs at least {MIN}."
    low, high = (f"{end:,.{digits}f}" for end in lead.difference.spread_ends)
    if lead.certain:
        return f"{text}. The lead is significant (95 % interval of the difference: {low} to {high})."
    interval = f" (95 % interval of the difference: {low} to {high})" if lead.second in lead.unclear else ""
    return f"{text}. The lead over {listed(lead.unclear)} is not significant{interval}: it may be due to chance."


def _legend(result: Comparison, measured: bool) -> Iterator[str]:
    curves = [curve for of_environment in result.environments.values() for curve in of_environment]
    spreads = {curve.score_mean.spread for curve in curves}
    yield f"{result.metric} of a seed: mean of the last {100 * learning_curve.LAST:.0f} % of its updates"
    yield "mean and IQM (interquartile mean) are over seeds"
    if "interval" in spreads:
        yield "[low, high]: 95 % confidence interval over seeds"
    if "range" in spreads:
        yield f"(low to high): range of the seeds, because an interval needs at least {MIN} seeds"
    if measured:
        yield f"better: probability that a seed scores higher than a seed of {result.baseline}"


def _new_table(title: str, *heads: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("", max_width=24)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _first_cell(label: str, seeds: int) -> Text:
    return Text(f"{label}\n{count(seeds, 'seed')}")


def _cell(estimate: Estimate | None, digits: int) -> str:
    """A value, and below it its interval in brackets or the range of the seeds in parentheses."""
    if estimate is None or math.isnan(estimate.value):
        return NONE
    value, low, high = (f"{part:,.{digits}f}" for part in (estimate.value, *estimate.spread_ends))
    if estimate.spread is None:
        return value
    return f"{value}\n[{low}, {high}]" if estimate.spread == "interval" else f"{value}\n({low} to {high})"


def _first_reward(curve: LearningCurve) -> str:
    """Median steps, and the number of seeds without a reward."""
    median = NONE if math.isinf(curve.first_reward_median) else f"{curve.first_reward_median:,.0f}"
    return f"{median}\n{curve.never} never" if curve.never else median
