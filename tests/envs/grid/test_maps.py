import contextlib
import os
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


def test_the_corridor_of_the_figure_has_a_reachable_treasure() -> None:
    world = corridor_world()
    world.check_goals()
    assert (world.width, world.height) == (31, 11)
    assert world.coordinates(int(world.start)) == (15, 5)
    assert world.reachable_cells() == 2 * 11 * 11 + 9


def test_the_worlds_of_the_paper_have_their_sizes() -> None:
    assert [build().cells for build in (open_world, goal_world, corridor_world)] == [1600, 1600, 341]


@pytest.mark.parametrize("size", [1, 0, -3])
def test_a_square_too_small_is_refused(size: int) -> None:
    with pytest.raises(UserError, match=rf"^a grid of size {size} has nothing to explore"):
        open_world(size)
    with pytest.raises(UserError, match=rf"^a grid of size {size} is too small for a goal: use a size of 2 or more$"):
        goal_world(size=size)


def test_a_goal_outside_the_square_is_refused() -> None:
    with pytest.raises(UserError, match=r"^goal \(16,16\) is outside the 10x10 grid"):
        goal_world(size=10)


def test_a_goal_too_far_for_the_episode_is_refused() -> None:
    with pytest.raises(UserError, match=r"^goal \(16,16\) is 32 steps away, more than the 31 of an episode"):
        goal_world(episode_steps=31)


@pytest.mark.parametrize(("room", "length"), [(0, 3), (3, 0)])
def test_a_corridor_without_cells_is_refused(room: int, length: int) -> None:
    with pytest.raises(UserError, match=r"^rooms and corridor need at least one cell"):
        corridor_world(room, length)


def test_the_first_line_of_a_map_is_the_top_of_the_world() -> None:
    world = parse_map(MAP, episode_steps=9)
    assert same(world, GridWorld.create(4, 2, [(0, 1), (2, 0)], (1, 0), [(3, 1)], 9))


def test_an_episode_on_a_map_has_200_steps_by_default() -> None:
    assert int(parse_map(MAP).episode_steps) == 200


def test_blank_lines_around_a_map_and_spaces_after_its_lines_do_not_matter() -> None:
    assert same(parse_map("\n  \n#..G  \n.S#.\t\n \n\n"), parse_map(MAP))


ERRORS = {
    "empty": ("", "the map is empty: draw it with # (wall), . (free), S (start) and G (goal)"),
    "blank": ("\n \n\n", "the map is empty"),
    "no start": ("..\n.G\n", "the map has 0 starts: mark exactly one cell with S"),
    "two starts": ("S.\n.S\n", "the map has 2 starts: mark exactly one cell with S"),
    "ragged": ("S..\n....\n", "line 2 of the map has 4 characters"),
    "gap": ("S..\n\n...\n", "line 2 of the map has 0 characters"),
    "bad character": ("S..\n.x.\n", "line 2 of the map has 'x' at column 2: use only # (wall), . (free)"),
    "lower case": ("s..\n...\n", "line 1 of the map has 's' at column 1"),
    "nothing free": ("S#\n##\n", "the map has nothing to explore besides the start: draw free cells with ."),
    "only a start": ("S", "the map has nothing to explore besides the start"),
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


def test_a_map_whose_goal_is_too_far_for_the_episode_is_refused() -> None:
    with pytest.raises(UserError, match=r"^goal \(4,0\) is 4 steps away, more than the 3 of an episode"):
        parse_map("S...G\n", episode_steps=3)


def test_a_map_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "world.txt"
    path.write_text(MAP)
    assert same(read_map(path, 9), parse_map(MAP, 9))


def test_a_map_with_windows_line_ends_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "world.txt"
    path.write_bytes(b"\r\n" + MAP.replace("\n", "\r\n").encode() + b"\r\n")
    assert same(read_map(path), parse_map(MAP))


def test_a_map_with_a_byte_order_mark_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "world.txt"
    path.write_text(MAP, encoding="utf-8-sig")
    assert same(read_map(path), parse_map(MAP))


def test_an_error_in_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "world.txt"
    path.write_text("S..\n.x.\n")
    with pytest.raises(UserError) as caught:
        read_map(path)
    assert str(caught.value).startswith(f"{path}: line 2 of the map has 'x'")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nothing.txt"
    with pytest.raises(UserError) as caught:
        read_map(path)
    assert str(caught.value) == f"cannot read {path}: No such file or directory"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        read_map(tmp_path)
    assert str(caught.value) == f"{tmp_path} is a folder, but a text map is expected"


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    with pytest.raises(UserError) as caught:
        read_map(path)
    assert str(caught.value).startswith(f"{path} is not a text map: draw it with # (wall)")


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


def test_a_parsed_map_is_drawn_as_it_was() -> None:
    assert draw_map(parse_map(MAP)) == MAP


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
