"""Set-up of the tests: JAX as the command line configures it, but with fast compilation and a cache on disk.

Most of a test is compilation. The settings are in the environment as well, for the commands that tests start.
"""

import gc
import os
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import pytest
from jaxtyping import install_import_hook

# Shapes and types of array arguments and fields are checked in everything that is imported from here on.
CHECKED = ("core", "distributions", "nets", "bonuses", "agent", "tabular", "engines")
install_import_hook([f"action_balance.{room}" for room in CHECKED], "array_checks.check")

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Files that run millions of steps of tabular or neural agents, which are worth optimising.
WALKS = {
    "tabular/test_simulate",
    "cli/test_main",
    *(f"studies/grid/test_{name}" for name in ("corridor", "page")),
    "test_docs",
}
#: Files that take longest, by their CPU time, start first, so that no process waits for another at the end.
#: `make check` leaves them out.
LONG = (Path(__file__).parent / "long.txt").read_text().split()
#: Compiled programs of all processes, also of commands that tests start; ignored by git. Not the user's own folder.
CACHE = Path(__file__).parents[1] / ".jax_cache" / "programs"


def _name(path: Path) -> str:
    """A test file below this folder, without its suffix."""
    return path.relative_to(Path(__file__).parent).with_suffix("").as_posix()


def setting(name: str, value: str | float) -> None:
    """Of JAX, here and in commands that are started from here."""
    jax.config.update(name, value)
    os.environ[name.upper()] = str(value)


@pytest.fixture(scope="module", autouse=True)
def device_programs() -> Iterator[None]:
    """Runs on the device with the same settings share their programs, within a file."""
    from action_balance.engines.device import trainer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "_programs", cache(trainer._programs))
        yield


@pytest.fixture(scope="module", autouse=True)
def compiler(request: pytest.FixtureRequest) -> None:
    """In half the time where programs are run a few times only; results differ by rounding."""
    from action_balance.tabular import simulate

    before, quick = os.environ.get("JAX_DISABLE_MOST_OPTIMIZATIONS"), int(_name(request.path) not in WALKS)
    if before != str(quick):
        simulate._slot.cache_clear()  # the programs of the file before, which round as no command of this file does
    setting("jax_disable_most_optimizations", quick)


def pytest_configure(config: pytest.Config) -> None:
    from whole_programs import compile_bonuses

    from action_balance.core.program_cache import use_program_cache
    from action_balance.engines.device.devices import use_all_cores

    use_all_cores()
    use_program_cache()
    compile_bonuses()
    # Tracing makes millions of objects, few of them garbage: by default, looking for it takes a twentieth of the time.
    gc.set_threshold(50_000, 20, 50)
    config.option.loadscopereorder = False  # by the number of tests, which says little about their time


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(_name(item.path), len(places)))
    for item in items:
        if _name(item.path) in places or "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("long")


def pytest_collection_finish() -> None:
    gc.freeze()  # what has been imported


# Where tests are begun in the background of a script, Ctrl-C is ignored, also by the commands that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Read when Ray is imported: its processes listen on the loopback interface only, and need a token to connect.
os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": 64 * "0"}

# Read when the first program is compiled. A simpler code generator, and no threads for each program.
faster = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
os.environ["XLA_FLAGS"] = f"{faster} {os.environ.get('XLA_FLAGS', '')}"
# Programs do not note where in the source they come from, which took a seventh of the time to trace and lower them.
setting("jax_traceback_in_locations_limit", 0)
setting("jax_include_full_tracebacks_in_locations", 0)
# To keep a program takes 3 ms. Most of them are single operations that are compiled in 8 ms, and once only.
setting("jax_persistent_cache_min_compile_time_secs", 0.02)
setting("jax_compilation_cache_max_size", -1)  # with a limit, the whole folder is read for each new program
os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
os.environ["ACTION_BALANCE_CACHE"] = str(CACHE)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """One browser for all tests of a file."""
    from browser import launch

    with launch() as started:
        yield started
