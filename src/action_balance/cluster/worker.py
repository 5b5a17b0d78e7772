"""A task: trains one job, in the folder of the command if the task's node has it, or else in a copy that it sends."""

import contextlib
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from action_balance._version import __version__
from action_balance.cluster import transfer
from action_balance.cluster.home import Message, Place, Superseded
from action_balance.cluster.jobs import Job
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError
from action_balance.machine import failure
from action_balance.runs.leases import LEASE
from action_balance.runs.locks import WATCH, LockLost
from action_balance.runs.owned import FolderBusy

#: How a task reaches the folder of a job: shared storage if there is some, or always a copy.
Storage = Literal["auto", "copy"]

#: Seconds between two messages about the progress of a task.
EVERY = 0.5

#: Seconds to wait for a process that trains the same job: one that was lost keeps its lock for as long as its lease.
PATIENCE = LEASE + WATCH + 15.0

#: How an attempt ended. ``stopped``: it was asked to stop, and has saved. ``busy``: another process trains the job.
Status = Literal["finished", "stopped", "busy", "lost", "failed"]


@dataclass(frozen=True)
class Attempt:
    """One try at a job."""

    number: int
    """From 1 on."""
    cpus: int
    """CPU cores that it may use."""
    cwd: str
    """Folder of the command, from which modules of the user are imported."""
    storage: Storage = "auto"
    version: str = __version__


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended."""

    status: Status
    reason: str = ""
    """Why it failed, in one line."""


def work(job: Job, attempt: Attempt, home: Any) -> Outcome:
    """Train a job; what Ray calls in a process on any node.

    Args:
        job: the job.
        attempt: about this try.
        home: the `Home` actor.

    Returns:
        How it ended.
    """
    import ray

    def post(kind: str, about: object) -> None:
        home.post.remote(Message(job.name, attempt.number, kind, about))

    host = socket.gethostname()
    post("started", Place(ray.get_runtime_context().get_node_id(), host, os.getpid()))
    try:
        if attempt.version != __version__:
            raise UserError(
                f"{host} has action-balance {__version__}, and the command {attempt.version}: install the same version"
            )
        _prepare(attempt)
        with _workspace(job, attempt, home) as (folder, saved):
            _train(job, folder, _reporter(post, saved, job.updates), lambda line: post("note", line))
    except KeyboardInterrupt:
        return Outcome("stopped")
    except FolderBusy as error:
        return Outcome("busy", str(error))
    except (LockLost, Superseded) as error:
        return Outcome("lost", str(error))
    except UserError as error:
        return Outcome("failed", str(error))
    except Exception as error:
        why = failure(error)
        if why is None:
            raise
        return Outcome("failed", why)
    return Outcome("finished")


def _prepare(attempt: Attempt) -> None:
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


def _train(job: Job, folder: Path, report: Callable[[Progress], None], on_message: Callable[[str], None]) -> None:
    """Train, once the process that had the job before is gone."""
    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            return job.train(folder, report, on_message)
        except FolderBusy:
            if time.monotonic() >= give_up:
                raise
            time.sleep(0.5)


def _reporter(
    post: Callable[[str, object], None], saved: Callable[[], None], updates: int
) -> Callable[[Progress], None]:
    """What is called after every update: it tells the command about some of them, and about the last."""
    last = 0.0

    def report(now: Progress) -> None:
        nonlocal last
        saved()
        if time.monotonic() - last >= EVERY or now.update == updates:
            last = time.monotonic()
            post("progress", now)

    return report


@contextmanager
def _workspace(job: Job, attempt: Attempt, home: Any) -> Iterator[tuple[Path, Callable[[], None]]]:
    """The folder to train in, and what to call after every update."""
    if attempt.storage == "auto" and _is_shared(job.folder, home):
        yield job.folder, lambda: None
        return
    copy = Copy(job, attempt.number, home)
    try:
        copy.fetch()  # what is not complete must not be sent
        try:
            yield copy.folder, copy.send_checkpoint
        finally:
            copy.send()
    finally:
        copy.close()


def _is_shared(folder: Path, home: Any) -> bool:
    """Whether a file that is made beside a folder here is there on the machine of the command, too."""
    probe = folder.parent / f".shared-{secrets.token_hex(8)}"
    try:
        os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:  # no such folder, or a different one that is not ours
        return False
    try:
        return bool(_answer(home.sees.remote(str(probe))))
    finally:
        probe.unlink(missing_ok=True)


def _answer(call: Any) -> Any:
    """What the actor returns; an error that it raises is raised as it was there."""
    import ray

    # A task that waits in `ray.get` lends its cores to another one, and then both would train on them.
    try:
        return call.future().result()
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None


class Copy:
    """A copy of the folder of a job on the disk of this node; what is saved there is sent to the command."""

    def __init__(self, job: Job, attempt: int, home: Any) -> None:
        """Make an empty folder.

        Args:
            job: the job.
            attempt: the number of the attempt.
            home: the `Home` actor.
        """
        self._job, self._attempt, self._home = job, attempt, home
        self._root = Path(tempfile.mkdtemp(prefix="action-balance-"))
        self.folder = self._root / job.folder.name
        self._sent: transfer.Stamps = {}
        self._saved = 0

    def fetch(self) -> None:
        """Get what earlier attempts have sent, and keep others from training the job."""
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                names = _answer(self._home.claim.remote(self._job, self._attempt))
                break
            except FolderBusy:
                if time.monotonic() >= give_up:
                    raise
                time.sleep(0.5)
        for name in names:
            offset = 0
            while found := _answer(self._home.fetch.remote(self._job, name, offset)):
                transfer.write_pieces(self.folder, found)
                offset += sum(len(piece.data) for piece in found) or 1
        self._sent = transfer.stamps(self.folder, names)
        self._saved = self._job.saved(self.folder)

    def send_checkpoint(self) -> None:
        """Send everything if there is a new checkpoint."""
        if self._job.saved(self.folder) > self._saved:
            self.send()

    def send(self) -> None:
        """Send all files that have changed; they are put into place together."""
        names = self._job.files(self.folder)
        now = transfer.stamps(self.folder, names)
        changed = [name for name in names if name in now and self._sent.get(name) != now[name]]
        for piece in transfer.pieces(self.folder, changed):
            _answer(self._home.store.remote(self._job, self._attempt, [piece]))
        _answer(self._home.commit.remote(self._job, self._attempt, changed, names))
        self._sent, self._saved = now, self._job.saved(self.folder)

    def close(self) -> None:
        """Let others train the job, and delete the copy."""
        self._home.release.remote(self._job, self._attempt)
        transfer.remove(self._root)
