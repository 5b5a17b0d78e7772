"""Writing the metrics of a run: one JSON line per update and seed, and the same numbers for TensorBoard if installed.

A line of ``metrics.jsonl`` has ``update``, ``seed`` and ``steps`` (environment steps so far), then numbers and lists of
numbers by name. nan is ``null``, infinity is ``"inf"`` or ``"-inf"``. Numbers that depend on the clock are in
``timing.jsonl`` instead (one line per update: ``update``, ``steps``, numbers by name), so that the same run always has
the same ``metrics.jsonl``, byte for byte, however often it was interrupted. ``visits.jsonl`` has a line for some
updates: how often each pair of state and action had been taken by then.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from action_balance.files import Data, cannot_write, open_to_append, sync_folder
from action_balance.packing import packed
from action_balance.runs.aside import ASIDE, Cut, new_aside, plan_cut
from action_balance.runs.events import event_log
from action_balance.runs.rows import METRICS, TIMING, VISITS

TENSORBOARD = "tensorboard"

#: The entries of a row that identify it.
KEYS = ("update", "seed", "steps")


def _plain(row: Mapping[str, Any]) -> Data:
    return {
        name: value if isinstance(value, (int, float)) else np.asarray(value).tolist() for name, value in row.items()
    }


def _encode(value: Any) -> Any:
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _line(row: Data) -> bytes:
    return (json.dumps({name: _encode(value) for name, value in row.items()}, allow_nan=False) + "\n").encode()


class MetricsLog:
    """Writes the metrics of a run. Files are open during an update only, so nothing has to be closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._events = event_log(path / TENSORBOARD)

    def append(self, rows: Sequence[Mapping[str, Any]], timing: Mapping[str, Any] | None = None) -> None:
        """Write the rows of one update; killing the process afterwards does not lose them.

        Append, and `sync`, before the checkpoint of the update is saved, so that it is not ahead of its metrics.
        """
        if not rows:
            return
        plain, clock = [_plain(row) for row in rows], _plain(timing or {})
        now = {"update": plain[0]["update"], "steps": plain[0]["steps"]}
        self._append(METRICS, b"".join(_line({**{key: row[key] for key in KEYS}, **row}) for row in plain))
        if clock:
            self._append(TIMING, _line({**now, **clock}))
        if self._events is None:
            return
        try:
            for row in plain:
                values = {name: value for name, value in row.items() if name not in KEYS}
                self._events.write(f"seed-{row['seed']}", row["steps"], values)
            if clock:
                self._events.write("timing", now["steps"], clock)
        except OSError as error:
            raise cannot_write(self.path / TENSORBOARD, error) from None

    def append_visits(self, update: int, steps: int, counts: Int[np.ndarray, "states choices"]) -> None:
        """Write how often all seeds together have taken each action in each state so far."""
        self._append(VISITS, _line({"update": update, "steps": steps, **packed(counts)}))

    def _append(self, name: str, content: bytes) -> None:
        try:
            with open_to_append(self.path / name) as file:
                file.write(content)
        except OSError as error:
            raise cannot_write(self.path / name, error) from None

    def sync(self) -> None:
        """Have all rows on the disk when this returns: after a power cut, no checkpoint is ahead of its metrics."""
        for file in filter(os.path.lexists, (self.path / name for name in (METRICS, TIMING, VISITS))):
            try:
                with open_to_append(file) as rows:
                    os.fsync(rows.fileno())
            except OSError as error:
                raise cannot_write(file, error) from None
        sync_folder(self.path)

    def truncate_after(self, update: int, say: Callable[[str], object] = lambda _: None) -> None:
        """Go back to what was written up to an update, to continue from its checkpoint.

        Every intact row up to it stays. The rows after it, half of a line and damaged lines are moved aside.
        """
        cuts = [plan_cut(self.path / name, update) for name in (METRICS, TIMING, VISITS)]
        for line in self._describe(cuts, update):
            say(line)
        if any(cut.dropped for cut in cuts):
            damaged = "damaged-or-" if any(cut.damaged for cut in cuts) else ""
            aside = new_aside(
                self.path, f"{damaged}after-update-{update}" if update else f"{damaged}without-checkpoint"
            )
            for cut in cuts:
                cut.apply(aside)
        row = cuts[0].last
        if self._events is not None:
            self._events.forget_from(row["steps"] + 1 if row else 0)

    def _describe(self, cuts: Sequence[Cut], update: int) -> Iterator[str]:
        for cut in cuts:
            if cut.damaged:
                lines = "1 damaged line is" if cut.damaged == 1 else f"{cut.damaged:,} damaged lines are"
                yield f"{cut.file}: {lines} moved to {self.path / ASIDE}; intact rows up to update {update} are kept"
        if later := ", ".join(f"{cut.later:,} of {cut.file.name}" for cut in cuts if cut.later):
            goes_on = (
                f"continues after update {update}" if update else "has no checkpoint and restarts from the beginning"
            )
            yield f"{self.path} {goes_on}; the later rows ({later}) are moved to {self.path / ASIDE}"
        last = cuts[0].last["update"] if cuts[0].last else 0
        if last < update:
            yield f"{self.path / METRICS} ends at update {last}: rows up to update {update} are lost"
