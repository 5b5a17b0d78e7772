"""Textures of Craftax: its package brings them as pictures, prepares them once, and keeps the result in its folder.

Preparing takes 20 seconds (Craftax-Classic) to 90 seconds (Craftax) of processor time. Nothing is downloaded.
"""

import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import UInt8

#: Pixels of a block.
BLOCK = 16


@contextmanager
def replaced(module: str, name: str, replacement: Any) -> Iterator[None]:
    """Let Craftax use something else of this name."""
    found = import_module(module)
    original = getattr(found, name)
    setattr(found, name, replacement)
    try:
        yield
    finally:
        setattr(found, name, original)


@contextmanager
def prepared_textures(module: str) -> Iterator[None]:
    """Let Craftax load its textures: with a message only if it takes long, and also where it cannot keep them."""
    constants: Any = import_module(module)
    kept, save = Path(constants.TEXTURE_CACHE_FILE), constants.save_compressed_pickle
    with (
        replaced(module, "save_compressed_pickle", lambda _, textures: _keep(kept, textures, save)),
        redirect_stdout(io.StringIO() if kept.exists() else sys.stderr),
    ):
        yield


def _keep(path: Path, textures: Any, save: Any) -> None:
    """Write the textures as a whole or not at all: a part of them would be an error at every later start."""
    try:
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            save(str(Path(folder) / path.name), textures)
            os.replace(Path(folder) / path.name, path)
    except OSError as error:
        print(f"{path} cannot be written ({error.strerror}): the next start prepares the textures again")


@cache
def make_renderer(package: str) -> Callable[[Any], UInt8[np.ndarray, "H W 3"]]:
    """What draws a state as people see it. Only the textures of this size are prepared, and nothing is kept."""
    constants, renderer = import_module(f"{package}.constants"), import_module(f"{package}.renderer")
    with replaced(
        renderer.__name__, "load_all_textures", lambda: {BLOCK: constants.load_all_textures_given_size(BLOCK)}
    ):
        draw = jax.jit(renderer.make_craftax_pixel_renderer(BLOCK))
    return lambda state: np.asarray(jnp.clip(jnp.round(draw(state)), 0, 255), np.uint8)
