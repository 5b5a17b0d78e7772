"""A line of progress in a notebook, which is replaced in place."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds after which the line is replaced.
REPLACE_EVERY = 0.5


@contextmanager
def notebook_line(text: str) -> Iterator[Callable[[str, str], None]]:
    """Show a line below the cell while the body works. It is an output by itself, so that what is printed meanwhile has
    lines of its own, and a saved notebook has the last text only.
    """
    from IPython.display import display

    shown = display({"text/plain": text}, raw=True, display_id=True)
    last_text, last_time = text, time.perf_counter()

    def replace(new: str, last: str) -> None:
        nonlocal last_text, last_time
        last_text = last
        if time.perf_counter() - last_time >= REPLACE_EVERY:
            last_time = time.perf_counter()
            shown.update({"text/plain": new}, raw=True)

    try:
        yield replace
    finally:
        shown.update({"text/plain": last_text}, raw=True)
