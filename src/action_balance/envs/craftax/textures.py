"""Textures of Craftax: its package brings them as pictures, prepares them once, and keeps the result in its folder.

Preparing takes 20 seconds (Craftax-Classic) to 90 seconds (Craftax) of processor time. Nothing is downloaded.
"""

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any


@contextmanager
def prepared_textures(module: str) -> Iterator[None]:
    """Let Craftax load its textures: with a message only if it takes long, and also where it cannot keep them."""
    constants: Any = import_module(module)
    kept = Path(constants.TEXTURE_CACHE_FILE)
    original = constants.save_compressed_pickle
    constants.save_compressed_pickle = lambda _, textures: _keep(kept, textures, original)
    try:
        with redirect_stdout(io.StringIO() if kept.exists() else sys.stderr):
            yield
    finally:
        constants.save_compressed_pickle = original


def _keep(path: Path, textures: Any, save: Any) -> None:
    """Write the textures as a whole or not at all: a part of them would be an error at every later start."""
    try:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            save(str(Path(folder) / path.name), textures)
            os.replace(Path(folder) / path.name, path)
    except OSError as error:
        print(f"{path} cannot be written ({error.strerror}): the next start prepares the textures again")
