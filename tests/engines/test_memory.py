"""Memory is reported where the system reports it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import pytest

from action_balance.engines import memory as module
from action_balance.engines.memory import memory


@pytest.mark.parametrize(("stats", "device"), [({"peak_bytes_in_use": 2**29}, {"device_memory": 0.5}), (None, {})])
def test_memory_is_in_gib(
    stats: Any, device: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "statm").write_text("9999 512 0 0 0 0 0\n")
    monkeypatch.setattr(module, "STATUS", tmp_path / "statm")
    monkeypatch.setattr("os.sysconf", lambda _: 2**20)  # bytes of a page
    monkeypatch.setattr(jax, "local_devices", lambda: [SimpleNamespace(memory_stats=lambda: stats)])
    assert memory() == {"host_memory": 0.5, **device}
    monkeypatch.setattr(module, "STATUS", tmp_path / "absent")
    assert memory() == device
