"""What runs next to the command: messages of the tasks, and the folders of those that do not share its storage."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from action_balance.cluster import transfer
from action_balance.cluster.jobs import Job
from action_balance.cluster.transfer import Piece
from action_balance.errors import UserError
from action_balance.files import check_inside


class Superseded(UserError):
    """A newer attempt at the same job has begun, so that this one must end."""


class NotClaimed(Exception):
    """This actor was started again, and knows nothing of the job: it must be claimed and sent again."""


@dataclass(frozen=True)
class Message:
    """What a task tells the command."""

    job: str
    """Name of the job."""
    attempt: int
    """Number of the attempt, from 1 on."""
    kind: str
    """``started``, ``progress`` or ``note``."""
    about: Any
    """A `Place`, a `Progress`, or a line."""


@dataclass(frozen=True)
class Place:
    """Where a task runs."""

    node: str
    """Ray's name of the node."""
    host: str
    """Name of the machine."""


@dataclass(frozen=True)
class _Claim:
    attempt: int
    lock: AbstractContextManager[Callable[[], None]]
    check: Callable[[], None]  # whether the lock is still held
    staging: Path


class Home:
    """An actor on the node of the command; tasks call its methods from theirs."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._messages: list[Message] = []
        self._claims: dict[str, _Claim] = {}

    def post(self, message: Message) -> None:
        """Leave a message for the command."""
        self._messages.append(message)

    def take(self) -> list[Message]:
        """All messages since the last call."""
        found, self._messages = self._messages, []
        return found

    def sees(self, path: str) -> bool:
        """Whether a file that a task has made exists here, too."""
        return os.path.lexists(path)

    def claim(self, job: Job, attempt: int) -> list[str]:
        """Keep others from training a job, whose folder the task cannot see."""
        before = self._claims.get(job.name)
        if before is not None and before.attempt > attempt:
            raise Superseded(f"{job.name} is being trained elsewhere")
        if before is not None:
            self.release(job, before.attempt)
        lock = job.claim(job.folder)
        check = lock.__enter__()
        staging = job.folder.parent / f".incoming-{job.folder.name}-{job.name}"
        transfer.remove(staging)  # of a process that was killed
        staging.mkdir(parents=True)
        self._claims[job.name] = _Claim(attempt, lock, check, staging)
        return job.files(job.folder)

    def fetch(self, job: Job, name: str, offset: int) -> list[Piece]:
        """A piece of a file; empty after its end."""
        check_inside(job.folder, (job.folder / name).parent)
        with (job.folder / name).open("rb") as file:
            file.seek(offset)
            data = file.read(transfer.PIECE)
        return [Piece(name, offset, data)] if data or not offset else []

    def store(self, job: Job, attempt: int, found: Sequence[Piece]) -> None:
        """Receive pieces of files, which are put into place by `commit`."""
        transfer.write_pieces(self._claimed(job, attempt).staging, found)

    def commit(self, job: Job, attempt: int, changed: Sequence[str], kept: Sequence[str]) -> None:
        """Put the files that were stored into place."""
        claim = self._claimed(job, attempt)
        if not all((claim.staging / name).is_file() for name in changed):
            raise NotClaimed
        claim.check()
        transfer.merge(claim.staging, job.folder, changed)
        transfer.remove_others(job.folder, job.files(job.folder), kept)

    def release(self, job: Job, attempt: int) -> None:
        """Let others train a job."""
        claim = self._claims.get(job.name)
        if claim is not None and claim.attempt == attempt:
            del self._claims[job.name]
            claim.lock.__exit__(None, None, None)
            transfer.remove(claim.staging)

    def _claimed(self, job: Job, attempt: int) -> _Claim:
        if job.name not in self._claims:
            raise NotClaimed
        claim = self._claims[job.name]
        if claim.attempt != attempt:
            raise Superseded(f"{job.name} is being trained elsewhere")
        return claim
