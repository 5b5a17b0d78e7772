"""What a sweep has found, in words: the settings that the search has chosen, with fresh seeds.

The search chooses the settings, and the fresh seeds only measure them. To choose again among the finalists by these
measurements would make them optimistic as well.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from action_balance.printable import printable
from action_balance.studies.statistics import MIN, Estimate, describe, to_data
from action_balance.studies.sweep.settings import BASELINE
from action_balance.studies.sweep.space import Space, shown
from action_balance.studies.sweep.trials import Final
from action_balance.studies.verdict_text import wrapped
from action_balance.terminal.console import say
from action_balance.web.format import count, decimals, side


def short_names(space: Space) -> dict[str, str]:
    """Names of settings for tables: without the group, unless two settings then have the same name."""
    last = {name: name.rpartition(".")[2] for name in space.names}
    return {name: one if list(last.values()).count(one) == 1 else name for name, one in last.items()}


def values_text(values: Mapping[str, Any], space: Space) -> str:
    """Values in words: ``learning_rate 0.0003, epochs 4``."""
    names = short_names(space)
    return ", ".join(f"{names[name]} {shown(value)}" for name, value in values.items())


def digits(finals: Sequence[Final]) -> int:
    known = [one.mean for one in finals if one.is_known]
    return decimals((one.value for one in known), (one.spread_ends[1] - one.spread_ends[0] for one in known))


def chosen(finals: Sequence[Final]) -> Final | None:
    """The settings that the search prefers; None if it has chosen none."""
    known = [one for one in finals if math.isfinite(one.search_score)]
    return min(known, key=lambda one: (-one.search_score, one.trial or 0), default=None)  # ranked as trials are


def sentences(finals: Sequence[Final], space: Space, metric: str) -> Iterator[str]:
    best, base = chosen(finals), next((one for one in finals if one.name == BASELINE), None)
    if best is None or base is None:
        yield f"No finished trial has a score yet, so there are no best settings: {metric} is not known."
        return
    if best.name == BASELINE:
        yield "The search prefers the settings without any change."
        if best.is_known:
            yield f"With {count(len(best.scores), 'fresh seed')}, their mean {metric} is {_text(best.mean, finals)}."
        return
    which = f"The search prefers {values_text(best.values, space)} (trial {best.trial})"
    if not (best.is_known and base.is_known):
        yield f"{which}. The scores of the fresh seeds are not known yet."
        return
    yield (
        f"{which}. With {count(len(best.scores), 'fresh seed')}, the mean {metric} of these settings is "
        f"{_text(best.mean, finals)}, compared with {_text(base.mean, finals)} without any change."
    )
    yield difference_sentence(best.more_than(base), len(best.scores), digits(finals))


def difference_sentence(difference: Estimate, seeds: int, decimals: int) -> str:
    if difference.spread is None:
        few = f"{count(seeds, 'seed')} {'is' if seeds == 1 else 'are'} too few for an interval"
        return f"The difference may be due to chance: {few}, which needs at least {MIN}."
    low, high = (f"{end:,.{decimals}f}" for end in difference.spread_ends)
    where = side(to_data(difference), 0)
    says = {"above": "significant", "below": "significant: they are worse", "around": "not significant"}[where]
    return f"The difference is {says} (95 % interval {low} to {high})."


def _text(estimate: Estimate, finals: Sequence[Final]) -> str:
    return describe(to_data(estimate), digits(finals)) or "unknown"


def show_verdict(finals: Sequence[Final], space: Space, metric: str, console: Console) -> None:
    for sentence in sentences(finals, space, metric):
        say(console, *wrapped(sentence))
    if not any(one.is_known for one in finals):
        return
    base = next(one for one in finals if one.name == BASELINE)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("")
    for head in ("fresh seeds", "difference", "search"):
        table.add_column(head, justify="right", no_wrap=True)
    decimals = digits(finals)
    for one in finals:
        name = "no change" if one.name == BASELINE else values_text(one.values, space)
        difference = one.more_than(base) if one is not base else Estimate(math.nan)
        table.add_row(
            Text(printable(name)),
            *(describe(to_data(number), decimals) or "-" for number in (one.mean, difference)),
            f"{one.search_score:,.{decimals}f}" if math.isfinite(one.search_score) else "-",
        )
    console.print()
    console.print(table, highlight=False)
    console.print()
    say(console, f"fresh seeds: mean {metric} of seeds that had no part in the search, with its 95 % interval")
    say(console, "search: score of the trial, which is optimistic because it was chosen for it")
