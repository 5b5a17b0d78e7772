"""What films have in common: colours as numbers, fonts, and the shares of actions."""

from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.colors import to_rgb
from PIL import ImageFont

from action_balance.plots.drawing import COLOURS, HERO, PAPER

#: Colours: pi, beta, and a third beside them.
PI, BETA, THIRD = COLOURS["rnd"], COLOURS[HERO], "#3eb1ac"

Colour = tuple[int, int, int]
Box = tuple[float, float, float, float]


def rgb(colour: str) -> Colour:
    """From 0 to 255."""
    red, green, blue = (round(255 * part) for part in to_rgb(colour))
    return red, green, blue


def blend(colour: str, strength: float, ground: str = PAPER) -> Colour:
    """A colour that is laid over another one."""
    red, green, blue = (
        round(strength * above + (1 - strength) * below) for above, below in zip(rgb(colour), rgb(ground), strict=True)
    )
    return red, green, blue


@cache
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The font of the figures."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name, size)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Shares of actions, (..., A)."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
