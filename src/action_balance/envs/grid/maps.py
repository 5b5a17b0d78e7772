"""The worlds of the grid study, and text maps for worlds of your own.

A map is a rectangle of characters: ``#`` wall, ``.`` free, ``S`` start (exactly one), ``G`` goal.
Its first line is the top of the world.
"""

from pathlib import Path

import numpy as np

from action_balance.envs.grid.world import Cell, GridWorld
from action_balance.errors import UserError
from action_balance.reading import Damaged, read_text

#: Most bytes of a map: a world of a million cells.
MAX_BYTES = 1_100_000


def open_world(size: int = 40, episode_steps: int = 200) -> GridWorld:
    """``open``: the paper's square without walls and rewards (Section IV-A)."""
    if size < 2:
        raise UserError(f"a grid of size {size} has nothing to explore: use a size of 2 or more")
    return GridWorld.create(size, size, episode_steps=episode_steps)


def goal_world(goal: Cell = (16, 16), size: int = 40, episode_steps: int = 200) -> GridWorld:
    """``goal``: the same square with one goal (Section IV-B)."""
    if size < 2:
        raise UserError(f"a grid of size {size} is too small for a goal: use a size of 2 or more")
    world = GridWorld.create(size, size, goals=[goal], episode_steps=episode_steps)
    world.check_goals()
    return world


def corridor_world(room: int = 11, length: int = 9, episode_steps: int = 200) -> GridWorld:
    """``corridor``: two rooms joined by a corridor one cell wide, with the start in its middle (Figure 1).

    The treasure lies in the far upper corner of the right room. The paper draws this world without giving its size.
    """
    if room < 1 or length < 1:
        raise UserError(f"rooms and corridor need at least one cell each, not {room} and {length}")
    width, middle = 2 * room + length, room // 2
    walls = [(x, y) for x in range(room, room + length) for y in range(room) if y != middle]
    start, treasure = (room + length // 2, middle), (width - 1, room - 1)
    world = GridWorld.create(width, room, walls, start, [treasure], episode_steps)
    world.check_goals()
    return world


def parse_map(text: str, episode_steps: int = 200) -> GridWorld:
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    if not lines:
        raise UserError("the map is empty: draw it with # (wall), . (free), S (start) and G (goal)")
    width, height = len(lines[0]), len(lines)
    found: dict[str, list[Cell]] = {"#": [], ".": [], "S": [], "G": []}
    for number, line in enumerate(lines, start=1):
        if len(line) != width:
            raise UserError(
                f"line {number} of the map has {len(line)} characters, but the first has {width}: make them equal"
            )
        for x, character in enumerate(line):
            if character not in found:
                raise UserError(
                    f"line {number} of the map has {character!r} at column {x + 1}: use only # (wall), . (free), "
                    f"S (start) and G (goal)"
                )
            found[character].append((x, height - number))
    if len(found["S"]) != 1:
        raise UserError(f"the map has {len(found['S'])} starts: mark exactly one cell with S")
    if not found["."] and not found["G"]:
        raise UserError("the map has nothing to explore besides the start: draw free cells with .")
    world = GridWorld.create(width, height, found["#"], found["S"][0], found["G"], episode_steps)
    world.check_goals()
    if world.reachable_cells() < 2 and episode_steps > 1:
        raise UserError("no path leads away from the start: open one in the walls")
    return world


def draw_map(world: GridWorld) -> str:
    symbols = np.full(world.cells, ".")
    symbols[world.walls] = "#"
    symbols[world.goals] = "G"
    symbols[world.start] = "S"
    rows = symbols.reshape(world.height, world.width)[::-1]
    return "\n".join("".join(row) for row in rows) + "\n"


def read_map(path: Path, episode_steps: int = 200) -> GridWorld:
    try:
        text = read_text(path, "a text map", MAX_BYTES)
    except Damaged:
        raise UserError(f"{path} is not a text map: draw it with # (wall), . (free), S (start) and G (goal)") from None
    try:
        return parse_map(text, episode_steps)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
