"""The progress of a training on the screen: a bar on a terminal, plain lines elsewhere."""

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.progress import Task as BarTask
from rich.text import Text

from action_balance.config.train import TrainConfig
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import as_duration
from action_balance.printable import printable
from action_balance.terminal.console import say
from action_balance.terminal.progress import LINE_EVERY
from action_balance.terminal.summary import compiling, end_lines, score, start_lines


class Shown:
    """The progress of a training as a program wants it: this kind prints nothing itself."""

    def __init__(self, *reports: Callable[[Progress], None]) -> None:
        self._reports = reports

    def begin(self) -> None:
        """The training begins, with compiling."""

    def __call__(self, now: Progress) -> None:
        for report in self._reports:
            report(now)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop showing, whether the training is finished or not."""

    def finish(self) -> None:
        """The training is finished."""


class Display(Shown):
    """Progress on a screen: a bar with steps, steps per second, time left, return, states reached and bonus.

    Plain lines are printed if the output is not a terminal. Where states cannot be enumerated, the best return since
    the start of this process is shown instead of their number.
    """

    def __init__(
        self,
        console: Console,
        config: TrainConfig,
        name: str = "",
        path: Path | None = None,
        *reports: Callable[[Progress], None],
    ) -> None:
        super().__init__(*reports)
        self._console, self._config, self._name, self._path = console, config, name, path
        self._total = config.agent.updates
        self._began = self._last_line = time.perf_counter()
        self._first: tuple[int, float] | None = None  # steps and time of the first update: compiling does not count
        self._best = -math.inf
        self._bar: Bar | None = None
        self._open = ExitStack()

    def begin(self) -> None:
        """Say what is trained, and that it compiles; on a terminal, the time runs meanwhile."""
        self._began = time.perf_counter()
        text = f"{self._name}{compiling(self._config)}"
        if self._path is not None:
            say(self._console, *start_lines(self._config, self._path))
        if not self._console.is_terminal:
            say(self._console, f"{text} ...")
            return
        columns = (TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        left = (TextColumn("{task.fields[left]}"), _Left())
        self._bar = Bar(BarColumn(16), *columns, *left, console=self._console)
        self._bar.add_task(printable(text), total=None, left="")
        self._open.enter_context(self._bar)

    def __call__(self, now: Progress) -> None:
        self._show(now)
        super().__call__(now)

    def _show(self, now: Progress) -> None:
        is_first, text = self._first is None, self._describe(now)
        if self._bar is not None:
            self._bar.update(TaskID(0), total=self._total, completed=now.update, description=text, left="left")
            return
        if is_first:
            waited = as_duration(time.perf_counter() - self._began)
            say(self._console, f"{self._name}first update after {waited}, including compilation")
        if time.perf_counter() - self._last_line >= LINE_EVERY or now.update == self._total:
            self._last_line = time.perf_counter()
            say(self._console, f"update {now.update} of {self._total}: {text}")

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def finish(self) -> None:
        """Say how it ended, and which commands come next."""
        if self._path is not None:
            say(self._console, *end_lines(self._config, self._path, time.perf_counter() - self._began))

    def _describe(self, now: Progress) -> str:
        self._best = max(self._best, now.best_return)  # nan is never larger
        self._first = self._first or (now.steps, time.perf_counter())
        seconds = time.perf_counter() - self._first[1]
        rate = f"{(now.steps - self._first[0]) / seconds:,.0f}/s, " if now.steps > self._first[0] else ""
        found = f"best {score(self._best)}" if now.states is None else f"states {now.states:,.0f}"
        bonus = "" if now.bonus is None else f", bonus {now.bonus:.3g}"
        seeds = self._config.seeds
        steps = f"{now.steps // seeds:,} steps{' per seed' if seeds > 1 else ''}"
        return f"{self._name}{steps}, {rate}return {score(now.episode_return)}, {found}{bonus}"


class _Left(TimeRemainingColumn):
    """The time that is left; nothing before the first update, when nobody knows."""

    def render(self, task: BarTask) -> Text:
        return super().render(task) if task.total else Text("")
