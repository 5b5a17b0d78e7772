"""Episodes of an evaluation, played again for their pictures.

The recorded actions are taken again with the same random keys, outside of the program that evaluated the agent: states
of some environments are too large to be kept. Axis: T steps.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jaxtyping import UInt8

from action_balance.envs.base import Step
from action_balance.envs.library.drawing import draw_observation
from action_balance.envs.library.environment import LibraryEnvironment
from action_balance.envs.replay import EpisodeRecord
from action_balance.errors import UserError

#: Steps per second of a film, unless the adapter says it.
USUAL = 8


@dataclass(frozen=True)
class Moment:
    """An episode before its first step, or after a step."""

    score: float  # so far
    screen: UInt8[np.ndarray, "H W 3"]
    info: Mapping[str, float] = field(default_factory=dict)
    room: None = None


@dataclass(frozen=True)
class LibraryReplay:
    """One whole episode; a `Replay`.

    Its adapter may have ``render(state)``, which draws a state of the library, (H, W, 3) uint8, outside of compiled
    programs; ``action_names``; and ``steps_per_second``, the speed of a film. Without pictures, observations are drawn;
    ``columns`` says how many a vector has that is a table in the library.
    """

    name: str
    environment: LibraryEnvironment
    record: EpisodeRecord
    pixel_aspect: float = 1.0
    room_byte: None = None

    @property
    def action_names(self) -> tuple[str, ...]:
        """What the actions do, in words, or their numbers."""
        names: tuple[str, ...] | None = getattr(self.environment.adapter, "action_names", None)
        count = sum(self.environment.spec.nvec)
        return names if names and len(names) == count else tuple(f"action {number}" for number in range(count))

    @property
    def steps_per_second(self) -> int:
        """Speed of a film of it."""
        return int(getattr(self.environment.adapter, "steps_per_second", USUAL))

    def visits(self) -> None:
        """Rooms are not known."""

    def moments(self) -> Iterator[Moment]:
        """Play the episode again; see `Replay.moments`.

        Every reward and the end are compared with the record. A difference is a `UserError`: nothing is shown that was
        not played.
        """
        draws = getattr(self.environment.adapter, "render", None)
        spec, columns = self.environment.spec, int(getattr(self.environment.adapter, "columns", 0))
        scale = np.zeros(spec.size if spec.kind == "vector" else 0)
        if draws is None and len(scale):
            for _, observation, _ in self._played():
                scale = np.maximum(scale, np.abs(observation))
        total = 0.0
        for step, (state, observation, info) in enumerate(self._played()):
            total += float(self.record.rewards[step - 1]) if step else 0.0
            picture = draw_observation(observation, spec, scale, columns) if draws is None else draws(state)
            yield Moment(total, _checked(picture, self.name), info)

    def _played(self) -> Iterator[tuple[Any, np.ndarray, dict[str, float]]]:
        """State, observation and info, T + 1 times."""
        record = self.record
        advance = jax.jit(self.environment.advance)
        state, observation = jax.jit(self.environment.reset)(record.reset_key)
        _, shapes = jax.eval_shape(advance, state, record.actions[0], record.step_keys[0])
        yield state.library, np.asarray(observation), dict.fromkeys(shapes.info, 0.0)  # nothing has happened yet
        for step, action in enumerate(record.actions):
            with jax.default_matmul_precision("highest"):  # as in the evaluation
                state, outcome = advance(state, action, record.step_keys[step])
            self._check(step, outcome)
            info = {name: float(value) for name, value in outcome.info.items()}
            yield state.library, np.asarray(outcome.next_obs), info

    def _check(self, step: int, outcome: Step) -> None:
        steps = len(self.record.actions)
        terminated, truncated = bool(outcome.terminated), bool(outcome.truncated)
        same = terminated == self.record.terminated if step == steps - 1 else not (terminated or truncated)
        expected = float(self.record.rewards[step])
        if not same or not math.isclose(float(outcome.reward), expected, rel_tol=1e-5, abs_tol=1e-6):
            raise UserError(
                f"{self.name} does not repeat an episode with the same random keys and actions (step {step + 1:,} of "
                f"{steps:,} differs)"
            )


def _checked(picture: Any, name: str) -> UInt8[np.ndarray, "H W 3"]:
    found = np.asarray(picture)
    if found.ndim != 3 or found.shape[2] != 3 or found.dtype != np.uint8:
        raise UserError(f"render() of {name} returns {found.dtype} {found.shape}, not an RGB picture, (H, W, 3)")
    return found
