"""Runs of which only the record is left, with chosen numbers."""

import shutil
from pathlib import Path

import numpy as np

from action_balance.runs import RunFolder
from action_balance.runs.folder import CHECKPOINTS
from action_balance.studies.records import RUNS, RunRecord, write_record


def keep(out: Path, record: RunRecord) -> Path:
    """The finished run of a record, in the folder of its study."""
    folder = RunFolder.create(out / RUNS / record.name, record.config.to_dict(), ["test"])
    own = {name: np.asarray(getattr(record, name)) for name in record.axes()}
    write_record(folder, record.more | own)
    shutil.rmtree(folder.path / CHECKPOINTS)
    folder.finish("finished")
    return folder.path
