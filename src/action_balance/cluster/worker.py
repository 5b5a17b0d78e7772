"""A task: trains one job, in the folder of the command."""

import contextlib
import os
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from action_balance._version import __version__
from action_balance.cluster.jobs import Job
from action_balance.cluster.mailbox import Message, Place
from action_balance.engines.metrics_rows import Progress
from action_balance.envs.host_base import EnvironmentsLost
from action_balance.errors import UserError
from action_balance.machine import failure
from action_balance.runs.owned import FolderBusy

#: Seconds between two messages about the progress of a task.
EVERY = 0.5

#: Seconds to wait for a process that trains the same job: storage may unlock late what a lost machine has locked.
PATIENCE = 90.0

#: Seconds to wait until the last message has arrived: its actor may still be starting.
LAST_WORDS = 30.0

#: How an attempt ended. ``stopped``: it was asked to stop, and has saved. ``busy``: another process trains the job.
#: ``crashed``: its machine could not train it, but another one might.
Status = Literal["finished", "stopped", "busy", "crashed", "failed"]


@dataclass(frozen=True)
class Attempt:
    """One try at a job."""

    number: int  # from 1 on
    cpus: int  # cores that it may use
    cwd: str  # folder of the command, from which modules of the user are imported
    marker: Path  # a file of the command, which a task sees if it has the same storage
    version: str = __version__


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended."""

    status: Status
    reason: str = ""  # why it failed, in one line


def work(job: Job, attempt: Attempt, mailbox: Any) -> Outcome:
    """Train a job; what Ray calls in a process on any node."""
    import ray

    sent: list[Any] = []
    host = socket.gethostname()

    def post(kind: str, about: object) -> None:
        sent[:] = [mailbox.post.remote(Message(job.name, attempt.number, kind, about))]

    last = 0.0

    def report(now: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY or now.update == job.updates:
            last = time.monotonic()
            post("progress", now)

    post("started", Place(ray.get_runtime_context().get_node_id(), host))
    try:
        if why := unsuitable(attempt, host):
            return Outcome("crashed", why)
        prepare(attempt)
        wait_until_free(job.claim)
        job.train(report, lambda line: post("note", line))
    except (KeyboardInterrupt, Exception) as error:
        return outcome_of(error)
    finally:
        ray.wait(sent, timeout=LAST_WORDS)
    return Outcome("finished")


def unsuitable(attempt: Attempt, host: str) -> str:
    """Why a machine cannot train; empty if it can."""
    if attempt.version != __version__:
        return f"{host} has action-balance {__version__}, and the command {attempt.version}: install the same version"
    if not attempt.marker.exists():
        return f"{host} does not see {attempt.marker.parent}: choose an --out on storage that all nodes share"
    return ""


def outcome_of(error: BaseException) -> Outcome:
    """What an error means for the job; one that only a bug explains is raised again."""
    if isinstance(error, KeyboardInterrupt):
        return Outcome("stopped")
    if isinstance(error, FolderBusy):
        return Outcome("busy", str(error))
    if isinstance(error, UserError):  # whose cause may be the machine, such as one whose GPU fails, or the settings
        cause = error.__cause__
        crashed = isinstance(cause, EnvironmentsLost) or (cause is not None and failure(cause) is not None)
        return Outcome("crashed" if crashed else "failed", str(error))
    if (why := failure(error)) is None:
        raise error
    return Outcome("crashed", why)


def prepare(attempt: Attempt) -> None:
    """Configure the process as the command line does; without effect in one that has trained before."""
    import jax

    from action_balance.core.program_cache import use_program_cache
    from action_balance.engines.device.devices import CPU_DEVICES

    with contextlib.suppress(OSError):  # the folder of the command may be on another machine
        os.chdir(attempt.cwd)
    if CPU_DEVICES not in os.environ:
        with contextlib.suppress(RuntimeError):  # at least two: a program for one device is rounded differently
            jax.config.update("jax_num_cpu_devices", max(2, attempt.cpus))
    use_program_cache()


def wait_until_free(claim: Callable[[], AbstractContextManager[None]]) -> None:
    """Wait for a process that has been lost to lose its lock, too; a `FolderBusy` if it does not."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            with claim():
                return
        except FolderBusy:
            if time.monotonic() >= give_up:
                raise
            time.sleep(0.5)
