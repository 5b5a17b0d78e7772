"""Processes that step one Gymnasium environment each. They leave Ctrl-C and SIGTERM to the training, from the start."""

import contextlib
import multiprocessing
import os
import signal
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from typing import Any

from gymnasium import Env
from gymnasium.error import NoAsyncCallError
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from action_balance.signals import SIGNALS

#: Seconds that workers have to finish their step when all of them end.
GRACE = 5.0
#: Set to anything, it keeps the current folder off the path of a new interpreter, as ``python -P`` does.
SAFE_PATH = "PYTHONSAFEPATH"
#: What a broken connection to a worker raises.
LOST = (EOFError, ConnectionError, BrokenPipeError, multiprocessing.TimeoutError)


class Workers(AsyncVectorEnv[Any, Any]):
    """Gymnasium's asynchronous environments; all of them end if starting them is interrupted, and with this process."""

    def __init__(self, makes: Sequence[Callable[[], Env[Any, Any]]]) -> None:
        _start_server()
        try:
            # Not forked, because this process has threads.
            super().__init__(makes, context="forkserver", autoreset_mode=AutoresetMode.DISABLED)
        except BaseException:
            self.close(terminate=True)
            raise
        # Python asks workers that are left when it ends with SIGTERM, which they ignore, and would wait forever.
        weakref.finalize(self, _kill, self.processes)

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        """Let the workers finish their step, for a while, and end; or kill them, also those that have not started."""
        with contextlib.suppress(*LOST):
            if not terminate:
                for wait in (self.step_wait, self.reset_wait):
                    with contextlib.suppress(NoAsyncCallError):
                        wait(GRACE)
                return super().close_extras(timeout)
        _kill(getattr(self, "processes", ()))  # they ignore SIGTERM
        for pipe in getattr(self, "parent_pipes", ()):
            if pipe is not None:
                pipe.close()
        return None


def _kill(processes: Iterable[BaseProcess]) -> None:
    for process in processes:
        if process.pid is not None:
            process.kill()
            process.join()


def _start_server() -> None:
    """Start the server that workers are forked from with interrupts blocked, which workers inherit.

    Otherwise an interrupt would end workers that are still importing libraries, with a traceback each, and SIGTERM to
    all processes of a job would end the server.
    """
    from multiprocessing import forkserver, resource_tracker  # not on Windows

    # New interpreters do not import from the current folder, which may be a stranger's; workers get our own path. If
    # this process ends at once, the tracker frees what it shared with the workers, and need not warn of it.
    with _environment(**{SAFE_PATH: "1", "PYTHONWARNINGS": "ignore:resource_tracker"}):
        resource_tracker.ensure_running()  # the server would start it, and it unblocks interrupts
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
