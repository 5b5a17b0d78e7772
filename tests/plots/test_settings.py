import os
import subprocess
import sys
from pathlib import Path

import pytest

from action_balance.plots.settings import SETTINGS, ignore_settings_here


def test_settings_of_the_current_folder_are_not_read(tmp_path: Path) -> None:
    """They are read when Matplotlib is imported first, so in a process of its own. The pipe would stop it."""
    os.mkfifo(tmp_path / SETTINGS)
    script = "from action_balance.plots.settings import ignore_settings_here as f; f(); import matplotlib as m; "
    script += "print(m.rcParams['text.usetex'])"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


def test_the_current_folder_stays_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        ignore_settings_here()
        assert Path.cwd() == tmp_path
        (tmp_path / SETTINGS).write_bytes(b"\xff")
