"""The small runs and results that cases begin with: made by real commands, each once, when a case asks for it."""

import contextlib
import importlib.util
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from campaign.processes import Runner

#: Settings with which an update takes milliseconds.
TINY = (
    *("--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4"),
)
TINY_IMAGES = (
    *("--envs", "2", "--rollout-steps", "4", "--minibatches", "2", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--channels", "1", "--features", "8", "--trunk", "8", "--bonus-features", "8"),
)
#: Settings of the tabular agent with which a study takes a second.
TINY_GRID = ("--runs", "2", "--episodes", "2", "--episode-steps", "8", "--max-steps", "100")
MAP = "########\n#S.....#\n#.##.#.#\n#....#G#\n########\n"

#: Seconds that a fixture may take on a busy machine.
PATIENCE = 600.0
#: Most seconds that a training takes with compiled programs.
LONGEST = 10.0
#: Results of the repository, for commands that read them.
PUBLISHED = Path(__file__).parents[2] / "results"


@dataclass(frozen=True)
class Training:
    """A training run among the fixtures."""

    words: tuple[str, ...]
    """The command, without its folder."""
    updates: int
    """Updates of the whole run."""
    seeds: int
    """Agents, each with a row per update."""
    every: int
    """Updates between two checkpoints."""
    exact: bool
    """Whether a resumed run is equal to an undisturbed one, byte for byte."""


def _training(env: str, *more: str, updates: int, every: int, seeds: int = 1, exact: bool = True) -> Training:
    images = env.startswith("atari:")
    steps = updates * (8 if images else 32)
    words = ("train", env, *more, *(TINY_IMAGES if images else TINY), "--steps", str(steps), "--seeds", str(seeds))
    return Training((*words, "--checkpoint-every", str(every)), updates, seeds, every, exact)


TRAININGS = {
    "sea": _training("deep-sea", "--size", "4", updates=8, every=2, seeds=2),
    "pole": _training("gym:CartPole-v1", updates=8, every=2, exact=False),
    "long-sea": _training("deep-sea", "--size", "4", updates=120, every=5, seeds=2),
    "long-open": _training("open", "--size", "5", updates=120, every=7),
    "long-pole": _training("gym:CartPole-v1", updates=100, every=5, exact=False),
    "long-async": _training("gym:CartPole-v1", "--vectorize", "async", updates=60, every=5, exact=False),
    "atari": _training("atari:pong", updates=40, every=4, exact=False),
}


def possible(names: Iterable[str]) -> list[str]:
    """Those of some folders whose environments are installed; the small world on the device always is."""
    needed = {"pole": "gymnasium", "async": "gymnasium", "atari": "ale_py"}
    missing = [part for part, module in needed.items() if importlib.util.find_spec(module) is None]
    return [name for name in names if not any(part in name.split("-") for part in missing)]


class Fixtures:
    """Folders to begin with, by name. Nobody may change them; cases work on copies."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.cache = scratch / "cache"
        self.cache.mkdir(parents=True, exist_ok=True)
        self._seconds: dict[str, float] = {}
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def path(self, name: str, runner: Runner) -> Path:
        """The folder of a fixture, which is made if this is the first request.

        Args:
            name: one of `TRAININGS`, or of the other makers below.
            runner: runs the commands that make it.

        Returns:
            The folder.
        """
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            folder = self.scratch / "fixtures" / name
            if not folder.exists():
                prepared = self.scratch / "prepared" / name
                shutil.rmtree(prepared, ignore_errors=True)
                prepared.parent.mkdir(exist_ok=True)
                began = time.monotonic()
                MAKERS.get(name, _train)(self, name, prepared, runner)
                self._seconds[name] = time.monotonic() - began
                folder.parent.mkdir(exist_ok=True)
                os.replace(prepared, folder)
            return folder

    def seconds(self, name: str) -> float:
        """About how long a training run takes with compiled programs, to interrupt it somewhere in between."""
        return min(self._seconds.get(name, LONGEST), LONGEST)

    def execute(self, name: str, runner: Runner, *words: str) -> None:
        """Run a command that must succeed, and keep what it compiles for all others."""
        own = self.scratch / f"cache-{name}"
        own.mkdir(exist_ok=True)
        for entry in self.cache.iterdir():
            with contextlib.suppress(FileExistsError):
                os.link(entry, own / entry.name)
        ended = runner.run(words, self.scratch, hang=PATIENCE, cache=own)
        if ended.code:
            raise RuntimeError(f"{ended.shown}: exit code {ended.code}: {ended.err.strip()[-500:]}")
        for entry in own.iterdir():
            with contextlib.suppress(FileExistsError):
                os.link(entry, self.cache / entry.name)  # it appears there as a whole


def _train(fixtures: Fixtures, name: str, folder: Path, runner: Runner) -> None:
    fixtures.execute(name, runner, *TRAININGS[name].words, "--out", str(folder))
    if not name.startswith("long"):
        fixtures.execute(name, runner, "evaluate", str(folder), "--episodes", "1")


def _half(fixtures: Fixtures, name: str, folder: Path, runner: Runner) -> None:
    """A run as a kill leaves it: its last checkpoint is gone, its last rows are there."""
    whole = name.removesuffix("-half")
    shutil.copytree(fixtures.path(whole, runner), folder)
    shutil.rmtree(folder / "checkpoints" / f"{TRAININGS[whole].updates:08d}")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"status": "running", "end": None}, indent=2) + "\n")
    again = folder.with_name(f"{name}-again")
    shutil.copytree(folder, again)
    fixtures.execute(name, runner, "resume", str(again))  # compiles what a resumed run needs
    if TRAININGS[whole].exact and (again / "metrics.jsonl").read_bytes() != (folder / "metrics.jsonl").read_bytes():
        raise RuntimeError(f"a resumed run has other metrics: {again}")
    shutil.rmtree(again)


def _explored(fixtures: Fixtures, name: str, folder: Path, runner: Runner) -> None:
    (fixtures.scratch / "map.txt").write_text(MAP)
    fixtures.execute(name, runner, "explore", str(fixtures.scratch / "map.txt"), *TINY_GRID, "--out", str(folder))


def _grid(fixtures: Fixtures, name: str, folder: Path, runner: Runner) -> None:
    fixtures.execute(name, runner, "reproduce", "grid", *TINY_GRID, *GRID, "--out", str(folder))


def _compared(fixtures: Fixtures, name: str, folder: Path, runner: Runner) -> None:
    runs = [str(fixtures.path(one, runner)) for one in possible(("sea", "pole"))]
    fixtures.execute(name, runner, "compare", *runs, "--out", str(folder))


def _published(_fixtures: Fixtures, name: str, folder: Path, _runner: Runner) -> None:
    shutil.copytree(PUBLISHED / name.removeprefix("published-"), folder)


#: The world of the tiny grid study.
GRID = ("--size", "4", "--goals", "3,3", "--studies", "coverage", "goals")
#: Makers of folders that are not training runs, by name.
MAKERS: dict[str, Callable[[Fixtures, str, Path, Runner], None]] = {
    **{"sea-half": _half, "pole-half": _half, "explored": _explored, "grid": _grid, "compared": _compared},
    **{f"published-{name}": _published for name in ("bonuses", "doorkey", "montezuma-long", "atari-short", "entropy")},
}


def published(name: str) -> bool:
    """Whether the repository has a result of this name."""
    return (PUBLISHED / name.removeprefix("published-")).is_dir()
