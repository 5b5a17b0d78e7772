"""The trackers of one run, each in a thread of its own: what is slow or fails there does not concern the training."""

import math
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from queue import SimpleQueue
from statistics import fmean
from typing import Any

from action_balance.files import Data, reason
from action_balance.tracking.base import PROJECTS, EndStatus, RunInfo, TrackConfig, Tracker
from action_balance.tracking.registry import CLASSES, make

#: Seconds that all trackers together may take to send what is left when a run ends, by how it ends.
PATIENCE: dict[EndStatus, float] = {"finished": 60.0, "interrupted": 4.0, "failed": 10.0}
#: The same for a tracker that has not even started, such as one whose server does not answer.
UNSTARTED = 30.0

#: The entries of a row that are no metrics.
KEYS = ("update", "seed", "steps")

#: Where the manifest of a run has its trackers.
TRACKING = "tracking"

#: Ids of tracked runs that are taken from a manifest, which somebody else may have written.
_ID = re.compile(r"[\w-]{1,64}")


def recorded(manifest: Data) -> dict[str, dict[str, str]]:
    found, known = manifest.get(TRACKING), {}
    for name, entry in found.items() if isinstance(found, dict) else ():
        if name in CLASSES and isinstance(entry, dict) and _ID.fullmatch(str(entry.get("id", "none"))):
            known[name] = {"id": str(entry["id"])} if "id" in entry else {}
            if PROJECTS.fullmatch(project := str(entry.get("project") or "")):
                known[name]["project"] = project
    return known


def planned(config: TrackConfig) -> Data:
    """What the manifest of a new run has, so that it is tracked after a resume whenever it was killed."""
    project = {"project": config.project} if config.project else {}
    names = {name: dict(project) for name in config.names if name in CLASSES}
    return {TRACKING: names} if names else {}


def flat(rows: Sequence[Mapping[str, Any]], timing: Mapping[str, Any]) -> dict[str, float]:
    found = [_numbers(row) for row in rows]
    if len(found) == 1:
        metrics = found[0]
    else:
        names = dict.fromkeys(name for one in found for name in one)
        metrics = {name: fmean(one[name] for one in found if name in one) for name in names}
        for row, one in zip(rows, found, strict=True):
            metrics |= {f"seed-{row['seed']}/{name}": number for name, number in one.items()}
    return metrics | {f"timing/{name}": number for name, number in _numbers(timing).items()}


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    named: dict[str, Any] = {}
    for name, value in row.items():
        if name not in KEYS:
            named |= {f"{name}/{i}": item for i, item in enumerate(value)} if isinstance(value, list) else {name: value}
    return {
        name: float(value) for name, value in named.items() if isinstance(value, int | float) and math.isfinite(value)
    }


class Tracking:
    """Follows one run with several trackers."""

    def __init__(
        self, config: TrackConfig, run: RunInfo, manifest: Data, say: Callable[[str], None] = lambda _: None
    ) -> None:
        before = recorded(manifest)
        self._workers: list[_Worker] = []
        self._recorded = before
        self._best = -math.inf
        for name in dict.fromkeys([*before, *(one for one in config.names if one in CLASSES)]):
            known = before.get(name, {})
            project = config.project or known.get("project")
            self._workers.append(_Worker(name, replace(run, project=project), known.get("id"), say))

    def log(self, rows: Sequence[Mapping[str, Any]], timing: Mapping[str, Any]) -> None:
        """Send the rows of an update, without waiting."""
        if self._workers:
            metrics = flat(rows, timing)
            if "episode_return" in metrics:
                self._best = max(self._best, metrics["episode_return"])
            for worker in self._workers:
                worker.put(("log", rows[0]["update"], rows[0]["steps"], metrics))

    def news(self) -> dict[str, dict[str, str]] | None:
        """What the manifest should have as ``tracking``; None if that has not changed since the last call."""
        now = {**self._recorded, **{one.name: one.entry for one in self._workers if one.entry}}
        changed, self._recorded = now != self._recorded, now
        return now if changed else None

    def finish(self, status: EndStatus) -> None:
        """End the tracked runs; what takes too long is left to the trackers' own ways to send it later."""
        best = {"best_episode_return": self._best} if math.isfinite(self._best) else {}
        for worker in self._workers:
            worker.put(("finish", status, best))
        deadline = time.monotonic() + PATIENCE[status]
        for worker in self._workers:
            left = max(0.0, deadline - time.monotonic())
            worker.wait(left if worker.entry else min(left, UNSTARTED))


class _Worker:
    """One tracker and its thread."""

    def __init__(self, name: str, run: RunInfo, resumed: str | None, say: Callable[[str], None]) -> None:
        self.name, self.entry = name, dict[str, str]()
        self._run, self._resumed, self._say = run, resumed, say
        self._queue, self._failed = SimpleQueue[tuple[Any, ...]](), False
        self._thread = threading.Thread(target=self._work, name=f"track-{name}", daemon=True)
        self._thread.start()

    def put(self, item: tuple[Any, ...]) -> None:
        if not self._failed:
            self._queue.put(item)

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._failed = True
            self._say(f"{self.name} did not receive all metrics in time; the run's metrics.jsonl has all of them")

    def _work(self) -> None:
        try:
            tracker: Tracker = make(self.name)
            found = {"id": tracker.start(self._run, self._resumed)}
            self.entry = found | ({"project": self._run.project} if self._run.project else {})
            while True:
                method, *arguments = self._queue.get()
                getattr(tracker, method)(*arguments)
                if method == "finish":
                    return
        except BaseException as error:  # of a library, in a thread that ends with it
            if not self._failed:
                self._failed = True
                self._say(f"{self.name} failed ({reason(error)}): training continues without it")
