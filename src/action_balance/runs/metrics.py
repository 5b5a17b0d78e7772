"""Writing the metrics of a run: one JSON line per update and seed, and the same numbers for TensorBoard.

A line of ``metrics.jsonl`` has ``update``, ``seed`` and ``steps`` (environment steps so far), then numbers and lists of
numbers by name. nan is ``null``, infinity is ``"inf"`` or ``"-inf"``. Numbers that depend on the clock are in
``timing.jsonl`` instead (one line per update: ``update``, ``steps``, numbers by name), so that the same run always has
the same ``metrics.jsonl``, byte for byte, however often it was interrupted. ``visits.jsonl`` has a line for some
updates: how often each pair of state and action had been taken by then.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from action_balance.errors import UserError, WriteError
from action_balance.files import Data, reason, write_atomically
from action_balance.packing import packed
from action_balance.runs.events import EventLog
from action_balance.runs.rows import METRICS, TIMING, VISITS, parse_row

TENSORBOARD = "tensorboard"

#: The entries of a row that identify it.
KEYS = ("update", "seed", "steps")


def _plain(row: Mapping[str, Any]) -> Data:
    """Numbers and arrays as Python's own numbers."""
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
        self._events = EventLog(path / TENSORBOARD)

    def append(self, rows: Sequence[Mapping[str, Any]], timing: Mapping[str, Any] | None = None) -> None:
        """Write the rows of one update; killing the process afterwards does not lose them.

        Append before the checkpoint of the update is saved, so that no checkpoint is ahead of its metrics.

        Args:
            rows: one per seed: ``update``, ``seed``, ``steps``, then numbers or lists of numbers by name.
            timing: numbers that depend on the clock, e.g. ``steps_per_second``, for all seeds together.
        """
        if not rows:
            return
        plain, clock = [_plain(row) for row in rows], _plain(timing or {})
        now = {"update": plain[0]["update"], "steps": plain[0]["steps"]}
        self._append(METRICS, b"".join(_line({**{key: row[key] for key in KEYS}, **row}) for row in plain))
        if clock:
            self._append(TIMING, _line({**now, **clock}))
        try:
            for row in plain:
                values = {name: value for name, value in row.items() if name not in KEYS}
                self._events.write(f"seed-{row['seed']}", row["steps"], values)
            if clock:
                self._events.write("timing", now["steps"], clock)
        except OSError as error:
            raise WriteError(f"cannot write {self.path / TENSORBOARD}: {reason(error)}", error) from None

    def append_visits(self, update: int, steps: int, counts: Int[np.ndarray, "states choices"]) -> None:
        """Write how often all seeds together have taken each action in each state so far."""
        self._append(VISITS, _line({"update": update, "steps": steps, **packed(counts)}))

    def _append(self, name: str, content: bytes) -> None:
        try:
            with open(self.path / name, "ab") as file:
                file.write(content)
        except OSError as error:
            raise WriteError(f"cannot write {self.path / name}: {reason(error)}", error) from None

    def truncate_after(self, update: int) -> tuple[str, ...]:
        """Drop what was written after an update, half-written lines included, to continue from its checkpoint.

        Args:
            update: the last one to keep.

        Returns:
            A warning if rows up to that update are missing.
        """
        row, _, _ = (self._truncate(name, update) for name in (METRICS, TIMING, VISITS))
        self._events.forget_from(row["steps"] + 1 if row else 0)
        last = row["update"] if row else 0
        if last < update:
            return (f"{self.path / METRICS} ends at update {last}: rows up to update {update} are lost",)
        return ()

    def _truncate(self, name: str, update: int) -> Data | None:
        """Keep the rows up to an update, and return the last of them."""
        try:
            lines = (self.path / name).read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UserError(f"cannot read {self.path / name}: {reason(error)}") from None
        kept: list[bytes] = []
        last = None
        for line in lines:
            row = parse_row(line)
            if row is None or row["update"] > update:
                break
            last = row
            kept.append(line)
        if len(kept) < len(lines):
            write_atomically(self.path / name, b"".join(kept))
        return last
