"""A search on the terminal: a line for each event, and on a terminal a table of the trials that run now."""

import math
from collections.abc import Sequence

from rich.console import Console, ConsoleRenderable, Group
from rich.table import Table
from rich.text import Text

from action_balance.printable import printable
from action_balance.studies.statistics import Estimate, describe, to_data
from action_balance.studies.sweep.final import Final
from action_balance.studies.sweep.ledger import Ledger, Trial
from action_balance.studies.sweep.settings import BASELINE, PARTS
from action_balance.studies.sweep.space import Space, shown
from action_balance.studies.sweep.verdict import digits, sentences, short_names, values_text
from action_balance.studies.verdict_text import wrapped
from action_balance.terminal.console import say
from action_balance.terminal.live import LiveScreen
from action_balance.terminal.summary import score

#: Lines of the screen that are not for trials.
RESERVED = 4


class SearchScreen(LiveScreen):
    """Shows the trials of a search."""

    def __init__(self, console: Console, space: Space, ledger: Ledger, trials: int) -> None:
        """Show nothing yet."""
        super().__init__(console, refresh_per_second=1, redirect_stdout=False)
        self._space, self._ledger, self._trials = space, ledger, trials
        self._running: list[int] = []

    def started(self, trial: Trial) -> None:
        """A process trains a trial."""
        self._running = [*(one for one in self._running if one != trial.number), trial.number]
        after = f"continued after {_percent(trial)}" if trial.part else "started"
        self.say(f"trial {trial.number}: {after} ({values_text(trial.values, self._space)})")

    def lost(self, trial: Trial) -> None:
        """The process of a trial is gone; another one continues."""
        self._running = [one for one in self._running if one != trial.number]
        self.say(f"trial {trial.number}: its process was lost; it continues from its last checkpoint")

    def reported(self, trial: Trial) -> None:
        """A trial has done a part of its training, which the table shows."""

    def ended(self, trial: Trial) -> None:
        """A trial has ended."""
        self._running = [one for one in self._running if one != trial.number]
        best = self._ledger.best
        text = {
            "finished": f"finished, score {score(trial.score)}",
            "stopped": f"stopped early after {_percent(trial)}, score {score(trial.score)}",
        }.get(trial.status, f"{trial.status}: {trial.reason}")
        if best is not None and trial.status in ("finished", "stopped"):
            is_best = best.number == trial.number
            text += ", the best so far" if is_best else f"; best so far: trial {best.number}, {score(best.score)}"
        self.say(f"trial {trial.number}: {text}")

    def summary(self) -> str:
        """How many trials have ended how, and the best one."""
        ended = [one.status for one in self._ledger.trials if one.ended]
        names = {"finished": "finished", "stopped": "stopped early", "failed": "failed", "invalid": "invalid"}
        counts = [f"{ended.count(status)} {name}" for status, name in names.items() if status in ended]
        parts = [f"{len(ended)} of {self._trials} trials", *([f"({', '.join(counts)})"] if counts else [])]
        best = self._ledger.best
        found = f"; best: trial {best.number}, {score(best.score)}" if best else ""
        return f"{' '.join(parts)}{found}"

    def render(self) -> ConsoleRenderable:
        """A table of the trials that run, and a summary."""
        names = short_names(self._space)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for head in ("trial", *names.values(), "done", "score"):
            table.add_column(printable(head), justify="right", no_wrap=True)
        room = max(1, self.console.size.height - RESERVED)
        for number in self._running[:room]:
            trial = self._ledger.trials[number]
            values = [printable(shown(trial.values[name])) for name in names]
            table.add_row(str(number), *values, _percent(trial), score(trial.score))
        return Group(table, Text(self.summary()))


def _percent(trial: Trial) -> str:
    return f"{100 * trial.part // PARTS} %"


def show_verdict(finals: Sequence[Final], space: Space, metric: str, console: Console) -> None:
    """Print what a sweep has found."""
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
