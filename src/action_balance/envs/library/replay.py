"""Episodes of an evaluation, played again for their pictures.

They are played outside of the program that evaluated the agent: states of some environments are too large to be kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray, Shaped

from action_balance.envs.library.adapter import quiet
from action_balance.envs.library.drawing import draw_observation
from action_balance.envs.library.environment import LibraryEnvironment
from action_balance.envs.replay import Moment, Replay, checked_picture

#: Steps per second of a film, unless the adapter says it.
USUAL = 8


@dataclass(frozen=True)
class LibraryReplay(Replay):
    """One whole episode.

    Its adapter may have ``render(state)``, which draws a state of the library, (H, W, 3) uint8, outside of compiled
    programs; ``action_names``; and ``steps_per_second``, the speed of a film. Without pictures, observations are drawn;
    ``columns`` says how many a vector has that is a table in the library.
    """

    environment: LibraryEnvironment
    reset_key: PRNGKeyArray
    step_keys: Shaped[PRNGKeyArray, " T"]

    @property
    def action_names(self) -> tuple[str, ...]:
        names: tuple[str, ...] | None = getattr(self.environment.adapter, "action_names", None)
        count = sum(self.environment.spec.nvec) + len(self.environment.spec.bounds)
        return names if names and len(names) == count else tuple(f"action {number}" for number in range(count))

    @property
    def steps_per_second(self) -> int:
        return int(getattr(self.environment.adapter, "steps_per_second", USUAL))

    def play(self, pictures: bool) -> Iterator[Moment]:
        """See `Replay.play`; of a vector whose numbers are drawn, the largest ones are found before."""
        del pictures
        adapter, spec = self.environment.adapter, self.environment.spec
        render, columns = getattr(adapter, "render", None), int(getattr(adapter, "columns", 0))
        scale = np.zeros(spec.size if spec.kind == "vector" else 0)
        if render is None and len(scale):
            for _, observation, _ in self._states():
                scale = np.maximum(scale, np.abs(observation))
        for state, observation, moment in self._states():
            with quiet():
                drawn = draw_observation(observation, spec, scale, columns) if render is None else render(state)
            yield moment._replace(screen=checked_picture(drawn, self.name))

    def _states(self) -> Iterator[tuple[Any, np.ndarray, Moment]]:
        none = np.zeros(0, np.uint8)
        advance = jax.jit(self.environment.advance)
        state, first = jax.jit(self.environment.reset)(self.reset_key)
        _, shapes = jax.eval_shape(advance, state, self.actions[0], self.step_keys[0])
        yield state.library, np.asarray(first), Moment(none, info=dict.fromkeys(shapes.info, 0.0))
        for action, key in zip(self.actions, self.step_keys, strict=True):
            with jax.default_matmul_precision("highest"):  # as in the evaluation
                state, step = advance(state, action, key)
            ends = bool(step.terminated), bool(step.truncated)
            info = {name: float(value) for name, value in step.info.items()}
            yield state.library, np.asarray(step.next_obs), Moment(none, 0.0, None, info, float(step.reward), *ends)
