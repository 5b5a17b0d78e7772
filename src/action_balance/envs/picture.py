"""A picture of a world: cells, walls, goals, the agent, and its trail."""

import math
from functools import cache

import numpy as np
from jaxtyping import Int, UInt8
from PIL import Image, ImageDraw

from action_balance.envs.tables import Map

#: Colours as red, green and blue; a test compares them with those of the reports.
PAPER, FREE, WALL = (255, 255, 254), (240, 242, 244), (170, 177, 186)
TRAIL, GOAL, AGENT = (62, 177, 172), (89, 98, 109), (192, 74, 10)

#: Largest side of the picture, and of a cell, in pixels.
PICTURE, CELL = 480, 48

#: Steps until the trail is at its palest.
FADES = 24


def strength(age: int) -> float:
    return max(0.22, 0.85 * (1 - age / FADES))


@cache
def _trail() -> np.ndarray:
    """Colours of the trail by age, (FADES + 1, 3); older ones have the last."""
    opacity = np.array([strength(age) for age in range(FADES + 1)])[:, None]
    return np.round(opacity * TRAIL + (1 - opacity) * PAPER).astype(np.uint8)


def picture(drawn: Map, agent: int, ages: Int[np.ndarray, " S"]) -> UInt8[np.ndarray, "H W 3"]:
    rows, columns = drawn.walls.shape
    side = min(PICTURE // max(rows, columns), CELL)
    side = max(1, side - side % 2)
    cells = np.where(drawn.walls[..., None], WALL, FREE).astype(np.uint8)
    visited = ages >= 0
    row, column = drawn.place[visited].T
    cells[row, column] = _trail()[np.minimum(ages[visited], FADES)]
    pixels = cells.repeat(side, axis=0).repeat(side, axis=1)
    if side >= 4:  # a gap between cells
        pixels[side - 1 :: side] = PAPER
        pixels[:, side - 1 :: side] = PAPER
    canvas = Image.fromarray(pixels)
    here = (int(drawn.place[agent, 0]), int(drawn.place[agent, 1]))
    for goal in zip(*(axis.tolist() for axis in np.nonzero(drawn.goals)), strict=True):
        if goal != here:
            _draw_mark(canvas, goal, side, GOAL, star=True)
    _draw_mark(canvas, here, side, AGENT, star=False)
    return np.array(canvas)


def _draw_mark(
    canvas: Image.Image, place: tuple[int, int], side: int, colour: tuple[int, int, int], star: bool
) -> None:
    """Draw a dot or a star with a pale edge, larger than its cell if that is tiny."""
    size = max(side, 9) * (1.0 if star else 0.86)
    gap = 1 if side >= 4 else 0
    row, column = ((along + 0.5) * side - gap / 2 for along in place)
    for part, shade in ((size, PAPER), (size * 0.76, colour)):
        shape = mask(round(part), star)
        canvas.paste(shade, (round(column - shape.width / 2), round(row - shape.height / 2)), shape)


@cache
def mask(size: int, star: bool) -> Image.Image:
    fine = 8 * size
    mask = Image.new("L", (fine, fine), 0)
    draw = ImageDraw.Draw(mask)
    if star:
        radii = [fine / 2 if corner % 2 == 0 else fine / 4.6 for corner in range(10)]
        angles = [math.pi * (corner / 5 - 0.5) for corner in range(10)]
        corners = [
            (fine / 2 + radius * math.cos(angle), fine / 2 + radius * math.sin(angle))
            for radius, angle in zip(radii, angles, strict=True)
        ]
        draw.polygon(corners, 255)
    else:
        draw.ellipse((0, 0, fine - 1, fine - 1), 255)
    return mask.resize((size, size), Image.Resampling.BOX)
