"""Draw the picture of docs/jax_environments.md, a world of each library: ``python docs/worlds.py``."""

from pathlib import Path
from typing import cast

import jax
import numpy as np
from PIL import Image, ImageDraw

from action_balance.config.registry import env_config
from action_balance.envs.library.config import LibraryEnvConfig
from action_balance.envs.library.drawing import draw_observation
from action_balance.films.pixels import font, rgb
from action_balance.plots.drawing import INK, MUTED, PAPER

#: Environments, and the steps of a random agent before each is drawn.
WORLDS = {
    "gymnax:Freeway-MinAtar": 30,
    "craftax:Craftax-Classic-Symbolic-v1": 20,
    "navix:Navix-DoorKey-8x8-v0": 6,
    "xminigrid:XLand-MiniGrid-R4-13x13": 6,
}
#: Pixels of a side of each picture, between two of them, and of the text below.
SIDE, GAP, TEXT = 288, 16, 48


def world(name: str, steps: int) -> Image.Image:
    """A square picture of an environment.

    Args:
        name: of the environment.
        steps: of a random agent before it is drawn.

    Returns:
        The picture.
    """
    adapter = cast(LibraryEnvConfig, env_config(name)).adapter
    state, observation = jax.jit(adapter.reset)(jax.random.key(6))
    step = jax.jit(adapter.step)
    for key in jax.random.split(jax.random.key(1), steps):
        state, observation, *_ = step(key, state, jax.random.randint(key, (), 0, adapter.spec.nvec[0]))
    render = getattr(adapter, "render", None)
    seen = draw_observation(np.asarray(observation), adapter.spec, np.ones(0)) if render is None else render(state)
    sharp = seen.shape[0] < SIDE
    return Image.fromarray(seen).resize((SIDE, SIDE), Image.Resampling.NEAREST if sharp else Image.Resampling.LANCZOS)


def main() -> None:
    """Write the picture."""
    canvas = Image.new("RGB", (len(WORLDS) * (SIDE + GAP) - GAP, SIDE + TEXT), rgb(PAPER))
    draw = ImageDraw.Draw(canvas)
    for place, (name, steps) in enumerate(WORLDS.items()):
        left = place * (SIDE + GAP)
        canvas.paste(world(name, steps), (left, 0))
        family, _, short = name.partition(":")
        draw.text((left, SIDE + 8), family, rgb(INK), font(15, bold=True))
        draw.text((left, SIDE + 28), short, rgb(MUTED), font(13))
    canvas.save(Path(__file__).parent / "images" / "jax_worlds.webp", quality=88, method=6)


if __name__ == "__main__":
    main()
