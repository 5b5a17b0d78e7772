"""What a film shows of a trace that was chosen by hand."""

import io
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
import pytest
import untrained_run
from gym_cases import Counter
from gymnasium import spaces
from PIL import Image
from rich.console import Console

from action_balance.config.agent import AgentConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.distributions import Balanced, Candidates
from action_balance.engines.evaluate import Decision, Trace
from action_balance.engines.factory import evaluate_run
from action_balance.envs.grid.maps import parse_map
from action_balance.envs.gymnasium.config import GymnasiumConfig
from action_balance.envs.scene import Scene
from action_balance.films.panel import Story
from action_balance.studies.evaluation import film, run

LOGITS = np.log(np.array([[0.75, 0.25], [0.75, 0.25]], np.float32))
TRACE = Trace(
    decision=Decision(
        action=np.array([0, 0], np.int32),
        pi=LOGITS,
        beta=LOGITS[:, ::-1],
        action_bonus=np.array([[3, 4]] * 2, np.float32),
    ),
    reward=np.array([0.0, 1.0], np.float32),
    terminated=np.array([False, True]),
    state=np.array([0, 1], np.int32),
    next_state=np.array([1, 2], np.int32),
)
#: In the second state, the second action goes left.
SCENE = Scene(parse_map("S.G"), np.arange(3), ("left", "right"), np.array([[0, 1], [1, 0], [0, 1]]), shows_the_end=True)


class Choosing(Counter):
    """With any actions."""

    def __init__(self, actions: Any) -> None:
        super().__init__()
        self.action_space = actions

    def step(self, action: Any) -> Any:
        return super().step(np.sum(action))


@pytest.fixture
def stories(monkeypatch: pytest.MonkeyPatch) -> list[Story]:
    """The stories of films that are not drawn."""
    found: list[Story] = []
    monkeypatch.setattr(film, "map_film", lambda _scene, story, *_: found.append(story))
    return found


def config(method: str) -> TrainConfig:
    return TrainConfig(env_config("deep-sea", size=3), AgentConfig(method=method))


def test_actions_are_shown_by_what_they_do(stories: list[Story]) -> None:
    film.film_of_map(config("action-balance-rnd"), "mine", SCENE, TRACE)
    (story,) = stories
    assert story.method == "mine"
    assert story.taken.tolist() == [0, 1]  # left, then right
    np.testing.assert_allclose(story.pi, [[0.75, 0.25], [0.25, 0.75]], rtol=1e-6)
    assert story.beta is not None
    assert story.bonus is not None
    np.testing.assert_allclose(story.beta, [[0.25, 0.75], [0.75, 0.25]], rtol=1e-6)
    # Divided by the norm, 5, they are 0.6 and 0.8, with a mean of 0.7.
    np.testing.assert_allclose(story.bonus, [[-0.1, 0.1], [0.1, -0.1]], atol=1e-6)


def test_a_film_on_a_map_has_a_frame_for_every_state() -> None:
    with Image.open(io.BytesIO(film.film_of_map(config("rnd"), "rnd", SCENE, TRACE))) as made:
        assert getattr(made, "n_frames", 1) == 3


def replayed(monkeypatch: pytest.MonkeyPatch, trace: Trace, actions: Any) -> Story:
    """The story of a film in Gymnasium that is not drawn."""
    env = GymnasiumConfig.from_function(partial(Choosing, actions))
    found: list[Story] = []

    def told(shots: Any, story: Story, *_: Any) -> bytes:
        found.append(story)
        return bytes(len(list(shots)))

    monkeypatch.setattr(film, "replay_film", told)
    monkeypatch.setattr(film, "screen_shots", lambda moments, *_: moments)
    names = tuple(map(str, range(sum(env.spec.nvec) + len(env.spec.bounds))))
    replay: Any = SimpleNamespace(
        action_names=names, moments=lambda: iter(range(9)), pixel_aspect=1.0, steps_per_second=9
    )
    shots = film.film_of_replay(
        TrainConfig(env, AgentConfig(method="action-balance-rnd")), "mine", replay, trace, lambda _: None
    )
    assert len(shots) == len(found[0].taken) + 1
    return found[0]


def decided(action: Any, logits: Any, bonus: Any, mask: Any = None) -> Trace:
    """An episode of one step, or of several."""
    steps = len(action)
    decision = Decision(
        action=np.array(action, np.int32),
        pi=np.array(logits, np.float32),
        beta=np.array(logits, np.float32),
        action_bonus=np.array(bonus, np.float32),
        mask=None if mask is None else np.array(mask),
    )
    none = np.zeros(steps, np.int32)
    return Trace(decision, np.zeros(steps, np.float32), np.zeros(steps, bool), none, none)


def test_every_component_of_an_action_has_its_own_probabilities_and_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = decided([[1, 2]], [[0, np.log(3), 0, 0, np.log(2)]], [[3, 4, 2, 2, 1]])
    story = replayed(monkeypatch, trace, spaces.MultiDiscrete([2, 3]))

    assert story.taken.tolist() == [[1, 4]]
    np.testing.assert_allclose(story.pi, [[0.25, 0.75, 0.25, 0.25, 0.5]], rtol=1e-6)
    assert story.bonus is not None
    # 0.6 and 0.8; then 2/3, 2/3 and 1/3, with a mean of 5/9.
    np.testing.assert_allclose(story.bonus, [[-0.1, 0.1, 1 / 9, 1 / 9, -2 / 9]], atol=1e-6)


def test_forbidden_actions_have_no_part_in_the_bonus(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = decided([0], [[0, 0, -1e9]], [[3, 4, 9]], [[True, True, False]])
    story = replayed(monkeypatch, trace, spaces.Discrete(3))

    np.testing.assert_allclose(story.pi, [[0.5, 0.5, 0]], atol=1e-6)
    assert story.bonus is not None
    np.testing.assert_allclose(story.bonus, [[-0.1, 0.1, 0]], atol=1e-6)


def test_of_many_actions_those_are_shown_that_are_taken_or_probable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(film, "MAX_ROWS", 3)
    logits = np.log([[0.1, 0.2, 0.3, 0.4]] * 2)
    story = replayed(monkeypatch, decided([0, 1], logits, [[1, 1, 1, 1]] * 2), spaces.Discrete(4))

    assert story.actions == ("0", "1", "2 others")
    assert story.taken.tolist() == [0, 1]
    np.testing.assert_allclose(story.pi, [[0.1, 0.2, 0.7]] * 2, rtol=1e-6)


#: From 0 to 4, and without bounds.
FREE = spaces.Box(np.array([0, -np.inf], np.float32), np.array([4, np.inf], np.float32))


def continuous(action: list[float], *choices: float) -> Trace:
    """One step of a policy with logits, means 0.5 and 1 and standard deviations 0.25 and 2; with two candidates."""
    pi = np.array([[*choices, 0.5, 1, np.log(0.25), np.log(2)]], np.float32)
    prefix = [0] * (len(action) - 2)
    drawn = jnp.array([[[*prefix, 0.25, -1], [*prefix, 1.5, 3]]], jnp.float32)
    candidates = Candidates(drawn, jnp.ones((1, 2)), jnp.ones((1, 2)))
    beta = Balanced(jnp.array(pi), candidates, jnp.log(jnp.array([[1.0, 3.0]])))
    none = np.zeros(1, np.int32)
    decision = Decision(np.array([action], np.float32), pi, beta, candidates)
    return Trace(decision, np.zeros(1, np.float32), np.zeros(1, bool), none, none)


def test_numbers_are_shown_as_the_environment_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    story = replayed(monkeypatch, continuous([4, 7]), FREE)
    numbers = story.numbers
    assert numbers is not None
    assert (story.actions, numbers.names) == ((), ("0", "1"))
    np.testing.assert_allclose(numbers.spread[0], [[2.5, -1.0], [3.0, 1.0], [3.5, 3.0]], rtol=1e-6)
    # The bounds, or two standard deviations and the action.
    np.testing.assert_allclose(numbers.span, [[0, 4], [-3, 7]], rtol=1e-6)
    np.testing.assert_allclose(numbers.taken, [[4, 7]])
    assert numbers.candidates is not None
    assert numbers.weights is not None
    np.testing.assert_allclose(numbers.candidates[0], [[2.5, -1.0], [4.0, 3.0]])  # the second is clipped
    np.testing.assert_allclose(numbers.weights, [[0.25, 0.75]], rtol=1e-6)


def test_choices_come_before_numbers_and_of_many_of_both_some_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(film, "MAX_ROWS", 4)
    space = spaces.Dict(gear=spaces.Discrete(3), numbers=FREE)
    story = replayed(monkeypatch, continuous([2, 4, 7], 0, 0, np.log(2)), space)
    assert story.actions == ("2", "2 others")
    assert story.taken.tolist() == [0]
    np.testing.assert_allclose(story.pi, [[0.5, 0.5]], rtol=1e-6)
    assert story.numbers is not None
    assert story.numbers.names == ("3", "4")
    monkeypatch.setattr(film, "MAX_ROWS", 2)
    cut = film.few_rows(story)
    assert cut.numbers is not None
    assert cut.numbers.names == ("3",)
    assert cut.numbers.span.shape == (1, 2)
    assert "1 of 2 numbers" in cut.title


@pytest.mark.parametrize(
    ("name", "limit"),
    [("gymnax:Pendulum-v1", {"max_steps": 3}), ("gym:Pendulum-v1", {"env_kwargs": {"max_episode_steps": 3}})],
)
def test_the_action_of_a_film_is_one_of_its_candidates(name: str, limit: dict[str, Any]) -> None:
    config = TrainConfig(env_config(name, **limit), untrained_run.VECTORS).with_defaults()
    found = evaluate_run(config, untrained_run.states(config), 1, 0, record=True)["sampled"]
    assert found.trace is not None
    names = ("torque",)
    numbers = film._story(config, "mine", found.trace, names, np.zeros((3, 0), int)).numbers
    assert numbers is not None
    assert numbers.candidates is not None
    np.testing.assert_allclose(numbers.candidates[:, 0], numbers.taken, rtol=1e-4)


def test_without_an_encoder_only_the_film_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    screen, evaluation, replay = io.StringIO(), SimpleNamespace(trace=TRACE), SimpleNamespace()
    made = run._film(config("rnd"), "rnd", cast(Any, replay), cast(Any, evaluation), Console(file=screen, width=200))
    assert made == {}
    assert "the film is left out: av is not installed" in screen.getvalue()
