"""Libraries without what they say about themselves."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

#: Warnings of JAX about code of the libraries, which users cannot change: how the message begins, and its kind.
OF_LIBRARIES: tuple[tuple[str, type[Warning]], ...] = (
    ("scatter inputs have incompatible types", FutureWarning),
    ("Explicitly requested dtype int64", UserWarning),
    ("Explicitly requested dtype .*int64", UserWarning),
    ("Explicitly requested dtype .*float64", UserWarning),
)


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore the known warnings of the libraries while one of them is imported or traced."""
    with warnings.catch_warnings():
        for message, kind in OF_LIBRARIES:
            warnings.filterwarnings("ignore", message, kind)
        yield
