"""The film of a game: made of pictures whose colours are known, and read back as a player would."""

import io
import sys
from dataclasses import replace

import av
import numpy as np
import pytest

from action_balance.envs.atari.replay import Moment
from action_balance.errors import UserError
from action_balance.films.atari import LAST, Story, film, words
from action_balance.films.pixels import BETA, PI, THIRD, rgb

GREEN, VIOLET = (40, 160, 90), (120, 40, 160)
ACTIONS = ("NOOP", "FIRE", "RIGHT", "LEFT")


def moment(colour: tuple[int, int, int], score: float = 0.0, room: int | None = 1) -> Moment:
    screen = np.broadcast_to(np.array(colour, np.uint8), (210, 160, 3))
    return Moment(score, np.zeros(128, np.uint8), room, screen, ACTIONS)


def story(balanced: bool) -> Story:
    # Shares: a half, a quarter and two eighths; beta has them from the bottom up.
    shares = np.log(np.array([[4.0, 2, 1, 1], [4, 2, 1, 1]]))
    bonus = np.array([[0.6, 0.2, 0.2, 0.2], [0.3, 0.3, 0.3, 0.3]])  # mean 0.3
    made = Story("action-balance-rnd", "title", np.array([1, 2]), shares, None, None, "game over")
    return replace(made, behaviour=shares[:, ::-1], bonus=bonus) if balanced else made


def decoded(content: bytes) -> list[np.ndarray]:
    with av.open(io.BytesIO(content), "r") as file:
        stream = file.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert stream.average_rate == 15
        return [frame.to_ndarray(format="rgb24").astype(int) for frame in file.decode(stream)]


def length(picture: np.ndarray, colour: str, row: int) -> int:
    """Pixels of this colour in the row of bars of an action, but for the compression."""
    columns = slice(1130, 1241) if colour == THIRD else slice(1000, 1241)
    part = picture[221 + 38 * row : 221 + 38 * (row + 1), columns]
    near = (np.abs(part - rgb(colour)) < 48).all(axis=-1)
    return int(near.sum(axis=1).max())


@pytest.fixture(scope="module")
def made() -> tuple[bytes, list[float]]:
    """A film of two steps, and what was told while it was made."""
    told: list[float] = []
    return film([moment(GREEN), moment(VIOLET, 100), moment(GREEN, 400, room=2)], story(True), told.append), told


@pytest.fixture(scope="module")
def pictures(made: tuple[bytes, list[float]]) -> list[np.ndarray]:
    return decoded(made[0])


def test_a_film_is_played_by_browsers_and_has_a_picture_for_every_step_and_the_end(
    made: tuple[bytes, list[float]], pictures: list[np.ndarray]
) -> None:
    content, told = made
    assert len(pictures) == 2 + LAST == sum(told)
    assert {picture.shape for picture in pictures} == {(720, 1280, 3)}
    assert content.index(b"moov") < content.index(b"mdat")  # what a browser needs first


def test_the_screen_has_its_colours_and_the_shape_of_a_television(pictures: list[np.ndarray]) -> None:
    for picture, colour in zip(pictures, (GREEN, VIOLET, GREEN), strict=False):
        inside = picture[50:670, 45:835]
        assert np.abs(inside - colour).max() < 12
        assert (picture[:40] > 230).all()
        assert (picture[:, :35] > 230).all()


def test_the_bars_are_as_long_as_what_they_show(pictures: list[np.ndarray]) -> None:
    first, second, end = (pictures[place] for place in (0, 1, 5))
    # The largest share is a half: bars of 112 pixels for 50 %.
    for row, share in enumerate((0.5, 0.25, 0.125, 0.125)):
        assert length(first, PI, row) == pytest.approx(112 * share / 0.5, abs=3)
        assert length(first, BETA, 3 - row) == pytest.approx(112 * share / 0.5, abs=3)
    # 0.3 above the mean, and 0.1 below; the bar has 53 pixels for 0.5.
    assert [length(first, THIRD, row) for row in range(4)] == pytest.approx([32, 11, 11, 11], abs=3)
    assert [length(second, THIRD, row) for row in range(4)] == [0] * 4
    assert [length(end, colour, row) for colour in (PI, BETA, THIRD) for row in range(4)] == [0] * 12


def test_the_action_taken_is_marked(pictures: list[np.ndarray]) -> None:
    for step, taken in ((0, 1), (1, 2)):
        # Left of the names there is paper, but for a coloured row.
        edge = pictures[step][221 : 221 + 38 * 4, 868:874].reshape(4, 38, 6, 3)[:, 6:-6]
        assert [bool((row < 245).any()) for row in edge] == [row == taken for row in range(4)]


def test_without_an_action_bonus_there_is_only_pi() -> None:
    picture = decoded(film([moment(GREEN, room=None)] * 3, story(False)))[0]
    # The bars have the whole width: 236 pixels for 50 %.
    assert [length(picture, PI, row) for row in range(4)] == pytest.approx([236, 118, 59, 59], abs=3)
    assert [length(picture, colour, row) for colour in (BETA, THIRD) for row in range(4)] == [0] * 8


def test_actions_have_readable_names() -> None:
    assert [words(action) for action in ("NOOP", "UP", "RIGHTFIRE", "DOWNLEFTFIRE")] == [
        *("no-op", "up"),
        *("right fire", "down left fire"),
    ]


def test_what_a_film_needs_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(av, "codecs_available", {"mpeg4"})
    with pytest.raises(UserError, match=r"cannot write H\.264"):
        film([], story(False))
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(UserError, match=r'av is not installed, and the film needs it: pip install "\.\[ata'):
        film([], story(False))


def test_a_film_that_cannot_be_written_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(av, "open", full)
    with pytest.raises(UserError, match=r"cannot write the film to .*: No space left on device"):
        film([moment(GREEN)] * 3, story(False))
