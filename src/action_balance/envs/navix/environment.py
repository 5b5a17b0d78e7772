"""Navix as an adapter: MiniGrid's tasks (Pignatelli et al., 2024). https://arxiv.org/abs/2407.19396.

Axes: H, W cells of the grid or of what the agent sees, C channels.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import navix
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, Shaped, UInt8

from action_balance.envs.library.adapter import Transition
from action_balance.envs.library.compact import CompactState
from action_balance.envs.spec import EnvSpec

_EventsManager = navix.states.EventsManager
_RenderingCache = navix.rendering.cache.RenderingCache

#: What actions do, in words, where the library's name does not say it.
_WORDS = {"rotate_cw": "turn right", "rotate_ccw": "turn left", "pickup": "pick up", "noop": "nothing"}
#: What the library's first-person view by category has outside of the grid.
_OUTSIDE = 100


def _largest(numbers: type) -> int:
    return max(int(value) for name, value in vars(numbers).items() if name.isupper())


#: Number of kinds of cells, of colours, and of states: the directions of the agent are more than the states of a door.
_SYMBOLS = (
    _largest(navix.entities.EntityIds) + 1,
    len(navix.rendering.registry.PALETTE.as_string()),
    _largest(navix.entities.Directions) + 1,
)


class Navix:
    """One environment, without the library's automatic reset, which wastes a step per episode.

    Neither the random key nor the events of the last step nor the rendering cache are carried between steps: the key is
    that of the step, all tasks read events of the same step only, and the cache is a function of the grid.
    """

    def __init__(self, name: str, observation: str, max_steps: int | None = None) -> None:
        observe = getattr(navix.observations, observation)
        limit = {} if max_steps is None else {"max_steps": max_steps}
        self._environment = environment = navix.make(name, observation_fn=observe, **limit)
        self.episode_steps = int(environment.max_steps)
        self.action_names = tuple(_WORDS.get(one.__name__, one.__name__) for one in environment.action_set)
        # Of a cell, a symbolic observation has the kind, the colour and the state, and a categorical one the kind.
        channels = {"symbolic": 3, "categorical": 1, "rgb": 0}[observation.partition("_")[0]]
        self._categories = _SYMBOLS[:channels]
        seen = jax.eval_shape(lambda key: self._observe(environment._reset(key)), jax.random.key(0))
        self.spec = EnvSpec(
            "symbolic" if self._categories else "image",
            seen.shape,
            (len(environment.action_set),),
            dtype="uint8",
            categories=self._categories,
        )
        self._compact = CompactState(
            lambda key: _carried(environment._reset(key)),
            lambda key, carried, action: _carried(self._advance(key, carried, action)),
        )

    def _observe(self, timestep: Any) -> UInt8[Array, "H W C"]:
        return encode(timestep.observation, self._categories)

    def _advance(self, key: PRNGKeyArray, carried: tuple[Any, Any], action: Int[Array, ""]) -> Any:
        steps, state = carried
        cache = None if self._categories else _RenderingCache.init(state.grid)
        state = state.replace(key=key, events=_EventsManager(), cache=cache)
        zero = jnp.zeros((), jnp.int32)
        before = navix.Timestep(
            t=steps, observation=zero, action=zero, reward=jnp.zeros(()), step_type=zero, state=state
        )
        return self._environment._step(before, action)

    def reset(self, key: PRNGKeyArray) -> tuple[Any, UInt8[Array, "H W C"]]:
        timestep = self._environment._reset(key)
        return self._compact.pack(_carried(timestep)), self._observe(timestep)

    def step(self, key: PRNGKeyArray, state: Any, action: Int[Array, ""]) -> Transition:
        timestep = self._advance(key, self._compact.unpack(state), action)
        packed = self._compact.pack(_carried(timestep))
        ended = timestep.is_termination(), timestep.is_truncation()
        return packed, self._observe(timestep), timestep.reward, *ended, {}

    def render(self, state: Any) -> UInt8[np.ndarray, "height width 3"]:
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


def encode(seen: Shaped[Array, "H W *C"], categories: tuple[int, ...]) -> UInt8[Array, "H W C"]:
    """An observation of the library as bytes: an image, or symbols with so many values of each channel."""
    if not categories:
        return seen.astype(jnp.uint8)
    if len(categories) == 1:  # walls of the grid are -1, and those that are objects have a number of their own
        wall = (seen < 0) | (seen == _OUTSIDE)
        return jnp.where(wall, int(navix.entities.EntityIds.WALL), seen).astype(jnp.uint8)[..., None]
    # A locked door of KeyCorridor has the state 254.
    return jnp.minimum(seen, jnp.asarray(categories, jnp.uint8) - 1).astype(jnp.uint8)


def _carried(timestep: Any) -> tuple[Any, Any]:
    """Steps of the episode, and the state without what every step makes anew."""
    return timestep.t, timestep.state.replace(key=None, events=None, cache=None)
