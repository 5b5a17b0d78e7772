"""How observations of a space are to be laid out, as a setting."""

from typing import Literal, NamedTuple

#: How arrays are laid out; see `GymnasiumConfig.layout`.
ObsLayout = Literal["auto", "hwc", "chw", "stack", "vector", "flat"]


#: The default of the longest side of an image: at twice the side, networks take four times as long.
MAX_SIDE = 128


class View(NamedTuple):
    """Settings of the observations."""

    layout: ObsLayout = "auto"
    """How arrays are laid out."""
    max_side: int = MAX_SIDE
    """Images with a longer side are made smaller; 0: none are."""


#: The default settings.
AUTO = View()
