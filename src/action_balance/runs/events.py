"""TensorBoard event files, written with TensorBoard's own record writer; TensorFlow is not needed.

TensorBoard is optional: where it is not installed, no event files are written, and nothing else changes.

Every start of a run writes a new file, because the last record of the previous one may be half-written. After a resume
the file begins with a restart record, at which TensorBoard forgets what it has seen from that step on.
"""

import math
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from action_balance.files import check_inside, open_to_append
from action_balance.reading import entries, exists

#: TensorBoard recognises an event file by this part of its name, and reads the files of a folder in order of name.
PREFIX = "events.out.tfevents."


def event_log(path: Path) -> "EventLog | None":
    """Writes event files to a folder; None where TensorBoard is not installed, or does not load."""
    try:
        return EventLog(path)
    except Exception:  # a package that is not installed, or one that does not fit to another
        return None


class EventLog:
    """Writes scalars for TensorBoard. Files are open during a write only, so nothing has to be closed."""

    def __init__(self, path: Path) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._events = event_pb2
        self._summaries = summary_pb2
        self._record_writer = RecordWriter
        self._path = path
        suffixes = [file.name.removeprefix(PREFIX) for folder in entries(path) for file in entries(folder)]
        numbers = [int(suffix) for suffix in suffixes if re.fullmatch("[0-9]{1,9}", suffix)]
        self._name = f"{PREFIX}{max(numbers, default=0) + 1:06d}"
        self._purge_step: int | None = None

    def forget_from(self, step: int) -> None:
        """Make TensorBoard forget what earlier starts wrote at ``step`` and later."""
        self._purge_step = step

    def write(self, run: str, step: int, values: Mapping[str, Any]) -> None:
        """Add scalars; a list becomes one scalar per entry, nan and inf are skipped."""
        file = self._path / run / self._name
        new = not exists(file)
        if new:
            check_inside(self._path.parent, file.parent)
        records = self._header() if new else []
        scalars = {}
        for name, value in values.items():
            items = {f"{name}/{i}": item for i, item in enumerate(value)} if isinstance(value, list) else {name: value}
            scalars.update({tag: float(item) for tag, item in items.items() if math.isfinite(item)})
        entries = [self._summaries.Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        summary = self._summaries.Summary(value=entries)
        records.append(self._events.Event(wall_time=time.time(), step=step, summary=summary))
        file.parent.mkdir(parents=True, exist_ok=True)
        with open_to_append(file) as stream:
            writer = self._record_writer(stream)
            for record in records:
                writer.write(record.SerializeToString())

    def _header(self) -> list[Any]:
        records = [self._events.Event(wall_time=time.time(), file_version="brain.Event:2")]
        if self._purge_step is not None:
            start = self._events.SessionLog(status=self._events.SessionLog.START)
            records.append(self._events.Event(wall_time=time.time(), step=self._purge_step, session_log=start))
        return records
