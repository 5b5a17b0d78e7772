"""What a film shows of a trace that was chosen by hand."""

import io

import numpy as np
import pytest
from PIL import Image

from action_balance.config.agent import AgentConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.evaluate import Decision, Trace
from action_balance.envs.grid.maps import parse_map
from action_balance.envs.scene import Scene
from action_balance.films.panel import Story
from action_balance.studies.evaluation import film

LOGITS = np.log(np.array([[0.75, 0.25], [0.75, 0.25]], np.float32))
TRACE = Trace(
    decision=Decision(
        action=np.array([0, 0], np.int32),
        logits=LOGITS,
        behaviour=LOGITS[:, ::-1],
        action_bonus=np.array([[3, 4]] * 2, np.float32),
    ),
    reward=np.array([0.0, 1.0], np.float32),
    terminated=np.array([False, True]),
    state=np.array([0, 1], np.int32),
    next_state=np.array([1, 2], np.int32),
)
#: In the second state, the second action goes left.
SCENE = Scene(parse_map("S.G"), np.arange(3), ("left", "right"), np.array([[0, 1], [1, 0], [0, 1]]), shows_the_end=True)


@pytest.fixture
def stories(monkeypatch: pytest.MonkeyPatch) -> list[Story]:
    """The stories of films that are not drawn."""
    found: list[Story] = []
    monkeypatch.setattr(film, "map_film", lambda _scene, story, *_: found.append(story))
    return found


def config(method: str) -> TrainConfig:
    return TrainConfig(env_config("deep-sea", size=3), AgentConfig(method=method))


def test_actions_are_shown_by_what_they_do(stories: list[Story]) -> None:
    film.film_of_map(config("action-balance-rnd"), SCENE, TRACE)
    (story,) = stories
    assert story.taken.tolist() == [0, 1]  # left, then right
    np.testing.assert_allclose(story.pi, [[0.75, 0.25], [0.25, 0.75]], rtol=1e-6)
    assert story.beta is not None
    assert story.bonus is not None
    np.testing.assert_allclose(story.beta, [[0.25, 0.75], [0.75, 0.25]], rtol=1e-6)
    np.testing.assert_allclose(story.bonus, [[0.6, 0.8], [0.8, 0.6]], rtol=1e-6)  # divided by the norm, 5


def test_a_method_without_an_action_bonus_has_only_pi(stories: list[Story]) -> None:
    film.film_of_map(config("rnd"), SCENE, TRACE)
    assert (stories[0].beta, stories[0].bonus) == (None, None)


def test_a_film_on_a_map_has_a_frame_for_every_state() -> None:
    with Image.open(io.BytesIO(film.film_of_map(config("rnd"), SCENE, TRACE))) as made:
        assert getattr(made, "n_frames", 1) == 3
