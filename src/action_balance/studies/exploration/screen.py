"""The verdict of the exploration benchmark in words, and its leaderboard on the terminal."""

import math
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from action_balance.files import Data
from action_balance.studies.exploration.settings import BALANCED, BASE, PAPER, label
from action_balance.studies.verdict_text import with_interval, wrapped
from action_balance.terminal.console import say
from action_balance.web.format import Side, as_float, count, listed, side

#: What adding an action bonus to RND does, by where its probability of improvement lies.
EFFECTS: dict[Side, str] = {
    "above": "improves it",
    "below": "makes it worse",
    "around": "makes no significant difference",
    "unknown": "makes a difference that may be due to chance, because there are too few seeds",
}


def show(ours: Data, console: Console) -> None:
    for sentence in sentences(ours):
        say(console, *wrapped(sentence))
    if not ours["ranking"]:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("method", no_wrap=True)
    for head in ("IQM", "better than RND", "steps/s"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in ours["ranking"]:
        better = with_interval(row["over_base"], ".2f") if row["over_base"] else "-"
        speed = as_float(row["steps_per_second"])
        table.add_row(
            *(str(row["rank"]), label(row["method"]), with_interval(row["iqm"], ".2f"), better),
            "-" if math.isnan(speed) else f"{speed:,.0f}",
        )
    console.print()
    console.print(table, highlight=False)
    console.print()
    say(
        console,
        "IQM: interquartile mean of the scores over seeds and tasks, from 0 to 1, with its 95 % interval",
        "better than RND: probability that a seed scores higher than a seed of RND, mean over tasks",
    )


def sentences(ours: Data) -> Iterator[str]:
    """The verdict: who leads, whether that is significant, and what action balance adds to RND."""
    found, rows = ours["verdict"], {row["method"]: row for row in ours["ranking"]}
    if not found["leaders"]:
        yield "No task has agents of every method yet, so there is no ranking."
        return
    yield leader_sentence(ours)
    if BASE in rows and PAPER in rows:
        where = side(found["paper"], 0.5)
        yield (
            f"Adding the paper's action bonus to RND {EFFECTS[where]}: an agent with it scores higher than one with "
            f"RND alone with probability {in_words(found['paper'])}."
        )
    others = [name for name in BALANCED if name in rows and name != PAPER]
    if others and BASE in rows:
        yield other_bonuses(found["balanced"], others)


def leader_sentence(ours: Data) -> str:
    """Who leads over how many tasks, by which score, and over whom that is not significant."""
    found, rows = ours["verdict"], {row["method"]: row for row in ours["ranking"]}
    leaders, one = found["leaders"], rows[found["leaders"][0]]
    tasks = count(len(ours["ranked_tasks"]), "task")
    if len(rows) == 1:
        return f"The interquartile mean score of {label(leaders[0])} is {in_words(one['iqm'])} in {tasks}."
    if round(as_float(one["iqm"]["value"]), 2) == 0:
        return f"No method stands out in {tasks}: the interquartile mean of every method is 0."
    names = listed([label(name) for name in leaders])
    text = f"The highest scores in {tasks} are those of {names}: interquartile mean {in_words(one['iqm'])}"
    if BASE in rows and BASE not in leaders:
        text += f", compared with {in_words(rows[BASE]['iqm'])} for RND"
    if not found["unclear"]:
        clear = " Seed by seed, the lead over every other method is significant."
        return f"{text}.{clear if len(rows) > len(leaders) else ''}"
    return (
        f"{text}. Seed by seed, the lead over {listed([label(name) for name in found['unclear']])} is not significant."
    )


def other_bonuses(balanced: Data, others: list[str]) -> str:
    """What the action bonuses other than the paper's add to RND."""

    def named(where: Side) -> str:
        names = [label(name).removeprefix("RND + ") for name in balanced.get(where, []) if name in others]
        return listed(names)

    clauses: dict[Side, str] = {
        "above": "significantly better than RND alone",
        "below": "significantly worse",
        "around": "not significantly different",
        "unknown": "too few seeds for a verdict",
    }
    parts = [f"{clause}: {named(where)}" for where, clause in clauses.items() if named(where)]
    return f"Other action bonuses on top of RND: {'; '.join(parts)}."


def in_words(estimate: Data) -> str:
    value, low, high = (as_float(estimate[key]) for key in ("value", "low", "high"))
    return f"{value:.2f}" if math.isnan(low + high) else f"{value:.2f} (95 % interval {low:.2f} to {high:.2f})"
