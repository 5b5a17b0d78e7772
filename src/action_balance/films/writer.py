"""Frames as a film: a GIF or an MP4 that browsers play."""

import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import repeat
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from action_balance.errors import UserError, WriteError
from action_balance.files import missing, reason
from action_balance.films.pixels import Colour

#: One frame of a film.
Frame = UInt8[np.ndarray, "H W 3"]

#: Seconds for which the last frame is shown.
HOLD = 2

#: Most bits per second of an MP4: five minutes, which no game exceeds, are 30 MB. Most games need far less.
MAX_BITS = 800_000


def to_gif(frames: Iterable[Frame], rate: int, colours: Sequence[Colour]) -> bytes:
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in colours for part in colour])
    first, *rest = (Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    durations = [1000 // rate] * len(rest) + [1000 * HOLD]
    content = io.BytesIO()
    first.save(content, "GIF", save_all=True, append_images=rest, duration=durations, loop=0)
    return content.getvalue()


def check_mp4() -> None:
    try:
        import av
    except ImportError:
        raise missing("av", "the film", "gym") from None
    if "libx264" not in av.codecs_available:
        raise UserError('the installed av cannot write H.264, which the film needs: pip install --force-reinstall "av"')


def to_mp4(frames: Iterable[Frame], rate: int) -> bytes:
    check_mp4()
    import av
    from av.video.reformatter import Colorspace

    # Without a declaration, players assume the colours of high definition for films of this size: use and declare them.
    declared = "colorprim=bt709:transfer=bt709:colormatrix=bt709"
    options = {"preset": "veryfast", "crf": "21", "x264-params": declared, "threads": "2"}
    options |= {"maxrate": str(MAX_BITS), "bufsize": str(2 * MAX_BITS)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        try:
            # The index comes first, so that a browser can start before it has the whole file.
            with av.open(str(path), "w", options={"movflags": "+faststart"}) as file:
                stream = file.add_stream("libx264", rate=rate, options=options)
                stream.pix_fmt, stream.gop_size = "yuv420p", 5 * rate
                stream.time_base = Fraction(1, rate)
                for number, picture in enumerate(_held(frames, HOLD * rate)):
                    if number == 0:
                        stream.height, stream.width = picture.shape[:2]
                    frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                    frame = frame.reformat(format="yuv420p", dst_colorspace=Colorspace.ITU709)
                    frame.pts = number
                    file.mux(stream.encode(frame))
                file.mux(stream.encode())
            return path.read_bytes()
        except OSError as error:
            raise WriteError(f"cannot write the film to {folder}: {reason(error)}", error) from None


def _held(frames: Iterable[Frame], count: int) -> Iterator[Frame]:
    """Frames, with the last one shown ``count`` times in all."""
    last: Frame | None = None
    for frame in frames:
        yield frame
        last = frame
    if last is not None:
        yield from repeat(last, count - 1)
