"""Replays of recorded episodes, for what environments do not report while agents play: pictures and rooms.

Axis: T steps.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray, Shaped, UInt8


class EpisodeRecord(NamedTuple):
    """What a replay of an episode on the device needs."""

    reset_key: PRNGKeyArray
    step_keys: Shaped[PRNGKeyArray, " T"]
    actions: Int[np.ndarray, "T *c"]
    rewards: Float[np.ndarray, " T"]
    terminated: bool  # whether the task ended it


class Moment(Protocol):
    """A game before its first step, or after a step."""

    @property
    def score(self) -> float:
        """Score so far."""

    @property
    def room(self) -> int | None:
        """Number of the room; None if it is not known."""

    @property
    def screen(self) -> UInt8[np.ndarray, "..."]:
        """The screen, (H, W, 3)."""

    @property
    def info(self) -> Mapping[str, float]:
        """Numbers of the episode so far, by name, as `Step.info` has them."""


class Visit(Protocol):
    """The first visit of a room."""

    @property
    def room(self) -> int:
        """Number of the room."""

    @property
    def step(self) -> int:
        """Steps until then."""


class Replay(Protocol):
    """A recorded episode that can be played again."""

    @property
    def action_names(self) -> tuple[str, ...]:
        """What the actions do, in words."""

    @property
    def steps_per_second(self) -> int:
        """Speed of a film of it."""

    @property
    def pixel_aspect(self) -> float:
        """How much wider than high a pixel of the screen is drawn."""

    @property
    def room_byte(self) -> int | None:
        """The byte of the memory that holds the number of the room; None if it is not known."""

    def moments(self) -> Iterator[Moment]:
        """Play the episode again."""

    def visits(self) -> Sequence[Visit] | None:
        """Play the episode again for its rooms."""
