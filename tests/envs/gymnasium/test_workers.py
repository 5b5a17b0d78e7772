"""Processes that step environments: what they may import."""

import os
import subprocess
import sys
from multiprocessing import forkserver, resource_tracker

import pytest

from action_balance.envs.gymnasium import workers


@pytest.mark.parametrize("before", [None, "", "1"])
def test_new_interpreters_do_not_import_from_the_current_folder(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(workers.SAFE_PATH, raising=False)
    if before is not None:
        monkeypatch.setenv(workers.SAFE_PATH, before)
    seen: list[str | None] = []
    for module in (forkserver, resource_tracker):
        monkeypatch.setattr(module, "ensure_running", lambda: seen.append(os.environ.get("PYTHONSAFEPATH")))
    workers._start_server()
    assert seen == ["1", "1"]
    assert os.environ.get(workers.SAFE_PATH) == before


def test_workers_that_nobody_closes_end_with_their_process_although_they_ignore_sigterm() -> None:
    program = """
from functools import partial
from action_balance.envs.gymnasium.make import find
from action_balance.envs.gymnasium.single import single
from action_balance.envs.gymnasium.workers import Workers

one = partial(single, find("CartPole-v1", {}, (), "async"), True)
dropped, kept = Workers([one]), Workers([one])
process = dropped.processes[0]
del dropped
assert process.exitcode == -9
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
