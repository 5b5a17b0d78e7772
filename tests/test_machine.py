import os

import pytest

from action_balance.machine import cores


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 5, 7}, raising=False)
    assert cores() == 3


def test_cores_are_all_where_the_system_does_not_restrict_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert cores() == 4
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1
