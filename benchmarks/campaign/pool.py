"""The threads that work through the cases, each with a warm interpreter, within a time limit."""

import queue
import shutil
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from campaign.case import Case, Outcome
from campaign.context import CaseContext
from campaign.fixtures import Fixtures
from campaign.processes import HANG, Runner, StoppedError

#: Tries one case, with the context that it works in.
CaseFunction = Callable[[CaseContext], None]
#: Seconds after the time limit in which the commands that are running then must end: enough to see that one hangs.
OVERTIME = 2 * HANG + 20.0
#: Seconds that the threads have to clean up when the campaign is interrupted.
CLEANING = 10.0


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


def run_case(
    case: Case, how: CaseFunction, runner: Runner, fixtures: Fixtures, patience: float, keep: bool = False
) -> Outcome | None:
    """Try one case in a folder of its own.

    Args:
        case: the case.
        how: the function of its kind.
        runner: runs its commands.
        fixtures: what it begins with.
        patience: seconds after which a command is interrupted.
        keep: whether to keep the folder even if all is well.

    Returns:
        What came out of it; None if the campaign was over before the case was.
    """
    folder = fixtures.scratch / "cases" / case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    context = CaseContext(case, folder, runner, fixtures, patience)
    began, cpu = time.monotonic(), runner.cpu
    try:
        how(context)
    except StoppedError:
        return None
    except Exception as error:
        (folder / "campaign-error.txt").write_text(traceback.format_exc())
        context.complain(f"the campaign itself failed: {type(error).__name__}: {error}")
    outcome = context.outcome(time.monotonic() - began, runner.cpu - cpu)
    if not outcome.problems and not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


class WorkerPool:
    """Works through cases in several threads."""

    def __init__(
        self,
        kinds: Mapping[str, CaseFunction],
        scratch: Path,
        patience: float,
        deadline: float,
        keep: bool,
        overtime: float = OVERTIME,
    ) -> None:
        """Nothing is running yet.

        Args:
            kinds: the function of each kind.
            scratch: folder for everything that is written.
            patience: seconds after which a command is interrupted.
            deadline: of `time.monotonic`; from then on nothing is started.
            keep: whether to keep the folders of all cases.
            overtime: seconds after that in which everything must end.
        """
        self._overtime = overtime
        self._kinds = kinds
        self._fixtures = Fixtures(scratch)
        self._patience = patience
        self._deadline = deadline
        self._keep = keep
        self._outcomes: queue.Queue[Outcome | None] = queue.Queue()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._runners: list[Runner] = []
        self._threads: list[threading.Thread] = []
        self._under_way: dict[int, Case] = {}
        self.problems: list[str] = []  # of the campaign itself, not of a case

    def work(self, cases: Iterable[Case], jobs: int) -> Iterator[Outcome | None]:
        """Try cases.

        Args:
            cases: the cases, in order.
            jobs: number of threads.

        Yields:
            What came out of each, as soon as it is known, and None every second.
        """
        left = iter(cases)
        self._threads = [threading.Thread(target=self._thread, args=(left, job), daemon=True) for job in range(jobs)]
        for thread in self._threads:
            thread.start()
        working = len(self._threads)
        while working and (now := time.monotonic()) < self._deadline + self._overtime:
            if now >= self._deadline:
                self._stop.set()
            try:
                outcome = self._outcomes.get(timeout=1.0)
            except queue.Empty:
                yield None
                continue
            working -= outcome is None
            yield outcome
        if working:
            names = ", ".join(case.name for case in self._under_way.values()) or "a thread"
            self.problems.append(f"still running {self._overtime:.0f} s after the time limit: {names}")

    def close(self) -> None:
        """End all processes, and give the threads a moment to clean up."""
        self._stop.set()
        for runner in self._runners:
            runner.close()
        latest = time.monotonic() + CLEANING
        for thread in self._threads:
            thread.join(max(0.0, latest - time.monotonic()))

    def _thread(self, cases: Iterator[Case], job: int) -> None:
        try:
            runner = Runner(self._fixtures.scratch, str(job), self._stop)
            self._runners.append(runner)
            while not self._stop.is_set():
                with self._lock:
                    case = next(cases, None)
                if case is None:
                    break
                self._under_way[job] = case
                outcome = run_case(case, self._kinds[case.kind], runner, self._fixtures, self._patience, self._keep)
                if outcome is not None:
                    self._outcomes.put(outcome)
        except Exception as error:
            self.problems.append(f"a thread of the campaign ended: {type(error).__name__}: {error}")
        finally:
            self._under_way.pop(job, None)
            self._outcomes.put(None)
