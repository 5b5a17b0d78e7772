"""A cell that is stopped, killed and continued, beside one that is not."""

import json
import signal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from action_balance.engines.metrics_rows import Progress
from action_balance.runs.array_file import read_arrays
from action_balance.studies import cell_training, cells


class Killed(Exception):
    """The process would have ended."""


def check_resuming(
    folder: Path, cell: cells.Cell, load: cells.Load, train: Any, monkeypatch: pytest.MonkeyPatch
) -> dict[str, np.ndarray]:
    """Check that a cell of three updates has the same record if three processes train it, one update each.

    Args:
        folder: an empty folder.
        cell: the agents.
        load: reads a record.
        train: trains a cell in the folder of a study.
        monkeypatch: of the test.

    Returns:
        The arrays of the record.
    """
    whole, parts = folder / "whole", folder / "parts"
    assert cells.train_cell(whole, cell, load, partial(train, out=whole))
    seen: list[int] = []

    def stop(now: Progress) -> None:
        seen.append(now.update)
        signal.raise_signal(signal.SIGINT)

    def kill(now: Progress) -> None:
        seen.append(now.update)
        if now.update == 3:
            raise Killed

    monkeypatch.setattr(cell_training, "SAVE_EVERY", 0.0)
    with pytest.raises(KeyboardInterrupt):
        cells.train_cell(parts, cell, load, partial(train, out=parts), stop)
    with pytest.raises(Killed):
        cells.train_cell(parts, cell, load, partial(train, out=parts), kill)
    assert cells.train_cell(parts, cell, load, partial(train, out=parts), lambda now: seen.append(now.update))
    assert seen == [1, 2, 3, 3]
    assert [path.name for path in (parts / "cells").iterdir()] == [f"{cell.name}.npz"]
    ours, theirs = (_content(cells.record_path(out, cell.name)) for out in (parts, whole))
    assert ours == theirs
    return read_arrays(cells.record_path(parts, cell.name))


def _content(path: Path) -> dict[str, Any]:
    """All of a record but the time that it took, bit for bit."""
    arrays = read_arrays(path)
    about = json.loads(arrays.pop("about").tobytes())
    assert about.pop("seconds") > 0
    return {"about": about, **{name: (one.dtype, one.shape, one.tobytes()) for name, one in arrays.items()}}
