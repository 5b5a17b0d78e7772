"""How observations of a space are to be laid out; nothing here imports NumPy."""

from typing import Literal, NamedTuple

#: How arrays are laid out; see `GymnasiumConfig.layout`.
ObsLayout = Literal["auto", "hwc", "chw", "stack", "vector", "flat"]
#: The longest side of an image, unless it is set: at twice the side, networks take four times as long.
MAX_SIDE = 128


class LayoutSettings(NamedTuple):
    """How observations of a space are to be laid out."""

    layout: ObsLayout = "auto"
    max_side: int = MAX_SIDE  # images with a longer side are made smaller; 0: none are


#: The default settings.
AUTO = LayoutSettings()
