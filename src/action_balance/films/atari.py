"""A film of one game of Atari: the screen on the left, what the agent thinks of its actions on the right.

Axes: T steps, A actions.
"""

import math
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from action_balance.envs.atari.replay import Moment
from action_balance.errors import UserError
from action_balance.files import missing, reason
from action_balance.films.pixels import BETA, PI, THIRD, blend, font, rgb, softmax
from action_balance.plots.drawing import COLOURS, INK, MUTED, NAMES, PAPER, RULE

#: Pictures in a second: 60 emulator frames, four for each step. How many of them the end is shown for.
RATE, LAST = 15, 30

#: Bits in a second, at most: five minutes, which no game exceeds, are 30 MB. Most games need far less.
MOST_BITS = 800_000

#: Pixels: the whole; the box of the screen, from its upper left corner; the panel's.
SIZE = (1280, 720)
SCREEN_AT, SCREEN = (40, 45), (800, 630)
PANEL_AT, PANEL = (880, 45), (360, 630)

#: A pixel of the console is so much wider than high, on a television.
WIDE = 5 / 3

#: Pixels from the panel's upper edge: its numbers, the line below them, and the rows of actions; the tallest row.
NUMBERS, LINE, ROWS, TALLEST = 72, 128, 176, 38
#: Pixels from the panel's left edge: bars begin and end; with a bonus beside them, they end earlier and it begins.
BARS, NARROW, BONUS = (124, 360), 236, (254, 360)

#: Pixels by which the coloured row of the action taken sticks out of the panel.
OUT = 16


@dataclass(frozen=True)
class Story:
    """What a film tells beside the pictures."""

    method: str
    title: str  # one line about the game
    taken: np.ndarray  # (T,) integers, actions
    logits: np.ndarray  # (T, A), of pi
    behaviour: np.ndarray | None  # (T, A), logits of beta; None without an action bonus
    bonus: np.ndarray | None  # (T, A), normalised as it is in Eq. 5
    verdict: str  # how the game ended


def check_encoder() -> None:
    """A `UserError` where films cannot be made."""
    try:
        import av
    except ImportError:
        raise missing("av", "the film", "atari") from None
    if "libx264" not in av.codecs_available:
        raise UserError(
            'the installed av cannot write H.264, and the film needs it: pip install --force-reinstall "av"'
        )


def film(moments: Iterable[Moment], story: Story, tell: Callable[[float], None] = lambda _: None) -> bytes:
    """A game as an MP4 that browsers play, in the speed of the game.

    Args:
        moments: T + 1 of them, with pictures.
        story: what is told beside them.
        tell: is told how many pictures more are done, of T + `LAST`.
    """
    check_encoder()
    return encode(_pictures(moments, story, tell))


def _pictures(moments: Iterable[Moment], story: Story, tell: Callable[[float], None]) -> Iterator[np.ndarray]:
    stage: _Stage | None = None
    rooms: set[int] = set()
    for step, moment in enumerate(moments):
        stage = stage or _Stage(story, moment)
        rooms |= {moment.room} if moment.room is not None else set()
        picture = stage.draw(moment, step, len(rooms))
        for _ in range(1 if step < len(story.taken) else LAST):
            yield picture
            tell(1)


def encode(pictures: Iterable[np.ndarray]) -> bytes:
    """Pictures, (H, W, 3) uint8 with even sides, as an MP4 with H.264."""
    import av
    from av.video.reformatter import Colorspace

    # Players take the colours of untold films of this size for those of high definition: make and tell them so.
    told = "colorprim=bt709:transfer=bt709:colormatrix=bt709"
    options = {"preset": "veryfast", "crf": "21", "x264-params": told, "threads": "2"}
    options |= {"maxrate": str(MOST_BITS), "bufsize": str(2 * MOST_BITS)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        try:
            # The index comes first, so that a browser can begin before it has the whole file.
            with av.open(str(path), "w", options={"movflags": "+faststart"}) as file:
                stream = file.add_stream("libx264", rate=RATE, options=options)
                stream.pix_fmt, stream.gop_size = "yuv420p", 5 * RATE
                stream.time_base = Fraction(1, RATE)
                for number, picture in enumerate(pictures):
                    if number == 0:
                        stream.height, stream.width = picture.shape[:2]
                    frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                    frame = frame.reformat(format="yuv420p", dst_colorspace=Colorspace.ITU709)
                    frame.pts = number
                    file.mux(stream.encode(frame))
                file.mux(stream.encode())
            return path.read_bytes()
        except OSError as error:
            raise UserError(f"cannot write the film to {folder}: {reason(error)}") from None


class _Stage:
    """Draws the pictures of one film: what stays the same is drawn once."""

    def __init__(self, story: Story, first: Moment) -> None:
        self.story, self.actions = story, first.actions
        self.known = first.room is not None
        self.row = min(TALLEST, (PANEL[1] - ROWS) // len(self.actions))
        self.shares = [(softmax(logits), colour) for logits, colour in self._policies()]
        self.most = _round_up(max(float(shares.max()) for shares, _ in self.shares), (0.1, 0.25, 0.5, 1.0))
        self.bars = BARS if story.bonus is None else (BARS[0], NARROW)
        # Beta stays the same when all actions get as much more: what counts is the distance from their mean.
        self.bonus = None if story.bonus is None else story.bonus - story.bonus.mean(axis=1, keepdims=True)
        self.reach = 0.0 if self.bonus is None else _round_up(float(np.abs(self.bonus).max()))
        lines, columns = first.screen.shape[:2]
        self.tall = max(1, min(SCREEN[1] // lines, int(SCREEN[0] / columns / WIDE)))
        self.wide = round(self.tall * WIDE)
        self.paper = self._paper()
        self.thinking = self._thinking()
        self.marked = [self._row(number, taken=True) for number in range(len(self.actions))]

    def _policies(self) -> list[tuple[np.ndarray, str]]:
        beta = self.story.behaviour
        return [(self.story.logits, PI), *([(beta, BETA)] if beta is not None else [])]

    def draw(self, moment: Moment, step: int, rooms: int) -> np.ndarray:
        """One picture, (H, W, 3) uint8; after the last step, with the verdict."""
        over = step == len(self.story.taken)
        picture = (self.paper if over else self.thinking).copy()
        self._put_screen(picture, moment.screen)
        _put(picture, self._numbers(moment, step, rooms), PANEL_AT[0], PANEL_AT[1] + NUMBERS)
        if over:
            _put(picture, self._verdict(), PANEL_AT[0], PANEL_AT[1] + LINE + 28)
            return picture
        taken = int(self.story.taken[step])
        _put(picture, self.marked[taken], PANEL_AT[0] - OUT, self._top(taken))
        for number in range(len(self.actions)):
            self._put_bars(picture, number, step)
        return picture

    def _top(self, number: int) -> int:
        return PANEL_AT[1] + ROWS + self.row * number

    def _put_screen(self, picture: np.ndarray, screen: np.ndarray) -> None:
        large = screen.repeat(self.tall, axis=0).repeat(self.wide, axis=1)[: SCREEN[1], : SCREEN[0]]
        left, top = ((SCREEN[axis] - large.shape[1 - axis]) // 2 + SCREEN_AT[axis] for axis in (0, 1))
        _put(picture, large, left, top)

    def _put_bars(self, picture: np.ndarray, number: int, step: int) -> None:
        left = PANEL_AT[0]
        begin, end = self.bars
        for (shares, colour), (top, bottom) in zip(self.shares, self._places(len(self.shares)), strict=True):
            width = round((end - begin) * float(shares[step, number]) / self.most)
            here = slice(self._top(number) + top, self._top(number) + bottom)
            picture[here, left + begin : left + begin + width] = rgb(colour)
        if self.bonus is None or not self.reach:
            return
        (top, bottom), (begin, end) = self._places(1)[0], BONUS
        zero = left + (begin + end) // 2
        width = round((end - begin) / 2 * float(self.bonus[step, number]) / self.reach)
        here = slice(self._top(number) + top, self._top(number) + bottom)
        picture[here, zero + min(width, 0) : zero + max(width, 0)] = rgb(THIRD)

    def _places(self, count: int) -> list[tuple[int, int]]:
        """Top and bottom of so many bars in a row."""
        thick = round(self.row / 3) if count > 1 else round(self.row * 0.42)
        gap = max(1, round(self.row / 12))
        above = (self.row - count * thick - (count - 1) * gap) // 2
        return [(above + place * (thick + gap), above + place * (thick + gap) + thick) for place in range(count)]

    def _row(self, number: int, taken: bool) -> np.ndarray:
        """The row of an action without its bars' colours."""
        ground = blend(COLOURS[self.story.method], 0.13) if taken else rgb(PAPER)
        strip = Image.new("RGB", (PANEL[0] + 2 * OUT, self.row), rgb(PAPER))
        draw = ImageDraw.Draw(strip)
        middle = self.row / 2
        if taken:
            draw.rounded_rectangle((0, 0, strip.width - 1, self.row - 1), 5, ground)
        place = (OUT, middle)
        draw.text(place, words(self.actions[number]), rgb(INK if taken else MUTED), font(12, bold=taken), anchor="lm")
        tracks = [(self.bars, self._places(len(self.shares)))]
        if self.bonus is not None:
            tracks.append((BONUS, self._places(1)))
        for (begin, end), places in tracks:
            for top, bottom in places:
                draw.rectangle((OUT + begin, top, OUT + end - 1, bottom - 1), blend(RULE, 0.9 if taken else 0.6))
        return np.asarray(strip)

    def _paper(self) -> np.ndarray:
        """What is there in every picture."""
        picture = Image.new("RGB", SIZE, rgb(PAPER))
        draw = ImageDraw.Draw(picture)
        x, y = PANEL_AT
        name = NAMES[self.story.method]
        draw.text((x, y), name, rgb(INK), _fitting(name, 20, PANEL[0], bold=True))
        draw.text((x, y + 31), self.story.title, rgb(MUTED), _fitting(self.story.title, 13, PANEL[0]))
        draw.rectangle((x, y + LINE, x + PANEL[0] - 1, y + LINE), rgb(RULE))
        left, top = SCREEN_AT
        draw.rectangle((left, top, left + SCREEN[0] - 1, top + SCREEN[1] - 1), (0, 0, 0))
        return np.asarray(picture)

    def _thinking(self) -> np.ndarray:
        """The same with empty rows for all actions, and what the colours and the ends of the bars mean."""
        picture = Image.fromarray(self.paper)
        draw = ImageDraw.Draw(picture)
        x, y = PANEL_AT[0], PANEL_AT[1] + LINE + 18
        at = float(x)
        names = ("policy π", "behaviour β")
        for (_, colour), text in zip(self.shares, names, strict=False):
            at = _key(draw, at, y, text, colour) + 16
        ends = [(self.bars, "0", f"{100 * self.most:g} %")]
        if self.bonus is not None:
            _key(draw, x + BONUS[0], y, "bonus \u2212 mean", THIRD)
            ends.append((BONUS, f"\u2212{self.reach:g}", f"{self.reach:g}"))
        for (begin, end), low, high in ends:
            draw.text((x + begin, y + 20), low, rgb(MUTED), font(10), anchor="lm")
            draw.text((x + end, y + 20), high, rgb(MUTED), font(10), anchor="rm")
        whole = np.array(picture)
        for number in range(len(self.actions)):
            _put(whole, self._row(number, taken=False), PANEL_AT[0] - OUT, self._top(number))
        return whole

    def _numbers(self, moment: Moment, step: int, rooms: int) -> np.ndarray:
        """Score, room and step."""
        strip = Image.new("RGB", (PANEL[0], LINE - NUMBERS - 6), rgb(PAPER))
        draw = ImageDraw.Draw(strip)
        told = [(0, "score", f"{moment.score:,.0f}"), (276 if self.known else 124, "step", f"{step:,}")]
        if self.known:
            told += [(124, "room", f"{moment.room}"), (186, "rooms so far", f"{rooms}")]
        for left, label, value in told:
            draw.text((left, 0), label, rgb(MUTED), font(11))
            draw.text((left, 15), value, rgb(INK), font(22, bold=True))
        return np.asarray(strip)

    def _verdict(self) -> np.ndarray:
        steps = len(self.story.taken)
        strip = Image.new("RGB", (PANEL[0], 60), rgb(PAPER))
        draw = ImageDraw.Draw(strip)
        draw.text((0, 0), self.story.verdict, rgb(INK), font(16, bold=True))
        draw.text((0, 26), f"after {steps:,} step{'s' * (steps != 1)}", rgb(MUTED), font(13))
        return np.asarray(strip)


def words(action: str) -> str:
    """What an action is called, as words: up right fire."""
    return "no-op" if action == "NOOP" else " ".join(re.findall("UP|DOWN|LEFT|RIGHT|FIRE", action)).lower()


def _put(picture: np.ndarray, part: np.ndarray, left: int, top: int) -> None:
    picture[top : top + part.shape[0], left : left + part.shape[1]] = part


def _key(draw: ImageDraw.ImageDraw, left: float, middle: float, text: str, colour: str) -> float:
    """What a colour means; returns where it ends."""
    draw.rectangle((left, middle - 5, left + 9, middle + 4), rgb(colour))
    draw.text((left + 16, middle), text, rgb(MUTED), font(12), anchor="lm")
    return left + 16 + draw.textlength(text, font(12))


def _fitting(text: str, size: int, width: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The font of this size, or of the largest smaller one with which the text is not too wide."""
    while size > 8 and font(size, bold).getlength(text) > width:
        size -= 1
    return font(size, bold)


def _round_up(value: float, steps: tuple[float, ...] = ()) -> float:
    """The next of these numbers, or 1, 2 or 5 of a power of ten."""
    for step in steps:
        if value <= step:
            return step
    if value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if value <= step * power * (1 + 1e-6))
