"""Numbers and tables of episodes that were chosen by hand."""

import csv
import io

import numpy as np
import pytest

from action_balance.config.agent import AgentConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.evaluate import ActionMode, Evaluation
from action_balance.envs.replay import Visit
from action_balance.studies.evaluation import episodes
from action_balance.studies.evaluation.episodes import Rooms

SEA = TrainConfig(env_config("deep-sea", size=4), AgentConfig(method="rnd"), seed=5, seeds=2)
GAME = TrainConfig(env_config("atari:pitfall"), AgentConfig(method="rnd"), seed=5, seeds=2)
FOUND: dict[ActionMode, Evaluation] = {
    "greedy": Evaluation(
        returns=np.array([[1.0, 3.0], [5.0, 7.0]]),
        lengths=np.array([[4, 4], [2, 6]]),
        terminated=np.array([[True, True], [True, False]]),
        visits=np.array([[1, 0], [2, 3]]),
    )
}
ROOMS: Rooms = {"greedy": [[[Visit(1, 0)], [Visit(1, 0), Visit(9, 2)]], [[Visit(1, 0)], [Visit(1, 0), Visit(4, 5)]]]}


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_with_several_agents_they_are_the_samples_of_the_interval() -> None:
    found = episodes.summarize(SEA, FOUND, None)
    assert (found["seeds"], found["intervals_over"]) == ([5, 6], "seeds")
    numbers = found["modes"]["greedy"]
    assert numbers["return"]["mean"] == 4
    assert (numbers["return"]["low"], numbers["return"]["high"]) == (None, None)  # two agents are too few
    # Means of the agents are 0 to 4: standard error sqrt(2.5 / 5), t(4; 0.975) = 2.776445.
    five = episodes.spread(np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]))
    assert five["high"] == pytest.approx(2 + 2.776445 * 0.5**0.5, rel=1e-5)
    assert (numbers["return"]["median"], numbers["return"]["min"], numbers["return"]["max"]) == (4, 1, 7)
    assert (numbers["mean_length"], numbers["ended_by_task"]) == (4, 0.75)


def test_with_one_agent_its_episodes_are_the_samples() -> None:
    assert episodes.spread(np.arange(5.0)[None])["high"] == pytest.approx(2 + 2.776445 * 0.5**0.5, rel=1e-5)
    assert episodes.spread(np.arange(4.0)[None])["high"] is None


def test_a_table_has_a_row_for_each_episode() -> None:
    found = rows(episodes.table(SEA, FOUND, None))
    assert list(found[0]) == ["mode", "seed", "episode", "return", "length", "ended"]
    assert list(found[3].values()) == ["greedy", "6", "1", "7", "6", "time limit"]


def test_games_have_scores_frames_and_rooms() -> None:
    found = rows(episodes.table(GAME, FOUND, ROOMS))
    assert list(found[0]) == ["mode", "seed", "episode", "score", "steps", "frames", "ended", "rooms", "visits"]
    assert list(found[1].values()) == ["greedy", "5", "1", "3", "4", "16", "game over", "2", "1@0 9@2"]
    unknown = rows(episodes.table(GAME, FOUND, None))
    assert (unknown[0]["rooms"], unknown[0]["visits"]) == ("", "")
    numbers = episodes.summarize(GAME, FOUND, ROOMS)["modes"]["greedy"]
    assert numbers["rooms"] == {"all": [1, 4, 9], "mean_per_game": 1.5, "most_in_a_game": 2}
    assert (numbers["mean_steps"], numbers["ended_by_game_over"]) == (4, 0.75)
