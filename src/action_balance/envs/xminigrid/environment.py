"""XLand-MiniGrid as an adapter: MiniGrid's tasks, and tasks of goals and rules (Nikulin et al., 2024).

https://arxiv.org/abs/2312.12044. Axes: V cells of the side of the view.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt8
from xminigrid.core.constants import NUM_COLORS, NUM_LAYERS, NUM_TILES
from xminigrid.environment import Environment, EnvParams
from xminigrid.rendering.rgb_render import render
from xminigrid.types import State, StepType, TimeStep

from action_balance.envs.library.adapter import Transition
from action_balance.envs.library.compact import CompactState
from action_balance.envs.spec import EnvSpec


class XMiniGrid:
    """One environment, without the library's automatic reset.

    The agent sees the V x V cells ahead of it, turned so that it looks up from the middle of the last row: the tile and
    the colour of each. Its direction is not part of that, as no task depends on it.
    """

    #: What the actions do, in words.
    action_names = ("forward", "turn right", "turn left", "pick up", "put down", "toggle")

    def __init__(self, environment: Environment[Any, Any], params: EnvParams, show_carried: bool = False) -> None:
        assert params.max_steps is not None
        self.episode_steps = params.max_steps
        size = params.view_size
        self.spec = EnvSpec(
            "symbolic",
            (size, size, NUM_LAYERS),
            (environment.num_actions(params),),
            dtype="uint8",
            categories=(NUM_TILES, NUM_COLORS),
        )
        self._environment, self._params, self._show_carried = environment, params, show_carried
        self._compact = CompactState(
            lambda key: _without_key(environment.reset(params, key).state),
            lambda _, state, action: self._advance(state, action).state,
        )

    def _advance(self, state: State[Any], action: Int[Array, ""]) -> TimeStep[Any]:
        # Of the time step before, the library reads the state only.
        step_type: Any = StepType.MID
        zero: Float[Array, ""] = jnp.zeros(())
        return self._environment.step(self._params, TimeStep(state, step_type, zero, zero, zero), action)

    def _observe(self, timestep: TimeStep[Any]) -> UInt8[Array, "V V 2"]:
        view = timestep.observation
        assert not isinstance(view, dict)  # as after some of the library's wrappers
        if not self._show_carried:
            return view
        row, column = view.shape[0] - 1, view.shape[1] // 2
        pocket = timestep.state.agent.pocket
        return view.at[row, column].set(jnp.where(pocket[0] == 0, view[row, column], pocket))

    def reset(self, key: PRNGKeyArray) -> tuple[Any, UInt8[Array, "V V 2"]]:
        timestep = self._environment.reset(self._params, key)
        return self._compact.pack(_without_key(timestep.state)), self._observe(timestep)

    def step(self, key: PRNGKeyArray, state: Any, action: Int[Array, ""]) -> Transition:
        """One step, in which nothing is random; see `Adapter.step`."""
        del key
        timestep = self._advance(self._compact.unpack(state), action)
        ended = jnp.equal(timestep.step_type, StepType.LAST)
        terminated = ended & (timestep.discount == 0)
        truncated = ended & ~terminated
        observation = self._observe(timestep)
        return self._compact.pack(timestep.state), observation, timestep.reward, terminated, truncated, {}

    def render(self, state: Any) -> UInt8[np.ndarray, "height width 3"]:
        """A picture of the whole grid, in which the view is lighter."""
        whole = self._compact.unpack(tuple(np.asarray(leaf) for leaf in state))
        return np.asarray(render(np.asarray(whole.grid), whole.agent, self._params.view_size), np.uint8)


def _without_key(state: State[Any]) -> State[Any]:
    # Nothing is drawn after the reset: the library keeps the key for its own automatic resets.
    return state.replace(key=None)
