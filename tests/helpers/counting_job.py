"""A job that counts instead of training: it saves every update, and misbehaves where it is told to."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError
from action_balance.runs.locks import FileLock
from action_balance.runs.owned import FolderBusy
from action_balance.signals import graceful_stop


@dataclass(frozen=True)
class CountingJob:
    """Counts up to ``updates`` in a file; ``trouble`` happens once, in the middle."""

    name: str
    folder: Path
    updates: int = 6
    trouble: str = ""
    seeds: int = 1

    def train(self, report: Callable[[Progress], None], on_message: Callable[[str], None]) -> None:
        with self.claim(), graceful_stop() as stop:
            on_message("counts")
            begun = self.saved()
            with (self.folder / "starts").open("a") as starts:
                starts.write(f"{begun}\n")
            (self.folder / "together").write_text(str(len(list(self.folder.parent.glob("*/.lock")))))
            for update in range(begun + 1, self.updates + 1):
                if update == self.updates // 2 + 1 and begun == 0:
                    self._misbehave()
                if stop.is_set():
                    raise KeyboardInterrupt
                (self.folder / "count").write_text(str(update))
                report(Progress(update, 10 * update, float(update), float(update)))

    def _misbehave(self) -> None:
        if self.trouble == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.trouble == "asked to stop":
            os.kill(os.getpid(), signal.SIGTERM)
        if self.trouble == "no space":
            raise UserError("no space left")
        if self.trouble == "a bug":
            raise ZeroDivisionError("one\ntwo")

    def saved(self) -> int:
        count = self.folder / "count"
        return int(count.read_text()) if count.exists() else 0

    @contextmanager
    def claim(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / ".lock")
        if not lock.acquire():
            raise FolderBusy(f"another process trains {self.name}")
        try:
            yield
        finally:
            lock.release()
