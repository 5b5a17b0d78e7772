"""A task: trains one job, in the folder of the command if the task's node has it, or else in a copy that it sends."""

import contextlib
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from action_balance._version import __version__
from action_balance.cluster import transfer
from action_balance.cluster.home import Message, NotClaimed, Place, Superseded
from action_balance.cluster.jobs import Job
from action_balance.engines.metrics_rows import Progress
from action_balance.envs.host_base import EnvironmentsLost
from action_balance.errors import UserError
from action_balance.machine import failure
from action_balance.runs.owned import FolderBusy

#: How a task reaches the folder of a job: shared storage if there is some, or always a copy.
Storage = Literal["auto", "copy"]

#: Seconds between two messages about the progress of a task.
EVERY = 0.5

#: Seconds to wait for a process that trains the same job.
PATIENCE = 90.0

#: What the names of copies begin with, in the folder for temporary files; the number of their process follows.
COPIES = "action-balance-copy-"

#: How an attempt ended. ``stopped``: it was asked to stop, and has saved. ``busy``: another process trains the job.
#: ``lost``: another process has taken over. ``crashed``: its machine could not train it, but another one might.
Status = Literal["finished", "stopped", "busy", "lost", "crashed", "failed"]


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
    """Train a job; what Ray calls in a process on any node."""
    import ray

    def post(kind: str, about: object) -> None:
        home.post.remote(Message(job.name, attempt.number, kind, about))

    host = socket.gethostname()
    post("started", Place(ray.get_runtime_context().get_node_id(), host))
    if attempt.version != __version__:
        why = f"{host} has action-balance {__version__}, and the command {attempt.version}: install the same version"
        return Outcome("crashed", why)
    try:
        prepare(attempt)
        with workspace(job, attempt, home) as (folder, saved), _names_of(job, folder) as named:
            wait_until_free(lambda: job.claim(folder))
            job.train(folder, _reporter(post, saved, job.updates), lambda line: post("note", named(line)))
    except (KeyboardInterrupt, Exception) as error:
        return outcome_of(error)
    return Outcome("finished")


def outcome_of(error: BaseException) -> Outcome:
    """What an error means for the job; one that only a bug explains is raised again."""
    if isinstance(error, KeyboardInterrupt):
        return Outcome("stopped")
    if isinstance(error, FolderBusy):
        return Outcome("busy", str(error))
    if isinstance(error, Superseded):
        return Outcome("lost", str(error))
    if isinstance(error, UserError):
        return Outcome("crashed" if _is_machines(error.__cause__) else "failed", str(error))
    if (why := failure(error)) is None:
        raise error
    return Outcome("crashed", why)


@contextmanager
def _names_of(job: Job, folder: Path) -> Iterator[Callable[[str], str]]:
    """Yields what names the folder of the job in place of a copy of it, which errors do not name either."""

    def named(text: str) -> str:
        return text.replace(str(folder), str(job.folder))

    try:
        yield named
    except UserError as error:
        error.args = (named(str(error)),)
        raise


def _is_machines(cause: BaseException | None) -> bool:
    """Whether an error may be due to the machine, such as one whose GPU fails, rather than to the settings."""
    return cause is not None and (isinstance(cause, EnvironmentsLost) or failure(cause) is not None)


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


def wait_until_free(claim: Callable[[], AbstractContextManager[object]]) -> None:
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
def workspace(job: Job, attempt: Attempt, home: Any) -> Iterator[tuple[Path, Callable[[], None]]]:
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
        """Make an empty folder."""
        self._job, self._attempt, self._home = job, attempt, home
        _remove_old_copies()
        self._root = Path(tempfile.mkdtemp(prefix=f"{COPIES}{os.getpid()}-"))
        self.folder = self._root / job.folder.name
        self._sent: transfer.Stamps = {}
        self._saved = 0

    def fetch(self) -> None:
        """Get what earlier attempts have sent, and keep others from training the job."""
        names = self._claim()
        for name in names:
            offset = 0
            while found := _answer(self._home.fetch.remote(self._job, name, offset)):
                transfer.write_pieces(self.folder, found)
                offset += sum(len(piece.data) for piece in found) or 1
        self._sent = transfer.stamps(self.folder, names)
        self._saved = self._job.saved(self.folder)

    def _claim(self) -> list[str]:
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                names: list[str] = _answer(self._home.claim.remote(self._job, self._attempt))
                return names
            except FolderBusy:
                if time.monotonic() >= give_up:
                    raise
                time.sleep(0.5)

    def send_checkpoint(self) -> None:
        """Send everything if there is a new checkpoint."""
        if self._job.saved(self.folder) != self._saved:
            self.send()

    def send(self) -> None:
        """Send all files that have changed; they are put into place together."""
        try:
            self._send()
        except NotClaimed:
            self._claim()
            self._sent = {}
            self._send()

    def _send(self) -> None:
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


def _remove_old_copies() -> None:
    """Delete copies of processes that were killed on this node."""
    for path in Path(tempfile.gettempdir()).glob(f"{COPIES}[0-9]*-*"):
        process = path.name.removeprefix(COPIES).partition("-")[0]
        with contextlib.suppress(OSError, ValueError):
            if (
                path.stat().st_uid == os.getuid()
                and not Path("/proc", process).exists()
                and Path("/proc/self").exists()
            ):
                transfer.remove(path)
