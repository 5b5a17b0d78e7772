import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from action_balance.envs.grid.maps import corridor_world, draw_map, goal_world, open_world, parse_map, read_map
from action_balance.envs.grid.world import GridWorld
from action_balance.errors import UserError

MAP = """\
#..G
.S#.
"""


def same(one: GridWorld, other: GridWorld) -> bool:
    """Whether two worlds are equal in everything."""
    return (one.width, one.height) == (other.width, other.height) and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("walls", "start", "goals", "episode_steps", "successor")
    )


def test_the_open_world_is_the_papers_square_without_goals() -> None:
    assert same(open_world(), GridWorld.create(40, 40, (), (0, 0), (), 200))
    assert same(open_world(5, 30), GridWorld.create(5, 5, (), (0, 0), (), 30))


def test_the_goal_world_is_the_open_one_with_one_goal() -> None:
    assert same(goal_world((3, 1), 5, 30), GridWorld.create(5, 5, (), (0, 0), [(3, 1)], 30))
    assert same(goal_world().without_goals(), open_world())
    assert list(np.flatnonzero(goal_world().goals)) == [16 * 40 + 16]


def test_the_corridor_world_is_two_rooms_and_a_corridor_one_cell_wide() -> None:
    drawn = """\
...###..G
....S....
...###...
"""
    assert draw_map(corridor_world(room=3, length=3)) == drawn
    assert same(corridor_world(room=3, length=3, episode_steps=50), parse_map(drawn, 50))
    world = corridor_world()
    assert (world.width, world.height, world.coordinates(int(world.start))) == (31, 11, (15, 5))
    assert world.reachable_cells() == 2 * 11 * 11 + 9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: open_world(1), r"^a grid of size 1 has nothing to explore"),
        (lambda: goal_world(size=1), r"^a grid of size 1 is too small for a goal: use a size of 2 or more$"),
        (lambda: goal_world(size=10), r"^goal \(16,16\) is outside the 10x10 grid"),
        (lambda: goal_world(episode_steps=31), r"^goal \(16,16\) is 32 steps away, more than the 31 of an episode"),
        (lambda: corridor_world(0, 3), r"^rooms and corridor need at least one cell"),
        (lambda: corridor_world(3, 0), r"^rooms and corridor need at least one cell"),
    ],
)
def test_a_world_that_cannot_be_is_refused(make: Callable[[], GridWorld], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()


def test_the_first_line_of_a_map_is_the_top_of_the_world() -> None:
    world = parse_map(MAP, episode_steps=9)
    assert same(world, GridWorld.create(4, 2, [(0, 1), (2, 0)], (1, 0), [(3, 1)], 9))


def test_blank_lines_around_a_map_and_spaces_after_its_lines_do_not_matter() -> None:
    assert same(parse_map("\n  \n#..G  \n.S#.\t\n \n\n"), parse_map(MAP))


ERRORS = {
    "empty": ("", "the map is empty: draw it with # (wall), . (free), S (start) and G (goal)"),
    "no start": ("..\n.G\n", "the map has 0 starts: mark exactly one cell with S"),
    "two starts": ("S.\n.S\n", "the map has 2 starts: mark exactly one cell with S"),
    "ragged": ("S..\n....\n", "line 2 of the map has 4 characters"),
    "bad character": ("S..\n.x.\n", "line 2 of the map has 'x' at column 2: use only # (wall), . (free)"),
    "nothing free": ("S#\n##\n", "the map has nothing to explore besides the start: draw free cells with ."),
    "walled in": ("S#.\n##.\n", "no path leads away from the start: open one in the walls"),
    "unreachable goal": ("S.#G\n", "goal (3,0) cannot be reached from the start: open a path in the walls"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_wrong_map_is_refused_with_what_and_where(name: str) -> None:
    text, message = ERRORS[name]
    with pytest.raises(UserError) as caught:
        parse_map(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [MAP.encode(), MAP.replace("\n", "\r\n").encode(), MAP.encode("utf-8-sig")])
def test_a_map_is_read_from_a_file_of_any_editor(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "world.txt"
    path.write_bytes(content)
    assert same(read_map(path, 9), parse_map(MAP, 9))


def test_a_file_that_is_no_map_is_named(tmp_path: Path) -> None:
    path = tmp_path / "world.txt"
    for found, message in (
        (None, f"cannot read {path}: No such file or directory"),
        (b"S..\n.x.\n", f"{path}: line 2 of the map has 'x'"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", f"{path} is not a text map: draw it with # (wall)"),
    ):
        if found is not None:
            path.write_bytes(found)
        with pytest.raises(UserError) as caught:
            read_map(path)
        assert str(caught.value).startswith(message)


@st.composite
def worlds(draw: st.DrawFn) -> GridWorld:
    """Any small world whose goals can be reached."""
    width = draw(st.integers(1, 6))
    height = draw(st.integers(2 if width == 1 else 1, 6))
    cells = [(x, y) for x in range(width) for y in range(height)]
    start, kept = draw(st.permutations(cells))[:2]
    walls = draw(st.sets(st.sampled_from(cells))) - {start, kept}
    steps = draw(st.integers(1, 40))
    distances = GridWorld.create(width, height, walls, start).distances()
    allowed = [(x, y) for x, y in cells if 0 < distances[y * width + x] <= steps]
    goals = draw(st.sets(st.sampled_from(allowed))) if allowed else set()
    return GridWorld.create(width, height, walls, start, goals, steps)


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_a_drawn_map_is_parsed_into_the_same_world(world: GridWorld) -> None:
    assume(world.reachable_cells() > 1 or world.episode_steps == 1)  # maps with a walled-in start are refused
    text = draw_map(world)
    assert same(parse_map(text, int(world.episode_steps)), world)
    assert draw_map(parse_map(text, int(world.episode_steps))) == text


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.text(st.sampled_from("##..SG\n\n x\x00\u2028\ud800é"), max_size=40))
def test_any_text_is_a_world_or_refused(text: str) -> None:
    with contextlib.suppress(UserError):
        assert parse_map(text).reachable_cells() > 1


def test_what_is_no_file_or_far_too_large_for_a_map_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match=r"is a pipe.*, but a text map is expected"):
        read_map(tmp_path / "pipe")
    with pytest.raises(UserError, match="or a device, but a text map is expected"):
        read_map(Path("/dev/zero"))
    with open(tmp_path / "large", "wb") as file:
        file.truncate(3_000_000_000)
    with pytest.raises(UserError, match="a text map is expected, of at most"):
        read_map(tmp_path / "large")
