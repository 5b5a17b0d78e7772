"""The progress of many runs on one screen; plain lines if the output is not a terminal."""

import time
from collections.abc import Callable

from rich.console import Console, ConsoleRenderable, Group
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from action_balance.cluster.jobs import Job
from action_balance.engines.metrics_rows import Progress as Training
from action_balance.errors import as_duration
from action_balance.printable import printable
from action_balance.terminal.live import LiveScreen
from action_balance.terminal.progress import LINE_EVERY
from action_balance.terminal.summary import score
from action_balance.web.format import count

#: Most seconds between two plain lines; in the first ten minutes there are more.
LONGEST = 60.0

#: Lines of the screen that are not for runs.
RESERVED = 4


class Board(LiveScreen):
    """Shows jobs: a bar for each that runs now, and a line with their number."""

    def __init__(
        self, console: Console, total: int, finished: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(console, auto_refresh=False)
        self._total, self._before = total, finished
        self._done, self._failed, self._retries = 0, 0, 0
        self._now: dict[str, Training | None] = {}
        self._hosts: dict[str, str] = {}
        self._jobs: dict[str, Job] = {}
        self._base: dict[str, int] = {}  # updates that were made before
        self._updates, self._made = 0, 0  # of this command: of all jobs, and of those that are finished
        self._clock = clock
        self._began = self._last_line = clock()

    def add(self, job: Job) -> None:
        self._jobs[job.name], self._base[job.name] = job, job.saved()
        self._updates += job.updates - self._base[job.name]

    def started(self, job: Job, host: str, attempt: int, saved: int) -> None:
        self._now[job.name], self._hosts[job.name] = None, host
        began = f"continues after update {saved:,} of {job.updates:,}" if saved else "starts"
        self.say(f"{job.name}: {began} on {host}{f' (attempt {attempt})' if attempt > 1 else ''}")

    def progress(self, job: Job, now: Training) -> None:
        self._now[job.name] = now

    def finished(self, job: Job, says: str | None = None) -> None:
        last = self._now.pop(job.name, None)
        self._done += 1
        self._made += job.updates - self._base[job.name]
        says = says or f"finished{f', return {score(last.episode_return)}' if last else ''}"
        self.say(f"{job.name}: {says} ({self._before + self._done} of {self._total})")

    def waiting(self, job: Job, why: str) -> None:
        self._now.pop(job.name, None)
        self._retries += 1
        self.say(f"{job.name}: {why}")

    def failed(self, job: Job, why: str) -> None:
        self._now.pop(job.name, None)
        self._failed += 1
        self._updates -= job.updates - self._base[job.name]
        self.say(f"{job.name} could not be trained: {why}")

    def refresh(self) -> None:
        """Show the present: at once on a terminal, as a line now and then elsewhere."""
        self.redraw()
        now = self._clock()
        due = min(LONGEST, max(LINE_EVERY, (now - self._began) / 60))
        if not self.console.is_terminal and now - self._last_line >= due:
            self._last_line = now
            running = [
                f"{name} {100 * at.update // self._jobs[name].updates} %" if at else f"{name} starting"
                for name, at in self._now.items()
            ]
            self.say(f"{self.summary()}; {'; '.join(running) or 'none is running'}")

    def summary(self) -> str:
        """How many jobs are finished, run, wait and have failed, and the time that is left."""
        waiting = self._total - self._before - self._done - self._failed - len(self._now)
        parts = [f"{self._before + self._done} of {self._total} runs finished", f"{len(self._now)} running"]
        parts += [f"{waiting} waiting"] if waiting else []
        parts += [f"{self._failed} failed"] if self._failed else []
        parts += [count(self._retries, "restart")] if self._retries else []
        parts += [left] if (left := self._left()) else []
        return ", ".join(parts)

    def _left(self) -> str:
        """An estimate from the updates of this command, once the first run is finished and all jobs are known."""
        running = {name: now.update - self._base[name] for name, now in self._now.items() if now}
        made = self._made + sum(max(0, one) for one in running.values())
        if not self._done or not made or len(self._jobs) < self._total - self._before:
            return ""
        seconds = (self._clock() - self._began) * (self._updates - made) / made
        return f"about {as_duration(max(0.0, seconds))} left"

    def render(self) -> ConsoleRenderable:
        """A bar for each job that runs, as far as there is room, and a summary."""
        bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(16),
            TextColumn("{task.fields[text]}", markup=False),
            console=self.console,
        )
        room = max(1, self.console.size.height - RESERVED)
        for name, now in list(self._now.items())[:room]:
            job, text = self._jobs[name], "starting"
            if now is not None:
                steps = f"{now.steps // job.seeds:,} steps{' per seed' if job.seeds > 1 else ''}"
                text = f"{steps}, return {score(now.episode_return)}"
            text = printable(f"{text} on {self._hosts[name]}")
            bars.add_task(printable(name), total=job.updates, completed=now.update if now else 0, text=text)
        rest = [Text(f"and {len(self._now) - room} more")] if len(self._now) > room else []
        return Group(bars, *rest, Text(self.summary()))
