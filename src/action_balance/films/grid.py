"""A film of one episode: the world on the left, what the agent thinks of its actions on the right."""

import io
import math
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from action_balance.engines.evaluate import Trace
from action_balance.envs.picture import FADES, mask, strength
from action_balance.envs.scene import Scene
from action_balance.films.pixels import BETA, PI, THIRD, Box, blend, font, rgb, softmax
from action_balance.plots.drawing import COLOURS, INK, MUTED, NAMES, PAPER, RULE
from action_balance.plots.heatmaps import WALL

#: Milliseconds of a frame and of the last one; the most frames of a film, for which steps are left out.
FRAME, LAST, MOST_FRAMES = 125, 2000, 300

#: Pixels: around everything, the width of the panel, the most that a world gets beside it, and one of its cells.
MARGIN, PANEL, WORLD, CELL = 20, 220, (360, 340), 48

#: Pixels: from one action to the next, and the height of what stands above and below them.
ROW, HEAD, FOOT = 38, 108, 24

#: How strong the colour of cells is where nothing is.
EMPTY = 0.5

#: The colour of where the agent was.
TRAIL = THIRD


@dataclass(frozen=True)
class _Frame:
    """One picture: what is known before a step, or after the last."""

    step: int  # steps made
    cell: int  # of the drawn world
    trail: tuple[int, ...]  # cells before, oldest first
    reward: float  # so far
    pi: np.ndarray | None  # (A,), as shown; None after the last step
    beta: np.ndarray | None  # (A,); None also where there is no action bonus
    chosen: int  # action about to be taken, as shown
    verdict: str  # how the episode ended; empty before


def film(scene: Scene, episode: Trace, method: str, title: str, balanced: bool) -> bytes:
    """An episode as a GIF.

    Args:
        scene: how states are drawn.
        episode: as numpy arrays.
        method: its colour is the agent's.
        title: one line about the world.
        balanced: whether there is a beta besides pi.
    """
    frames = _frames(scene, episode, balanced)
    every = math.ceil(len(frames) / MOST_FRAMES)
    chosen = [*frames[:-1:every], frames[-1]]
    stage = _Stage(scene, method, title, len(frames) - 1, balanced)
    palette = _palette(method)
    pictures = [stage.draw(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in chosen]
    durations = [FRAME] * (len(pictures) - 1) + [LAST]
    content = io.BytesIO()
    first, *rest = pictures
    first.save(content, "GIF", save_all=True, append_images=rest, duration=durations, loop=0)
    return content.getvalue()


def _frames(scene: Scene, episode: Trace, balanced: bool) -> list[_Frame]:
    steps, decisions = len(episode.reward), episode.decision
    cells = [int(scene.cell[state]) for state in episode.state]
    rewards = np.concatenate([[0.0], np.cumsum(np.asarray(episode.reward, np.float64))])
    frames = []
    for step in range(steps):
        order = scene.order[episode.state[step]]
        pi, beta = (softmax(np.asarray(logits[step]))[order] for logits in (decisions.logits, decisions.behaviour))
        shown = int(np.flatnonzero(order == decisions.action[step])[0])
        trail = tuple(cells[:step])
        frames.append(_Frame(step, cells[step], trail, float(rewards[step]), pi, beta if balanced else None, shown, ""))
    ended = bool(episode.terminated[steps - 1])
    verdict = "the task ended" if ended else "the time limit was reached"
    last = int(scene.cell[episode.next_state[steps - 1]]) if scene.shows_the_end else cells[-1]
    return [*frames, _Frame(steps, last, tuple(cells), float(rewards[-1]), None, None, -1, verdict)]


def _palette(method: str) -> Image.Image:
    """All colours of a film: those that are used, in steps down to the paper."""
    # Few steps keep the file small: they only soften the edges. The trail and the empty cells need their own.
    edges = dict.fromkeys((INK, MUTED, WALL, PI, BETA, COLOURS[method]))
    shades = [blend(colour, step / 6) for colour in edges for step in range(1, 7)]
    shades += [blend(RULE, EMPTY), *(blend(TRAIL, strength(age)) for age in range(FADES + 1))]
    flat = [part for shade in [rgb(PAPER), *shades] for part in shade]
    palette = Image.new("P", (1, 1))
    palette.putpalette(flat)
    return palette


class _Stage:
    """Draws the frames of one film."""

    def __init__(self, scene: Scene, method: str, title: str, steps: int, balanced: bool) -> None:
        self.scene, self.method, self.title, self.steps, self.balanced = scene, method, title, steps, balanced
        world = scene.world
        actions = ROW * len(scene.actions) + FOOT
        # A wide world gets the whole width, and the panel is below it in two columns.
        wide = world.width >= 2 * world.height
        whole = WORLD[0] + MARGIN + PANEL
        most = (whole if wide else WORLD[0], WORLD[1])
        self.side = max(1, min(most[0] // world.width, most[1] // world.height, CELL))
        drawn = (world.width * self.side, world.height * self.side)
        room = max(drawn[0], most[0])
        below = max(HEAD, actions)
        self.size = (
            (room if wide else room + MARGIN + PANEL) + 2 * MARGIN,
            (drawn[1] + MARGIN + below if wide else max(drawn[1], HEAD + actions)) + 2 * MARGIN,
        )
        self.left = MARGIN + (room - drawn[0]) // 2
        self.bottom = MARGIN + drawn[1] if wide else (self.size[1] + drawn[1]) // 2
        top = self.bottom + MARGIN if wide else MARGIN
        self.head = (MARGIN if wide else 2 * MARGIN + room, top)
        self.bars = (self.size[0] - MARGIN - PANEL, top if wide else top + HEAD)
        self.empty = self._empty()

    def _box(self, cell: int) -> Box:
        """Pixels of a cell, the last ones included; a gap of one pixel between cells that are large enough."""
        x, y = self.scene.world.coordinates(cell)
        left, bottom = self.left + x * self.side, self.bottom - y * self.side
        gap = 1 if self.side >= 4 else 0
        return left, bottom - self.side, left + self.side - 1 - gap, bottom - 1 - gap

    def _empty(self) -> Image.Image:
        """The world without the agent."""
        picture = Image.new("RGB", self.size, rgb(PAPER))
        draw = ImageDraw.Draw(picture)
        world = self.scene.world
        for cell in range(world.cells):
            draw.rectangle(self._box(cell), rgb(WALL) if world.walls[cell] else blend(RULE, EMPTY))
        return picture

    def draw(self, frame: _Frame) -> Image.Image:
        """One picture."""
        picture = self.empty.copy()
        draw = ImageDraw.Draw(picture)
        for age, cell in reversed(list(enumerate(reversed(frame.trail)))):
            draw.rectangle(self._box(cell), blend(TRAIL, strength(age)))
        for goal in np.flatnonzero(self.scene.world.goals):
            if goal != frame.cell:
                self._mark(picture, int(goal), MUTED, star=True)
        self._mark(picture, frame.cell, COLOURS[self.method], star=False)
        self._draw_panel(draw, frame)
        return picture

    def _mark(self, picture: Image.Image, cell: int, colour: str, star: bool) -> None:
        """A dot or a star with a pale edge, larger than its cell where that is tiny."""
        left, top, right, bottom = self._box(cell)
        size = max(self.side, 9) * (1.0 if star else 0.86)
        middle = ((left + right + 1) / 2, (top + bottom + 1) / 2)
        for part, shade in ((size, PAPER), (size * 0.76, colour)):
            shape = mask(round(part), star)
            place = tuple(round(at - shape.width / 2) for at in middle)
            picture.paste(rgb(shade), (place[0], place[1]), shape)

    def _draw_panel(self, draw: ImageDraw.ImageDraw, frame: _Frame) -> None:
        x, y = self.head
        draw.text((x, y), NAMES[self.method], rgb(INK), font(15, bold=True))
        draw.text((x, y + 22), self.title, rgb(MUTED), font(12))
        for place, (label, value) in enumerate((("step", f"{frame.step:,}"), ("reward so far", f"{frame.reward:.3g}"))):
            left = x + place * PANEL // 2
            draw.text((left, y + 52), label, rgb(MUTED), font(11))
            draw.text((left, y + 66), value, rgb(INK), font(20, bold=True))
        x, y = self.bars
        if frame.pi is None:
            draw.text((x, y), frame.verdict, rgb(INK), font(13, bold=True))
            draw.text((x, y + 20), f"after {self.steps:,} step{'s' * (self.steps != 1)}", rgb(MUTED), font(12))
            return
        for number, name in enumerate(self.scene.actions):
            self._draw_action(draw, y + ROW * number, name, number, frame)
        self._draw_legend(draw, y + ROW * len(self.scene.actions))

    def _draw_action(self, draw: ImageDraw.ImageDraw, top: int, name: str, number: int, frame: _Frame) -> None:
        x, taken = self.bars[0], number == frame.chosen
        shares = [(frame.pi, PI), (frame.beta, BETA)]
        known = [(float(share[number]), colour) for share, colour in shares if share is not None]
        middle = top + 7 * len(known)
        draw.text((x, middle - 2), name, rgb(INK if taken else MUTED), font(12, bold=taken), anchor="lm")
        if taken:
            draw.ellipse((x - 11, middle - 5, x - 5, middle + 1), rgb(COLOURS[self.method]))
        left, right = x + 54, x + PANEL - 42
        for place, (share, colour) in enumerate(known):
            y = top + 14 * place
            draw.rectangle((left, y, right, y + 9), blend(RULE, EMPTY))
            if share * (right - left) >= 1:
                draw.rectangle((left, y, left + round((right - left) * share), y + 9), rgb(colour))
            draw.text((x + PANEL, y + 5), f"{100 * share:.0f} %", rgb(MUTED), font(11), anchor="rm")

    def _draw_legend(self, draw: ImageDraw.ImageDraw, top: int) -> None:
        keys = [("policy π", PI), *([("behaviour β", BETA)] if self.balanced else [])]
        x = float(self.bars[0])
        for text, colour in keys:
            draw.rectangle((x, top + 2, x + 9, top + 11), rgb(colour))
            draw.text((x + 15, top + 7), text, rgb(MUTED), font(11), anchor="lm")
            x += 15 + draw.textlength(text, font(11)) + 16
