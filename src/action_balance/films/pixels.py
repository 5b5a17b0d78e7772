"""Colours as numbers, and fonts."""

from functools import cache
from pathlib import Path

import matplotlib
from matplotlib.colors import to_rgb
from PIL import ImageFont

from action_balance.plots.drawing import COLOURS, HERO, PAPER

#: Colours of pi, beta and the action bonus.
PI, BETA, BONUS = COLOURS["rnd"], COLOURS[HERO], "#3eb1ac"

Colour = tuple[int, int, int]


def rgb(colour: str) -> Colour:
    red, green, blue = (round(255 * part) for part in to_rgb(colour))
    return red, green, blue


def blend(colour: str, opacity: float, ground: str = PAPER) -> Colour:
    red, green, blue = (
        round(opacity * above + (1 - opacity) * below) for above, below in zip(rgb(colour), rgb(ground), strict=True)
    )
    return red, green, blue


@cache
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name, size)


def fitting_font(text: str, size: int, width: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The font of this size, or of the largest smaller size in which the text fits into the width."""
    while size > 8 and font(size, bold).getlength(text) > width:
        size -= 1
    return font(size, bold)
