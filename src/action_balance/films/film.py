"""A film of one episode: a picture of the environment on the left, what the agent thinks of its actions on the right.

The pictures come from a source: `map_shots` draws a map with the trail of the agent, `screen_shots` shows the
screens of a replay. Axes: T steps, S states, A actions.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from action_balance.envs.picture import FADES, FREE, WALL, picture, strength
from action_balance.envs.replay import Moment
from action_balance.envs.scene import Scene
from action_balance.envs.tables import Map
from action_balance.films.panel import OUT, WIDTH, Panel, Picture, Story, paste
from action_balance.films.pixels import BETA, BONUS, PI, Colour, blend, rgb
from action_balance.films.writer import to_gif, to_mp4
from action_balance.plots.drawing import INK, MUTED, PAPER, RULE, method_colour

#: Frames per second of a map.
MAP_RATE = 8

#: The most frames of a map; of longer episodes, steps are left out.
MAX_FRAMES = 300

#: Pixels of the picture of a screen: width and height; from this scale on, pixels of the screen become squares.
SCREEN, SHARP = (800, 630), 3

#: The most numbers of an episode's info above the panel.
MAX_INFO = 2


@dataclass(frozen=True)
class Shot:
    """The environment before a step, or after the last one."""

    picture: Picture
    numbers: tuple[tuple[str, str], ...]  # labels and values


def frames(shots: Iterable[Shot], story: Story, margin: tuple[int, int], every: int = 1) -> Iterator[Picture]:
    panel = Panel(story)
    across, down = margin
    for step, shot in enumerate(shots):
        if step % every and step < len(story.taken):
            continue
        height, width, _ = shot.picture.shape
        lines = max(height, panel.height) + 2 * down
        size = (lines + lines % 2, width + WIDTH + 3 * across, 3)  # even, as films need it
        frame = np.full(size, rgb(PAPER), np.uint8)
        paste(frame, shot.picture, across, (size[0] - height) // 2)
        paste(frame, panel.draw(step, shot.numbers), 2 * across + width - OUT, down)
        yield frame


def map_film(scene: Scene, story: Story, states: Int[np.ndarray, " T+1"], rewards: Float[np.ndarray, " T"]) -> bytes:
    every = math.ceil(len(states) / MAX_FRAMES)
    shots = map_shots(scene, states, rewards)
    return to_gif(frames(shots, story, (20, 20), every), MAP_RATE, _palette(story.method))


def replay_film(
    shots: Iterable[Shot], story: Story, rate: int, report: Callable[[float], None] = lambda _: None
) -> bytes:

    def reported() -> Iterator[Picture]:
        for frame in frames(shots, story, (40, 45)):
            yield frame
            report(1)

    return to_mp4(reported(), rate)


def map_shots(scene: Scene, states: Int[np.ndarray, " T+1"], rewards: Float[np.ndarray, " T"]) -> Iterator[Shot]:
    """Shots of an episode on a map, with the trail of the agent."""
    world = scene.world
    walls, goals = (np.asarray(cells).reshape(world.height, world.width)[::-1] for cells in (world.walls, world.goals))
    y, x = np.divmod(scene.cell, world.width)
    drawn = Map(walls, goals, np.stack([world.height - 1 - y, x], axis=1))
    totals = np.concatenate([[0.0], np.cumsum(rewards, dtype=np.float64)])
    last_visit = np.full(len(scene.cell), len(states))
    for step, state in enumerate(states.tolist()):
        last_visit[state] = step
        numbers = ("step", f"{step:,}"), ("reward so far", f"{totals[step]:.3g}")
        yield Shot(picture(drawn, state, step - last_visit), numbers)


def screen_shots(moments: Iterable[Moment], outcome: str, pixel_aspect: float) -> Iterator[Shot]:
    rooms: set[int] = set()
    for step, moment in enumerate(moments):
        numbers = [(outcome, _short(moment.score))]
        if moment.room is not None:
            rooms.add(moment.room)
            numbers += [("room", f"{moment.room}"), ("rooms so far", f"{len(rooms)}")]
        numbers += [(name.replace("_", " "), _short(value)) for name, value in islice(moment.info.items(), MAX_INFO)]
        yield Shot(_enlarged(moment.screen, pixel_aspect), (*numbers, ("step", f"{step:,}")))


def _enlarged(screen: Picture, pixel_aspect: float) -> Picture:
    """A screen as large as fits, in the middle of a picture; small ones keep the edges of their pixels."""
    lines, columns = screen.shape[:2]
    scale = min(SCREEN[1] / lines, SCREEN[0] / columns / pixel_aspect)
    if scale >= SHARP:
        large = screen.repeat(int(scale), axis=0).repeat(round(int(scale) * pixel_aspect), axis=1)
    else:
        size = max(1, round(columns * pixel_aspect * scale)), max(1, round(lines * scale))
        large = np.asarray(Image.fromarray(screen).resize(size, Image.Resampling.LANCZOS))
    large = large[: SCREEN[1], : SCREEN[0]]
    canvas = np.full((SCREEN[1], SCREEN[0], 3), rgb(PAPER), np.uint8)
    paste(canvas, large, *((SCREEN[axis] - large.shape[1 - axis]) // 2 for axis in (0, 1)))
    return canvas


def _short(score: float) -> str:
    return f"{score:,.0f}" if score == round(score) or abs(score) >= 1000 else f"{score:.4g}"


def _palette(method: str) -> list[Colour]:
    """All colours of a GIF: those that are used, in steps down to the paper."""
    # Few steps keep the file small, as they only soften edges. The trail and the empty bars need their own.
    edges = dict.fromkeys((INK, MUTED, PI, BETA, BONUS, method_colour(method)))
    shades = [blend(colour, step / 6) for colour in edges for step in range(1, 7)]
    shades += [blend(RULE, opacity) for opacity in (0.6, 0.9, 1.0)] + [blend(method_colour(method), 0.13), FREE, WALL]
    return [rgb(PAPER), *shades, *(blend(BONUS, strength(age)) for age in range(FADES + 1))]
