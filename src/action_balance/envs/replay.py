"""Replays of recorded episodes, for what environments do not report while agents play: pictures and rooms.

The recorded actions are taken again with the same random numbers. Axis: T steps.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, PRNGKeyArray, Real, Shaped, UInt8

from action_balance.errors import UserError


class EpisodeRecord(NamedTuple):
    """What a replay of an episode on the device needs."""

    reset_key: PRNGKeyArray
    step_keys: Shaped[PRNGKeyArray, " T"]
    actions: Real[np.ndarray, "T *c"]
    rewards: Float[np.ndarray, " T"]
    terminated: bool  # whether the task ended it


class Moment(NamedTuple):
    """An episode before its first step, or after a step."""

    screen: UInt8[np.ndarray, "..."]  # (H, W, 3); (0,) where it was not requested
    score: float = 0.0  # so far
    room: int | None = None  # None if it is not known
    info: Mapping[str, float] = {}  # numbers of the episode so far, by name, as `Step.info` has them
    reward: float = 0.0  # of the step
    terminated: bool = False
    truncated: bool = False


@dataclass(frozen=True)
class Visit:
    """The first visit of a room."""

    room: int
    step: int  # 0 at the beginning


@dataclass(frozen=True)
class Replay:
    """A recorded episode that can be played again. A family has `play`, `action_names` and `steps_per_second`."""

    name: str  # of the environment
    actions: Shaped[np.ndarray, "T *c"]
    rewards: Shaped[np.ndarray, " T"]
    terminated: bool  # whether the task ended it, and not the time limit

    @property
    def action_names(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def steps_per_second(self) -> int:
        raise NotImplementedError

    @property
    def pixel_aspect(self) -> float:
        """How much wider than high a pixel of the screen is drawn."""
        return 1.0

    @property
    def room_byte(self) -> int | None:
        """The byte of the memory that holds the number of the room; None if it is not known."""
        return None

    def play(self, pictures: bool) -> Iterator[Moment]:
        """Reset the environment and take the recorded actions: T + 1 moments, without their scores."""
        raise NotImplementedError

    def visits(self) -> Sequence[Visit] | None:
        return None

    def moments(self, pictures: bool = True) -> Iterator[Moment]:
        """Play the episode again.

        Every reward and the end are compared with the record. A difference is a `UserError`: nothing is shown that was
        not played.
        """
        total = 0.0
        for step, moment in enumerate(self.play(pictures)):
            if step:
                self._check(step, moment)
                total += float(self.rewards[step - 1])
            yield moment._replace(score=total)

    def _check(self, step: int, moment: Moment) -> None:
        steps = len(self.actions)
        ended = moment.terminated or moment.truncated
        same = moment.terminated == self.terminated if step == steps else not ended
        recorded = float(self.rewards[step - 1])
        # Programs round differently, which the physics of continuous actions amplify from step to step.
        drifts = 1e-4 * float(np.abs(self.rewards).max()) if self.actions.dtype.kind == "f" else 0.0
        if not same or not math.isclose(moment.reward, recorded, rel_tol=1e-5, abs_tol=max(1e-6, drifts)):
            raise UserError(
                f"{self.name} does not repeat an episode with the same random numbers and actions (step {step:,} of "
                f"{steps:,} differs): it must draw them from its random key, or from self.np_random in Gymnasium"
            )


def checked_picture(picture: object, name: str) -> UInt8[np.ndarray, "H W 3"]:
    """A picture that an environment drew, without transparency."""
    found = np.asarray(picture)
    if found.ndim != 3 or found.shape[2] not in (3, 4) or found.dtype != np.uint8:
        raise UserError(f"render() of {name} returns {found.dtype} {found.shape}, not an RGB picture, (H, W, 3)")
    return found[..., :3]
