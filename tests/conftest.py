"""Set up before any test: JAX as the command line has it, and compiled programs kept in a folder that git ignores."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import pytest

from action_balance.agent.seeds import use_all_cores

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A folder for each process: one could read what another has half written.
cache = Path(__file__).parents[1] / ".jax_cache" / os.environ.get("PYTEST_XDIST_WORKER", "alone")
jax.config.update("jax_compilation_cache_dir", str(cache))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
use_all_cores()


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """One browser for all tests of a file."""
    from browser import launch

    with launch() as started:
        yield started
