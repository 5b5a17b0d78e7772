"""The panel of a film: probabilities and bonus of each action, and numbers such as the score.

Axes: T steps, A actions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8
from PIL import Image, ImageDraw

from action_balance.films.pixels import BETA, BONUS, PI, blend, fitting_font, font, rgb
from action_balance.plots.drawing import INK, MUTED, PAPER, RULE, method_colour, method_name

#: Pixels: width of the panel, its greatest height, and how far the row of the chosen action sticks out on both sides.
WIDTH, MAX_HEIGHT, OUT = 360, 630, 16

#: Pixels from the upper edge: the numbers, the rule below them, and the rows of actions; the greatest height of a row.
NUMBERS, LINE, ROWS, TALLEST = 72, 128, 176, 38

#: Pixels from the left edge: where bars begin and end; with a bonus beside them, they end earlier.
BARS, NARROW, BONUS_BARS = (124, 360), 236, (254, 360)

#: The most characters of an action's name.
LONGEST = 22

Picture = UInt8[np.ndarray, "H W 3"]


@dataclass(frozen=True)
class Story:
    """What a film shows beside its pictures."""

    method: str
    title: str  # one line about the episode
    actions: tuple[str, ...]  # names
    taken: Int[np.ndarray, "T *C"]  # of several components, one for each
    pi: Float[np.ndarray, "T A"]  # probabilities
    beta: Float[np.ndarray, "T A"] | None  # probabilities; None where beta is pi
    bonus: Float[np.ndarray, "T A"] | None  # normalised as in Eq. 5, minus the mean over the allowed actions
    verdict: str  # how the episode ended


class Panel:
    """Draws the panels of one film; what does not change is drawn once."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self._row = min(TALLEST, (MAX_HEIGHT - ROWS) // len(story.actions))
        #: Height of all panels, in pixels.
        self.height = ROWS + self._row * len(story.actions)
        policies = [(story.pi, PI), (story.beta, BETA)]
        self._policies = [(policy, colour) for policy, colour in policies if policy is not None]
        highest = max(float(policy.max()) for policy, _ in self._policies)
        self._most = _round_up(highest, (0.1, 0.25, 0.5, 1.0))
        self._bars = BARS if story.bonus is None else (BARS[0], NARROW)
        # Adding a constant to all bonuses does not change beta: what counts is the distance from their mean.
        self._bonus = story.bonus
        self._reach = 0.0 if self._bonus is None else _round_up(float(np.abs(self._bonus).max()))
        self._empty = self._draw_empty()
        self._thinking = self._draw_rows()
        self._chosen = [self._draw_row(number, chosen=True) for number in range(len(story.actions))]

    def draw(self, step: int, numbers: Sequence[tuple[str, str]]) -> Picture:
        over = step == len(self.story.taken)
        picture = (self._empty if over else self._thinking).copy()
        paste(picture, self._draw_numbers(numbers), OUT, NUMBERS)
        if over:
            paste(picture, self._draw_verdict(), OUT, LINE + 28)
            return picture
        for chosen in np.ravel(self.story.taken[step]).tolist():
            paste(picture, self._chosen[chosen], 0, ROWS + self._row * chosen)
        for number in range(len(self.story.actions)):
            self._fill_bars(picture, number, step)
        return picture

    def _fill_bars(self, picture: Picture, number: int, step: int) -> None:
        upper = ROWS + self._row * number
        begin, end = self._bars
        for (policy, colour), (top, bottom) in zip(self._policies, self._bar_places(len(self._policies)), strict=True):
            width = round((end - begin) * float(policy[step, number]) / self._most)
            picture[upper + top : upper + bottom, OUT + begin : OUT + begin + width] = rgb(colour)
        if self._bonus is None or not self._reach:
            return
        (top, bottom), (begin, end) = self._bar_places(1)[0], BONUS_BARS
        zero = OUT + (begin + end) // 2
        width = round((end - begin) / 2 * float(self._bonus[step, number]) / self._reach)
        picture[upper + top : upper + bottom, zero + min(width, 0) : zero + max(width, 0)] = rgb(BONUS)

    def _bar_places(self, count: int) -> list[tuple[int, int]]:
        thick = round(self._row / 3) if count > 1 else round(self._row * 0.42)
        gap = max(1, round(self._row / 12))
        above = (self._row - count * thick - (count - 1) * gap) // 2
        return [(above + place * (thick + gap), above + place * (thick + gap) + thick) for place in range(count)]

    def _draw_row(self, number: int, chosen: bool) -> Picture:
        picture, draw = _canvas(WIDTH + 2 * OUT, self._row)
        if chosen:
            tint = blend(method_colour(self.story.method), 0.13)
            draw.rounded_rectangle((0, 0, picture.width - 1, self._row - 1), 5, tint)
        name, colour = self.story.actions[number], rgb(INK if chosen else MUTED)
        name = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        size = min(12, self._row - 2)
        draw.text((OUT, self._row / 2), name, colour, fitting_font(name, size, BARS[0] - 8, bold=chosen), anchor="lm")
        tracks = [(self._bars, self._bar_places(len(self._policies)))]
        if self._bonus is not None:
            tracks.append((BONUS_BARS, self._bar_places(1)))
        for (begin, end), places in tracks:
            for top, bottom in places:
                draw.rectangle((OUT + begin, top, OUT + end - 1, bottom - 1), blend(RULE, 0.9 if chosen else 0.6))
        return np.asarray(picture)

    def _draw_empty(self) -> Picture:
        picture, draw = _canvas(WIDTH + 2 * OUT, self.height)
        name, title = method_name(self.story.method), self.story.title
        draw.text((OUT, 0), name, rgb(INK), fitting_font(name, 20, WIDTH, bold=True))
        draw.text((OUT, 31), title, rgb(MUTED), fitting_font(title, 13, WIDTH))
        draw.rectangle((OUT, LINE, OUT + WIDTH - 1, LINE), rgb(RULE))
        return np.asarray(picture)

    def _draw_rows(self) -> Picture:
        """The same with empty rows for all actions, and what the colours and the ends of the bars mean."""
        picture = Image.fromarray(self._empty)
        draw = ImageDraw.Draw(picture)
        y, at = LINE + 18, float(OUT)
        for (_, colour), text in zip(self._policies, ("policy π", "behaviour β"), strict=False):
            at = _draw_key(draw, at, y, text, colour) + 16
        scales = [(self._bars, "0", f"{100 * self._most:g} %")]
        if self._bonus is not None:
            _draw_key(draw, OUT + BONUS_BARS[0], y, "bonus \u2212 mean", BONUS)
            scales.append((BONUS_BARS, f"\u2212{self._reach:g}", f"{self._reach:g}"))
        for (begin, end), low, high in scales:
            draw.text((OUT + begin, y + 20), low, rgb(MUTED), font(10), anchor="lm")
            draw.text((OUT + end, y + 20), high, rgb(MUTED), font(10), anchor="rm")
        whole = np.array(picture)
        for number in range(len(self.story.actions)):
            paste(whole, self._draw_row(number, chosen=False), 0, ROWS + self._row * number)
        return whole

    def _draw_numbers(self, numbers: Sequence[tuple[str, str]]) -> Picture:
        picture, draw = _canvas(WIDTH, LINE - NUMBERS - 6)
        places = [0, *np.linspace(110, 280, len(numbers) - 1).tolist()]
        for left, (label, value) in zip(places, numbers, strict=True):
            draw.text((left, 0), label, rgb(MUTED), font(11))
            draw.text((left, 15), value, rgb(INK), fitting_font(value, 22, 100, bold=True))
        return np.asarray(picture)

    def _draw_verdict(self) -> Picture:
        steps = len(self.story.taken)
        picture, draw = _canvas(WIDTH, 60)
        draw.text((0, 0), self.story.verdict, rgb(INK), font(16, bold=True))
        draw.text((0, 26), f"after {steps:,} step{'s' * (steps != 1)}", rgb(MUTED), font(13))
        return np.asarray(picture)


def paste(picture: Picture, part: Picture, left: int, top: int) -> None:
    picture[top : top + part.shape[0], left : left + part.shape[1]] = part


def _canvas(width: int, height: int) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    picture = Image.new("RGB", (width, height), rgb(PAPER))
    return picture, ImageDraw.Draw(picture)


def _draw_key(draw: ImageDraw.ImageDraw, left: float, middle: float, text: str, colour: str) -> float:
    draw.rectangle((left, middle - 5, left + 9, middle + 4), rgb(colour))
    draw.text((left + 16, middle), text, rgb(MUTED), font(12), anchor="lm")
    return left + 16 + draw.textlength(text, font(12))


def _round_up(value: float, steps: tuple[float, ...] = ()) -> float:
    """The next of these numbers, or 1, 2 or 5 times a power of ten."""
    for step in steps:
        if value <= step:
            return step
    if value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if value <= step * power * (1 + 1e-6))
