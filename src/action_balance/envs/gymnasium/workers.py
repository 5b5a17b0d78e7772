"""Processes that step Gymnasium environments, one each. Ctrl-C is for the training alone, from their first moment."""

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Sequence
from typing import Any

from gymnasium import Env
from gymnasium.error import NoAsyncCallError
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

#: Seconds that workers have to end their step, when all end.
GRACE = 5.0
#: What a broken connection to a worker raises.
LOST = (EOFError, ConnectionError, BrokenPipeError, multiprocessing.TimeoutError)


class Workers(AsyncVectorEnv[Any, Any]):
    """Gymnasium's asynchronous environments; where beginning them is interrupted, none goes on."""

    def __init__(self, makes: Sequence[Callable[[], Env[Any, Any]]]) -> None:
        """Begin them, and wait until they are there.

        Args:
            makes: makes the environment of each, and has it ignore interrupts before, as `gym_single.single` does.
        """
        _begin_server()
        try:
            # Not forked: there are threads here.
            super().__init__(makes, context="forkserver", autoreset_mode=AutoresetMode.DISABLED)
        except BaseException:
            end(self)
            raise


def close(vector: AsyncVectorEnv[Any, Any]) -> None:
    """Let the workers end; what is under way in them is waited for, for a while."""
    try:
        for wait in () if vector.closed else (vector.step_wait, vector.reset_wait):
            with contextlib.suppress(NoAsyncCallError):
                wait(GRACE)
        vector.close()
    except LOST:
        end(vector)


def end(vector: AsyncVectorEnv[Any, Any]) -> None:
    """Stop the workers, also those that do not listen, or are not all there."""
    for process in getattr(vector, "processes", ()):
        if process.pid is not None:
            process.kill()
            process.join()
    for pipe in getattr(vector, "parent_pipes", ()):
        if pipe is not None:
            pipe.close()
    vector.closed = True


def _begin_server() -> None:
    """Have a server that workers are forked from, with interrupts blocked: workers inherit that.

    Otherwise one that comes while they still load libraries would end them, with a traceback each.
    """
    from multiprocessing import forkserver, resource_tracker  # not on Windows

    resource_tracker.ensure_running()  # as the server would do, and it unblocks them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
