"""What tasks tell the command. Nothing here imports JAX, so that the actor starts before the first task does."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """Where a task runs."""

    node: str  # Ray's name of the node
    host: str


@dataclass(frozen=True)
class Message:
    """About an attempt at a job: ``started`` with a `Place`, ``progress`` with a `Progress`, ``note`` with a line."""

    job: str
    attempt: int
    kind: str
    about: Any


class Mailbox:
    """A Ray actor on the node of the command."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    def post(self, message: Message) -> None:
        self._messages.append(message)

    def take(self) -> list[Message]:
        found, self._messages = self._messages, []
        return found
