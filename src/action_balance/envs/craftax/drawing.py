"""Pictures of Craftax, as people see the game, also where an agent observes symbols."""

from collections.abc import Callable
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import UInt8

from action_balance.envs.library.quiet import quiet

#: Pixels of a block.
BLOCK = 16


@cache
def make_renderer(package: str) -> Callable[[Any], UInt8[np.ndarray, "H W 3"]]:
    """What draws a state. Only the textures of this size are prepared, and nothing is kept in the library's folder."""
    renderer: Any = import_module(f"{package}.renderer")
    constants: Any = import_module(f"{package}.constants")
    load_all = renderer.load_all_textures
    renderer.load_all_textures = lambda: {BLOCK: constants.load_all_textures_given_size(BLOCK)}
    try:
        with quiet():
            draw = jax.jit(renderer.make_craftax_pixel_renderer(BLOCK))
    finally:
        renderer.load_all_textures = load_all

    def drawn(state: Any) -> UInt8[np.ndarray, "H W 3"]:
        with quiet():
            return np.asarray(jnp.clip(jnp.round(draw(state)), 0, 255), np.uint8)

    return drawn


def action_names(package: str) -> tuple[str, ...]:
    """What the actions do, in words."""
    actions: type[Enum] = import_module(f"{package}.constants").Action
    words = {one.value: one.name.replace("_", " ").lower() for one in actions}
    return tuple(words[number] for number in sorted(words))
