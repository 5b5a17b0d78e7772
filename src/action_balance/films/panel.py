"""The panel of a film: probabilities and bonus of each action, and numbers such as the score.

Of actions that are continuous numbers, there is a track for each: the interval of pi, the number of the action, and the
candidates of the action bonus. Axes: T steps, A actions, D continuous numbers, K candidates.
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

#: Pixels from the upper edge: the numbers, the rule below them, and the rows of actions; the greatest height of a row,
#: and of one with candidates; and the verdict, in place of rows.
NUMBERS, LINE, ROWS, TALLEST, DOUBLE, VERDICT = 72, 128, 176, 38, 56, 156

#: Pixels from the left edge: where bars begin and end; with a bonus beside them, they end earlier.
BARS, NARROW, BONUS_BARS = (124, 360), 236, (254, 360)

#: Pixels of the width of a tick on a track.
TICK = 2

#: The most characters of an action's name.
LONGEST = 22

Picture = UInt8[np.ndarray, "H W 3"]


@dataclass(frozen=True)
class Numbers:
    """The continuous numbers of actions, as the environment gets them."""

    names: tuple[str, ...]
    span: Float[np.ndarray, "D 2"]  # where each track begins and ends
    spread: Float[np.ndarray, "T 3 D"]  # of pi: the mean less a standard deviation, the mean, and with it added
    taken: Float[np.ndarray, "T D"]
    candidates: Float[np.ndarray, "T K D"] | None = None
    weights: Float[np.ndarray, "T K"] | None = None  # of candidates under beta

    def first(self, count: int) -> "Numbers":
        candidates = None if self.candidates is None else self.candidates[..., :count]
        names, spread, taken = self.names[:count], self.spread[..., :count], self.taken[:, :count]
        return Numbers(names, self.span[:count], spread, taken, candidates, self.weights)


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
    numbers: Numbers | None = None


class Panel:
    """Draws the panels of one film; what does not change is drawn once."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self._numbers = story.numbers
        rows = len(story.actions) + (len(self._numbers.names) if self._numbers else 0)
        weights = None if self._numbers is None else self._numbers.weights
        tallest = TALLEST if story.actions or weights is None else DOUBLE
        self._row = min(tallest, (MAX_HEIGHT - ROWS) // rows)
        #: Height of all panels, in pixels.
        self.height = max(ROWS + self._row * rows, VERDICT + 60)
        policies = [(story.pi, PI), (story.beta, BETA)]
        self._policies = [(policy, colour) for policy, colour in policies if policy is not None]
        highest = max(float(policy.max(initial=0.0)) for policy, _ in self._policies)
        self._most = _round_up(highest, (0.1, 0.25, 0.5, 1.0))
        self._bars = BARS if story.bonus is None else (BARS[0], NARROW)
        # Adding a constant to all bonuses does not change beta: what counts is the distance from their mean.
        self._bonus = story.bonus
        self._reach = 0.0 if self._bonus is None else _round_up(float(np.abs(self._bonus).max()))
        self._heaviest = 0.0 if weights is None else float(weights.max())
        # Pixels from the upper edge of a row: the interval of pi, and the candidates below it.
        shares = (0.28, 0.72) if weights is None else (0.1, 0.4, 0.46, 0.92)
        self._lanes = [round(self._row * share) for share in shares]
        self._dot = _dot(max(7, self._lanes[1] - self._lanes[0] - 1))
        self._empty = self._draw_empty()
        self._thinking = self._draw_rows()
        self._chosen = [self._draw_row(number, chosen=True) for number in range(len(story.actions))]

    def draw(self, step: int, numbers: Sequence[tuple[str, str]]) -> Picture:
        over = step == len(self.story.taken)
        picture = (self._empty if over else self._thinking).copy()
        paste(picture, self._draw_numbers(numbers), OUT, NUMBERS)
        if over:
            paste(picture, self._draw_verdict(), OUT, VERDICT)
            return picture
        for chosen in np.ravel(self.story.taken[step]).tolist():
            paste(picture, self._chosen[chosen], 0, ROWS + self._row * chosen)
        for number in range(len(self.story.actions)):
            self._fill_bars(picture, number, step)
        if self._numbers is not None:
            for number in range(len(self._numbers.names)):
                self._fill_track(picture, self._numbers, number, step)
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

    def _fill_track(self, picture: Picture, numbers: Numbers, number: int, step: int) -> None:
        upper = ROWS + self._row * (len(self.story.actions) + number)
        (begin, end), (low, high), (top, bottom, *below) = BARS, numbers.span[number], self._lanes

        def place(values: np.ndarray) -> np.ndarray:
            shares = np.clip((values - low) / (high - low or 1), 0, 1)
            return np.asarray(OUT + begin + np.rint((end - begin - TICK) * shares), int)

        left, middle, right = place(numbers.spread[step, :, number])
        picture[upper + top : upper + bottom, left : right + TICK] = blend(PI, 0.4)
        picture[upper + top : upper + bottom, middle : middle + TICK] = rgb(PI)
        if numbers.candidates is not None and numbers.weights is not None:
            heights = np.rint((below[1] - below[0]) * numbers.weights[step] / self._heaviest).clip(1).astype(int)
            for at, height in zip(place(numbers.candidates[step, :, number]), heights, strict=True):
                _cover(picture[upper + below[1] - height : upper + below[1], at : at + TICK], BETA, 0.75)
        at, size = int(place(numbers.taken[step, number])) + TICK // 2, len(self._dot)
        left, over = at - size // 2, upper + (top + bottom - size) // 2
        _cover(picture[over : over + size, left : left + size], INK, self._dot)

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
        _draw_name(draw, self.story.actions[number], self._row / 2, min(12, self._row - 2), chosen)
        tracks = [(self._bars, self._bar_places(len(self._policies)))]
        if self._bonus is not None:
            tracks.append((BONUS_BARS, self._bar_places(1)))
        for (begin, end), places in tracks:
            for top, bottom in places:
                draw.rectangle((OUT + begin, top, OUT + end - 1, bottom - 1), blend(RULE, 0.9 if chosen else 0.6))
        return np.asarray(picture)

    def _draw_track(self, numbers: Numbers, number: int) -> Picture:
        """The row of a number, with where its track begins and ends."""
        picture, draw = _canvas(WIDTH + 2 * OUT, self._row)
        _draw_name(draw, numbers.names[number], 0.34 * self._row, min(12, round(0.55 * self._row)))
        scale = "{:.3g} to {:.3g}".format(*numbers.span[number]).replace("-", "\u2212")
        draw.text((OUT, 0.95 * self._row), scale, rgb(MUTED), font(min(9, self._row // 2)), anchor="ls")
        (begin, end), (top, bottom, *below) = BARS, self._lanes
        draw.rectangle((OUT + begin, top, OUT + end - 1, bottom - 1), blend(RULE, 0.6))
        if below:
            draw.rectangle((OUT + begin, below[1] - 1, OUT + end - 1, below[1] - 1), blend(RULE, 0.6))
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
        scales = [(self._bars, "0", f"{100 * self._most:g} %")] if self.story.actions else []
        if self._numbers is not None:
            draw.text((at, y), "●", rgb(INK), font(14), anchor="lm")
            draw.text((at + 16, y), "action", rgb(MUTED), font(12), anchor="lm")
            if self._heaviest:
                _draw_key(draw, at + 72, y, f"candidates of β, up to {100 * self._heaviest:.2g} %", BETA)
        if self._bonus is not None:
            _draw_key(draw, OUT + BONUS_BARS[0], y, "bonus \u2212 mean", BONUS)
            scales.append((BONUS_BARS, f"\u2212{self._reach:g}", f"{self._reach:g}"))
        for (begin, end), low, high in scales:
            draw.text((OUT + begin, y + 20), low, rgb(MUTED), font(10), anchor="lm")
            draw.text((OUT + end, y + 20), high, rgb(MUTED), font(10), anchor="rm")
        whole = np.array(picture)
        for number in range(len(self.story.actions)):
            paste(whole, self._draw_row(number, chosen=False), 0, ROWS + self._row * number)
        if self._numbers is not None:
            for number in range(len(self._numbers.names)):
                place = ROWS + self._row * (len(self.story.actions) + number)
                paste(whole, self._draw_track(self._numbers, number), 0, place)
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


def _cover(part: Picture, colour: str, opacity: float | Float[np.ndarray, "H W 1"]) -> None:
    part[:] = np.rint(part + opacity * (np.array(rgb(colour)) - part))


def _dot(size: int) -> Float[np.ndarray, "S S 1"]:
    """The opacity of a disc."""
    large = Image.new("L", (8 * size, 8 * size))
    ImageDraw.Draw(large).ellipse((0, 0, 8 * size - 1, 8 * size - 1), 255)
    return np.asarray(large.resize((size, size), Image.Resampling.BOX))[..., None] / 255


def _draw_name(draw: ImageDraw.ImageDraw, name: str, middle: float, size: int, chosen: bool = False) -> None:
    name = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    chosen_font = fitting_font(name, size, BARS[0] - 8, bold=chosen)
    draw.text((OUT, middle), name, rgb(INK if chosen else MUTED), chosen_font, anchor="lm")


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
