"""Pictures of observations, for environments that do not draw their states.

Axes: D numbers, H x W cells, C channels.
"""

import math

import numpy as np
from jaxtyping import Float, Shaped, UInt8
from PIL import Image, ImageDraw, ImageFont

from action_balance.envs.picture import AGENT, FREE, GOAL, PAPER, TRAIL
from action_balance.envs.spec import EnvSpec

#: The most numbers of a vector that are drawn as bars; of more, each is a square.
MAX_BARS = 24
#: Pixels of a bar: height with the gap below it, width of its label and of both halves; pixels of a square.
BAR, LABEL, HALF, SQUARE = 24, 32, 180, 12
#: Ground of images, and the colours of their channels, or of the values of symbols, one after the other.
GROUND = (28, 32, 38)
CHANNELS = (
    *((240, 178, 62), (86, 180, 233), (0, 158, 115), (213, 94, 0), (204, 121, 167), (240, 228, 66), (150, 160, 172)),
    *((148, 103, 189), (255, 255, 255), (140, 86, 75)),
)


def draw_observation(
    observation: Shaped[np.ndarray, "..."], spec: EnvSpec, scale: Float[np.ndarray, " D"], columns: int = 0
) -> UInt8[np.ndarray, "H W 3"]:
    if spec.is_image:
        return _image(observation if observation.ndim == 3 else observation[..., None])
    if observation.ndim == 3:  # symbols
        ids = observation[..., 0].astype(int)
        colours = np.array([GROUND, *CHANNELS], np.uint8)
        return colours[np.where(ids == 0, 0, 1 + (ids - 1) % len(CHANNELS))]
    share = np.clip(observation / np.where(scale > 0, scale, 1), -1, 1).astype(np.float64)
    return _squares(share, columns) if columns or len(share) > MAX_BARS else _bars(observation, share)


def _image(image: Shaped[np.ndarray, "H W C"]) -> UInt8[np.ndarray, "H W 3"]:
    """Colours and shades as they are; of other channels, the first that is set gives the colour of a cell."""
    if image.dtype == np.uint8 and image.shape[-1] in (1, 3):
        return np.broadcast_to(image, (*image.shape[:2], 3)).copy()
    set_channels = image != 0
    first = set_channels.argmax(axis=-1)
    colours = np.array(CHANNELS, np.uint8)[first % len(CHANNELS)]
    return np.where(set_channels.any(axis=-1, keepdims=True), colours, np.array(GROUND, np.uint8))


def _bars(values: Shaped[np.ndarray, " D"], share: Float[np.ndarray, " D"]) -> UInt8[np.ndarray, "H W 3"]:
    """A bar for each number, to the left where it is negative."""
    canvas = Image.new("RGB", (LABEL + 2 * HALF + 2 * LABEL, BAR * len(share) + BAR // 2), PAPER)
    draw, font, zero = ImageDraw.Draw(canvas), ImageFont.load_default(12), LABEL + HALF
    for number, (value, part) in enumerate(zip(values.tolist(), share.tolist(), strict=True)):
        top = BAR // 2 + BAR * number
        draw.rectangle((LABEL, top, LABEL + 2 * HALF, top + BAR - 7), FREE)
        left, right = sorted((zero, zero + round(part * HALF)))
        draw.rectangle((left, top, right, top + BAR - 7), AGENT if part < 0 else TRAIL)
        draw.text((LABEL - 8, top + BAR / 2 - 3), str(number), GOAL, font, anchor="rm")
        draw.text((LABEL + 2 * HALF + 8, top + BAR / 2 - 3), f"{value:.3g}", GOAL, font, anchor="lm")
    draw.line((zero, BAR // 4, zero, BAR * len(share) + BAR // 4), GOAL)
    return np.array(canvas)


def _squares(share: Float[np.ndarray, " D"], columns: int) -> UInt8[np.ndarray, "H W 3"]:
    """A square for each number, row by row, as strong as the number is large."""
    columns = columns or math.ceil(math.sqrt(len(share)))
    cells = np.zeros(columns * math.ceil(len(share) / columns))
    cells[: len(share)] = share
    colour = np.where(cells[:, None] < 0, AGENT, TRAIL)
    strength = np.abs(cells)[:, None]
    mixed = np.round(strength * colour + (1 - strength) * np.array(FREE)).astype(np.uint8)
    mixed[len(share) :] = PAPER
    pixels = mixed.reshape(-1, columns, 3).repeat(SQUARE, axis=0).repeat(SQUARE, axis=1)
    pixels[SQUARE - 1 :: SQUARE] = PAPER
    pixels[:, SQUARE - 1 :: SQUARE] = PAPER
    return pixels
