"""Navix as an adapter: MiniGrid's tasks (Pignatelli et al., 2024). https://arxiv.org/abs/2407.19396."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, UInt8

from action_balance.envs.library.adapter import Transition
from action_balance.envs.library.compact import CompactState
from action_balance.envs.navix.library import navix
from action_balance.envs.navix.views import View
from action_balance.envs.spec import EnvSpec

_EventsManager = navix.states.EventsManager
_RenderingCache = navix.rendering.cache.RenderingCache

#: What actions do, in words, where the library's name does not say it.
_WORDS = {"rotate_cw": "turn right", "rotate_ccw": "turn left", "pickup": "pick up", "noop": "nothing"}


class Navix:
    """One environment, without the library's automatic reset, which wastes a step per episode.

    Neither the random key nor the events of the last step nor the rendering cache are carried between steps: the key is
    that of the step, all tasks read events of the same step only, and the cache is a function of the grid.
    """

    def __init__(self, environment: Any, view: View) -> None:
        """Trace the environment once."""
        self._environment, self._view = environment, view
        self.episode_steps = int(environment.max_steps)
        self.action_names = tuple(_WORDS.get(one.__name__, one.__name__) for one in environment.action_set)
        seen = jax.eval_shape(lambda key: self._observe(environment._reset(key)), jax.random.key(0))
        self.spec = EnvSpec(
            "image" if view.is_image else "symbolic",
            seen.shape,
            (len(environment.action_set),),
            dtype="uint8",
            categories=view.categories,
        )
        self._compact = CompactState(
            lambda key: _carried(environment._reset(key)),
            lambda key, carried, action: _carried(self._advance(key, carried, action)),
        )

    def _observe(self, timestep: Any) -> UInt8[Array, "H W C"]:
        return self._view.encode(timestep.observation)

    def _advance(self, key: PRNGKeyArray, carried: tuple[Any, Any], action: Int[Array, ""]) -> Any:
        steps, state = carried
        cache = _RenderingCache.init(state.grid) if self._view.is_image else None
        state = state.replace(key=key, events=_EventsManager(), cache=cache)
        zero = jnp.zeros((), jnp.int32)
        before = navix.Timestep(
            t=steps, observation=zero, action=zero, reward=jnp.zeros(()), step_type=zero, state=state
        )
        return self._environment._step(before, action)

    def reset(self, key: PRNGKeyArray) -> tuple[Any, UInt8[Array, "H W C"]]:
        """A new layout; see `Adapter.reset`."""
        timestep = self._environment._reset(key)
        return self._compact.pack(_carried(timestep)), self._observe(timestep)

    def step(self, key: PRNGKeyArray, state: Any, action: Int[Array, ""]) -> Transition:
        """One step; obstacles move at random. See `Adapter.step`."""
        timestep = self._advance(key, self._compact.unpack(state), action)
        packed = self._compact.pack(_carried(timestep))
        ended = timestep.is_termination(), timestep.is_truncation()
        return packed, self._observe(timestep), timestep.reward, *ended, {}

    def render(self, state: Any) -> UInt8[np.ndarray, "height width 3"]:
        """A picture of the whole grid."""
        return np.asarray(self._draw(state))

    @cached_property
    def _draw(self) -> Callable[[Any], UInt8[Array, "height width 3"]]:
        def draw(state: Any) -> UInt8[Array, "height width 3"]:
            _, whole = self._compact.unpack(state)
            picture: UInt8[Array, "height width 3"] = navix.observations.rgb(
                whole.replace(cache=_RenderingCache.init(whole.grid))
            )
            return picture

        return jax.jit(draw)


def _carried(timestep: Any) -> tuple[Any, Any]:
    """Steps of the episode, and the state without what every step makes anew."""
    return timestep.t, timestep.state.replace(key=None, events=None, cache=None)
