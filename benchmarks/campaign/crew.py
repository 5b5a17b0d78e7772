"""The threads that work through the cases, each with a warm interpreter, within a time limit."""

import queue
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from campaign.case import Case, Outcome
from campaign.processes import Runner
from campaign.scene import Scene
from campaign.stage import Stage

#: Plays one case on its stage.
Play = Callable[[Stage], None]
#: Seconds before the time limit at which no further case begins.
LAST_START = 30.0


def in_turn(seed: int, counts: Mapping[str, int]) -> list[Case]:
    """All cases, so that every part of the list has all kinds in proportion: a campaign may end early.

    Args:
        seed: of the campaign.
        counts: cases by kind.

    Returns:
        The cases in the order in which they are tried.
    """
    places = [((number + 0.5) / count, kind, number) for kind, count in counts.items() for number in range(count)]
    return [Case(seed, kind, number) for _, kind, number in sorted(places)]


def play(case: Case, how: Play, runner: Runner, scene: Scene, patience: float, keep: bool = False) -> Outcome:
    """Try one case in a folder of its own.

    Args:
        case: the case.
        how: plays it.
        runner: runs its commands.
        scene: what it begins with.
        patience: seconds after which a command is interrupted.
        keep: whether to keep the folder even if all is well.

    Returns:
        What came out of it.
    """
    folder = scene.scratch / "cases" / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stage = Stage(case, folder, runner, scene, patience)
    began = time.monotonic()
    try:
        how(stage)
    except Exception as error:
        (folder / "campaign-error.txt").write_text(traceback.format_exc())
        stage.complain(f"the campaign itself failed: {type(error).__name__}: {error}")
    outcome = stage.outcome(time.monotonic() - began)
    if not outcome.problems and not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


class Crew:
    """Works through cases in several threads."""

    def __init__(self, kinds: Mapping[str, Play], scratch: Path, patience: float, deadline: float, keep: bool) -> None:
        self._kinds = kinds
        self._scene = Scene(scratch)
        self._patience = patience
        self._deadline = deadline  # of `time.monotonic`
        self._keep = keep
        self._outcomes: queue.Queue[Outcome | None] = queue.Queue()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._runners: list[Runner] = []

    def work(self, cases: Iterable[Case], jobs: int) -> Iterator[Outcome | None]:
        """Try cases.

        Args:
            cases: the cases, in order.
            jobs: number of threads.

        Yields:
            What came out of each, as soon as it is known, and None every second.
        """
        left = iter(cases)
        threads = [threading.Thread(target=self._thread, args=(left, job), daemon=True) for job in range(jobs)]
        for thread in threads:
            thread.start()
        working = len(threads)
        while working and time.monotonic() < self._deadline:
            try:
                outcome = self._outcomes.get(timeout=1.0)
            except queue.Empty:
                yield None
                continue
            working -= outcome is None
            yield outcome
        self._stop.set()

    def close(self) -> None:
        """End all processes."""
        self._stop.set()
        for runner in self._runners:
            runner.close()

    def _thread(self, cases: Iterator[Case], job: int) -> None:
        runner = Runner(self._scene.scratch, str(job))
        self._runners.append(runner)
        while not self._stop.is_set() and time.monotonic() < self._deadline - LAST_START:
            with self._lock:
                case = next(cases, None)
            if case is None:
                break
            outcome = play(case, self._kinds[case.kind], runner, self._scene, self._patience, self._keep)
            self._outcomes.put(outcome)
        self._outcomes.put(None)
