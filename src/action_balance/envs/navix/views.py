"""What an agent sees in Navix: the library's observation functions as images and as symbols.

Axes: H, W cells of the grid or of the view, C channels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Shaped, UInt8

from action_balance.envs.navix.library import navix

#: What the library's first-person view by category has outside of the grid.
_OUTSIDE = 100


def _largest(numbers: type) -> int:
    return max(int(value) for name, value in vars(numbers).items() if name.isupper())


#: Number of kinds of cells.
_TAGS = _largest(navix.entities.EntityIds) + 1
#: Number of states of an object: the directions of the agent are more than the states of a door.
_STATES = _largest(navix.entities.Directions) + 1
#: Numbers of values of the kind, the colour and the state of a cell.
_SYMBOLS = (_TAGS, len(navix.rendering.registry.PALETTE.as_string()), _STATES)


@dataclass(frozen=True)
class View:
    """One of the library's observation functions."""

    observe: Callable[[Any], Shaped[Array, "H W *C"]]
    """The library's function of the state."""
    categories: tuple[int, ...] = ()
    """Number of values of each channel; empty for an image."""

    @property
    def is_image(self) -> bool:
        """Whether it is an image, which is drawn from the rendering cache."""
        return not self.categories

    def encode(self, seen: Shaped[Array, "H W *C"]) -> UInt8[Array, "H W C"]:
        """An observation of the library as bytes."""
        if self.is_image:
            return seen.astype(jnp.uint8)
        if len(self.categories) == 1:  # walls of the grid are -1, and those that are objects have a number of their own
            wall = (seen < 0) | (seen == _OUTSIDE)
            return jnp.where(wall, int(navix.entities.EntityIds.WALL), seen).astype(jnp.uint8)[..., None]
        # A locked door of KeyCorridor has the state 254.
        return jnp.minimum(seen, jnp.asarray(self.categories, jnp.uint8) - 1).astype(jnp.uint8)


VIEWS = {
    "symbolic_first_person": View(navix.observations.symbolic_first_person, _SYMBOLS),
    "symbolic": View(navix.observations.symbolic, _SYMBOLS),
    "categorical_first_person": View(navix.observations.categorical_first_person, (_TAGS,)),
    "categorical": View(navix.observations.categorical, (_TAGS,)),
    "rgb_first_person": View(navix.observations.rgb_first_person),
    "rgb": View(navix.observations.rgb),
}
