"""Films of a map and of a game, from pictures whose colours are known."""

import io
from dataclasses import replace

import av
import numpy as np
import pytest
from PIL import Image

from action_balance.envs import picture
from action_balance.envs.grid.maps import parse_map
from action_balance.envs.grid.world import ACTIONS
from action_balance.envs.replay import Moment
from action_balance.envs.scene import Scene
from action_balance.films import film
from action_balance.films.panel import Story

GREEN, VIOLET = (40, 160, 90), (120, 40, 160)
STORY = Story(
    method="rnd",
    title="title",
    actions=ACTIONS,
    taken=np.array([1, 1]),
    pi=np.full((2, 4), 0.25),
    beta=None,
    bonus=None,
    verdict="the task ended",
)


def screen(colour: tuple[int, int, int]) -> np.ndarray:
    return np.broadcast_to(np.array(colour, np.uint8), (210, 160, 3))


def row_of_three() -> Scene:
    """Start, a cell, a goal."""
    world = parse_map("S.G", episode_steps=5)
    return Scene(world, np.arange(3), ACTIONS, np.tile(np.arange(4), (3, 1)), shows_the_end=True)


def test_a_map_shows_the_agent_its_trail_and_the_reward_so_far() -> None:
    shots = list(film.map_shots(row_of_three(), np.array([0, 1, 2]), np.array([0.0, 1.0])))
    assert [shot.numbers for shot in shots] == [
        (("step", "0"), ("reward so far", "0")),
        (("step", "1"), ("reward so far", "0")),
        (("step", "2"), ("reward so far", "1")),
    ]
    side = shots[0].picture.shape[0]
    for step, shot in enumerate(shots):
        middles = [tuple(shot.picture[side // 2 - 1, side * cell + side // 2 - 1]) for cell in range(3)]
        corners = [tuple(shot.picture[0, side * cell]) for cell in range(3)]
        assert middles[step] == picture.AGENT
        assert [corner == picture.FREE for corner in corners] == [cell > step for cell in range(3)]
    assert tuple(shots[0].picture[side // 2 - 1, side * 2 + side // 2 - 1]) == picture.GOAL


def test_of_a_long_episode_steps_are_left_out_but_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(film, "MAX_FRAMES", 3)
    story = replace(STORY, taken=np.ones(7, int), pi=np.full((7, 4), 0.25))
    states = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    content = film.map_film(row_of_three(), story, states, np.zeros(7))
    with Image.open(io.BytesIO(content)) as made:
        assert getattr(made, "n_frames", 1) == 4  # steps 0, 3, 6 and the end


def test_a_game_counts_its_rooms() -> None:
    shots = list(
        film.screen_shots(
            [Moment(screen(GREEN), score, room) for score, room in ((0, 1), (100, 2), (400, 1))], "score", 5 / 3
        )
    )
    assert [dict(shot.numbers)["rooms so far"] for shot in shots] == ["1", "2", "2"]
    assert dict(shots[2].numbers) | {} == {"score": "400", "room": "1", "rooms so far": "2", "step": "2"}
    (unknown,) = film.screen_shots([Moment(screen(GREEN))], "score", 5 / 3)
    assert dict(unknown.numbers) == {"score": "0", "step": "0"}
    (informed,) = film.screen_shots([Moment(screen(GREEN), info={"keys_found": 2.0})], "return", 1.0)
    assert dict(informed.numbers) == {"return": "0", "keys found": "2", "step": "0"}


def test_a_film_of_a_game_shows_the_screen_in_the_shape_of_a_television() -> None:
    reported: list[float] = []
    moments = [Moment(screen(GREEN)), Moment(screen(VIOLET)), Moment(screen(GREEN))]
    content = film.replay_film(film.screen_shots(moments, "score", 5 / 3), STORY, 2, reported.append)
    with av.open(io.BytesIO(content), "r") as file:
        pictures = [one.to_ndarray(format="rgb24").astype(int) for one in file.decode(video=0)]
    assert sum(reported) == 3
    assert len(pictures) == 2 + 4
    for picture_, colour in zip(pictures, (GREEN, VIOLET, GREEN), strict=False):
        assert picture_.shape == (720, 1280, 3)
        assert np.abs(picture_[50:670, 45:835] - colour).max() < 12
        assert (picture_[:40] > 230).all()
        assert (picture_[:, :35] > 230).all()
