"""One case at work: its folder, the commands that it runs, and what it finds."""

import random
import shutil
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from campaign import checks
from campaign.case import Case, Outcome
from campaign.fixtures import Fixtures
from campaign.processes import HANG, Ended, Process, Runner

#: Content of a file that no command may read from outside a folder.
SECRET = "secret-of-another-folder"
#: A module that leaves a file when it is imported or called.
CANARY_MODULE = """
open("canary-imported", "w").close()
def go(*_, **__):
    open("canary-called", "w").close()
Thing = go
"""


class CaseContext:
    """What a kind of case works with."""

    def __init__(self, case: Case, folder: Path, runner: Runner, fixtures: Fixtures, patience: float) -> None:
        self.case = case
        self.folder = folder
        self.runner = runner
        self.fixtures = fixtures
        self.patience = patience
        self.rng: random.Random = case.rng()
        self.problems: list[str] = []
        self.notes: Counter[str] = Counter()
        self.waits: dict[str, list[float]] = {}
        self.peak = 0
        self.skipped = ""

    def copy(self, name: str, to: str) -> Path:
        """A copy of the folder of a fixture in the folder of the case."""
        target = self.folder / to
        shutil.copytree(self.fixtures.path(name, self.runner), target, symlinks=True)
        return target

    def plant(self) -> Path:
        """A module that must not be imported, and a folder with a secret beside the case's own."""
        (self.folder / "canary_module.py").write_text(CANARY_MODULE)
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "secret").write_text(SECRET)
        return outside

    def command(self, *words: str, codes: Collection[int] = checks.CODES, about: str = "", **more: Any) -> Ended:
        """Run a command, which is interrupted if it takes long, and check how it ended.

        Args:
            words: its arguments.
            codes: exit codes that it may have.
            about: what is special about it, for the messages.
            more: for `Runner.start`.

        Returns:
            How it ended.
        """
        process = self.runner.start(words, self.folder, **more)
        return self.judge(self.runner.wait(process, self.patience), codes, about)

    def finish(self, *words: str, codes: Collection[int] = (0,), about: str = "", **more: Any) -> Ended:
        """Run a command that must end by itself, successfully unless other codes are given."""
        return self.judge(self.runner.run(words, self.folder, hang=2 * HANG, **more), codes, about)

    def judge(self, ended: Ended, codes: Collection[int] = checks.CODES, about: str = "") -> Ended:
        """Add what is wrong with how a command ended."""
        for problem in checks.problems(ended, codes):
            self.complain(problem, ended, about)
        self.peak = max(self.peak, ended.peak)
        self.notes[{0: "ran", 2: "refused", 130: "interrupted", -2: "interrupted"}.get(ended.code, "other")] += 1
        return ended

    def complain(self, problem: str, ended: Ended | Process | None = None, about: str = "") -> None:
        """Add a problem, with the command."""
        command = f" [{ended.shown}]" if isinstance(ended, Ended) else ""
        self.problems.append(f"{problem}{f' ({about})' if about else ''}{command}")

    def check_canaries(self, ended: Ended, about: str = "") -> None:
        """Add what a hostile file has executed or imported."""
        for problem in checks.strange_imports(ended):
            self.complain(problem, ended, about)
        for canary in sorted(self.folder.rglob("canary-*")):
            self.complain(f"executed code of a file: {canary.name}", ended, about)
            canary.unlink()

    def outcome(self, seconds: float, cpu: float = 0.0) -> Outcome:
        """All that was found, with the time that it took."""
        waits = {what: tuple(times) for what, times in self.waits.items()}
        problems = tuple(self.problems)
        return Outcome(self.case, problems, dict(self.notes), waits, self.peak, self.skipped, seconds, cpu)
