"""Processes that step environments: what they may import."""

import os
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
