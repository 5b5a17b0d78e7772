"""What an offline run of Weights & Biases has written: records in the log format of LevelDB, after a header."""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import wandb

Record: Any = importlib.import_module("wandb.proto.wandb_internal_pb2").Record  # made when it is imported

HEADER, BLOCK, RECORD = 7, 32_768, 7
FULL, FIRST, LAST = 1, 2, 4


@contextmanager
def offline(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs are written to a folder, and sent nowhere; wandb reads its environment variables when it is set up."""
    folder.mkdir(exist_ok=True)
    with monkeypatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_DIR", str(folder))
        for hooked in ("exit", "excepthook"):  # wandb replaces them for good
            patch.setattr(sys, hooked, getattr(sys, hooked))
        wandb.teardown()
        yield
        wandb.teardown()


def records(file: Path) -> list[Any]:
    """All records of a file, in order."""
    content, place, part, found = file.read_bytes(), HEADER, b"", []
    while place + RECORD <= len(content):
        if BLOCK - place % BLOCK < RECORD:  # the rest of a block is too short for a record
            place += BLOCK - place % BLOCK
            continue
        length, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        data = content[place + RECORD : place + RECORD + length]
        place += RECORD + length
        part = data if kind in (FULL, FIRST) else part + data
        if kind in (FULL, LAST):
            found.append(Record.FromString(part))
    return found


def history(some: list[Any]) -> list[dict[str, Any]]:
    """The rows that were logged, by the names of their numbers."""
    return [
        {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in one.history.item}
        for one in some
        if one.WhichOneof("record_type") == "history"
    ]


def offline_runs(folder: Path) -> list[list[Any]]:
    """The records of every offline run below a folder, oldest first."""
    return [records(file) for file in sorted(folder.glob("wandb/offline-run-*/*.wandb"))]
