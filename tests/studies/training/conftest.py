"""Runs that the tests of this folder look at."""

from pathlib import Path

import pytest
from watched_runs import two_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two finished runs of four updates, the first with a hostile name, visits and an evaluation."""
    return two_runs(tmp_path_factory.mktemp("runs"))
