"""What a campaign prints: failures at once, a line of progress now and then, and a table at the end."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from campaign.case import Outcome

#: Seconds between two lines of progress.
LINE_EVERY = 20.0


class Report:
    """Collects outcomes and prints them."""

    def __init__(self, console: Console, planned: Mapping[str, int], log: Path) -> None:
        self._console = console
        self._planned = planned
        self._log = log
        self._tried: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._peak: Counter[str] = Counter()
        self._longest: Counter[str] = Counter()
        self._notes: dict[str, Counter[str]] = {kind: Counter() for kind in planned}
        self._waits: dict[str, list[float]] = {}
        self._reasons: dict[str, str] = {}
        self._last_line = 0.0

    @property
    def failed(self) -> int:
        """Number of cases that failed."""
        return sum(self._failed.values())

    @property
    def unfinished(self) -> int:
        """Number of planned cases that were neither tried nor skipped."""
        return self.planned - sum(self._tried.values()) - sum(self._skipped.values())

    @property
    def untried(self) -> list[str]:
        """Kinds of which not a single case was tried or skipped: a campaign without them proves nothing."""
        return [kind for kind in self._planned if not self._tried[kind] + self._skipped[kind]]

    @property
    def planned(self) -> int:
        """Number of planned cases."""
        return sum(self._planned.values())

    def add(self, outcome: Outcome, folder: Path) -> None:
        """Count an outcome, keep it in the log, and print it if it failed.

        Args:
            outcome: what came out of a case.
            folder: of the case.
        """
        kind = outcome.case.kind
        with open(self._log, "a", encoding="utf-8") as log:
            log.write(json.dumps(asdict(outcome)) + "\n")
        if outcome.skipped:
            self._skipped[kind] += 1
            self._reasons[kind] = outcome.skipped
            return
        self._tried[kind] += 1
        self._failed[kind] += bool(outcome.problems)
        self._peak[kind] = max(self._peak[kind], outcome.peak)
        self._longest[kind] = max(self._longest[kind], round(outcome.seconds))
        self._notes[kind].update(outcome.notes)
        for what, times in outcome.waits.items():
            self._waits.setdefault(what, []).extend(times)
        for problem in outcome.problems:
            self._print(f"FAILED {outcome.case.name}: {problem}")
        if outcome.problems:
            self._print(f"  again: {outcome.case.command()}\n  files: {folder}")

    def progress(self, seconds: float) -> None:
        """Print a line of progress if the last one is a while ago."""
        if seconds - self._last_line >= LINE_EVERY:
            self._last_line = seconds
            kinds = (f"{kind} {self._tried[kind]}/{count}" for kind, count in self._planned.items())
            self._print(f"{seconds:4.0f} s, {self.failed} failed; tried: {', '.join(kinds)}")

    def table(self, promised: Mapping[str, float]) -> None:
        """Print the table, and how long signals took to be answered.

        Args:
            promised: seconds within which a signal is to be answered, by what was sent.
        """
        shown = Table(title="chaos", title_justify="left", title_style="bold")
        shown.add_column("kind", no_wrap=True)
        for name in ("tried", "of", "failed", "memory", "longest"):
            shown.add_column(name, justify="right", no_wrap=True)
        shown.add_column("what happened", overflow="fold")
        for kind, count in self._planned.items():
            happened = ", ".join(f"{number} {what}" for what, number in sorted(self._notes[kind].items()) if number)
            skipped = f"{self._skipped[kind]} skipped: {self._reasons[kind]}" if self._skipped[kind] else ""
            numbers = (self._tried[kind], count, self._failed[kind])
            size, time = f"{self._peak[kind] / 1e9:.1f} GB", f"{self._longest[kind]} s"
            shown.add_row(kind, *map(str, numbers), size, time, "; ".join(filter(None, (happened, skipped))))
        self._console.print(shown, markup=False)
        for what, times in sorted(self._waits.items()):
            late = sum(time > promised[what] for time in times)
            self._print(
                f"{what}: ended after {median(times):.2f} s (median), {max(times):.2f} s (longest); "
                f"{late} of {len(times)} after more than {promised[what]:.0f} s"
            )
        self._print(f"tried {sum(self._tried.values())}, failed {self.failed}, not finished {self.unfinished}")

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)
