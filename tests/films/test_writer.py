"""Frames of known colours, written and read back as a player would."""

import io
import sys

import av
import numpy as np
import pytest
from PIL import Image

from action_balance.errors import UserError
from action_balance.films import writer

RED, GREEN, BLUE = (200, 30, 30), (40, 160, 90), (20, 40, 220)


def frame(colour: tuple[int, int, int]) -> np.ndarray:
    return np.full((32, 48, 3), colour, np.uint8)


def test_a_gif_has_all_frames_in_the_nearest_colours_and_holds_the_last() -> None:
    content = writer.to_gif([frame(RED), frame((45, 150, 95)), frame(BLUE)], 8, [RED, GREEN, BLUE])
    with Image.open(io.BytesIO(content)) as film:
        seen = []
        for number in range(getattr(film, "n_frames", 1)):
            film.seek(number)
            seen.append((film.convert("RGB").getpixel((0, 0)), film.info["duration"]))
        assert film.size == (48, 32)
    assert seen == [(RED, 120), (GREEN, 120), (BLUE, 2000)]


def test_an_mp4_is_one_that_browsers_play_and_holds_the_last_frame() -> None:
    content = writer.to_mp4([frame(GREEN), frame(RED)], 15)
    assert content.index(b"moov") < content.index(b"mdat")  # what a browser needs first
    with av.open(io.BytesIO(content), "r") as file:
        stream = file.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert stream.average_rate == 15
        pictures = [one.to_ndarray(format="rgb24").astype(int) for one in file.decode(stream)]
    assert len(pictures) == 1 + 2 * 15
    for picture, colour in zip(pictures, (GREEN, RED, RED), strict=False):
        assert np.abs(picture - colour).max() < 12


def test_a_missing_encoder_is_a_one_line_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(av, "codecs_available", {"mpeg4"})
    with pytest.raises(UserError, match=r"H\.264"):
        writer.to_mp4([], 15)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(UserError, match="av is not installed"):
        writer.to_mp4([], 15)
