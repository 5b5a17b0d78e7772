"""Evaluation in an environment of a library, and its film."""

import csv
import io

import av
import jax
import numpy as np
import pytest
from ladder import LadderConfig
from rich.console import Console

from action_balance.algorithms import learner
from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.train import TrainConfig
from action_balance.files import Data
from action_balance.studies.evaluation.run import play

CONFIG = TrainConfig(
    LadderConfig("ladder:of-four"),
    AgentConfig(
        envs=2,
        algorithm=PPOConfig(rollout_steps=4, minibatches=1),
        exploration=ExplorationConfig(warmup_rollouts=1),
        network=NetworkConfig(hidden=4, layers=1, bonus_hidden=4, bonus_outputs=3),
    ),
    seeds=2,
)

Played = tuple[Data, dict[str, bytes], str]


@pytest.fixture(scope="module")
def played() -> Played:
    """Six episodes of two agents that have not learned anything: the numbers, the files and the screen."""
    environment = CONFIG.environment(jax.random.key(0))
    algorithm = make_algorithm(CONFIG.agent, environment.spec)
    keys = jax.random.split(jax.random.key(0), 2)
    states = jax.jit(jax.vmap(lambda key: learner.init_state(environment, algorithm, key)))(keys)
    screen = io.StringIO()
    summary, files = play(CONFIG, "action-balance-rnd", 0, states, 6, 0, Console(file=screen, width=100))
    return summary, files, screen.getvalue()


def test_every_episode_ends_at_the_top_or_at_the_time_limit(played: Played) -> None:
    rows = list(csv.DictReader(io.StringIO(played[1]["episodes.csv"].decode())))
    assert len(rows) == 3 * 2 * 6
    for row in rows:
        climbed, on_top = float(row["climbed"]), row["ended"] == "task"
        assert float(row["return"]) == 3 * on_top
        assert climbed in ((2, 3) if on_top else (0, 1, 2))
        assert int(row["length"]) == 5 or on_top


def test_the_info_of_episodes_is_averaged(played: Played) -> None:
    summary, files, screen = played
    rows = list(csv.DictReader(io.StringIO(files["episodes.csv"].decode())))
    sampled = [float(row["climbed"]) for row in rows if row["mode"] == "sampled"]
    assert summary["modes"]["sampled"]["info"] == {"climbed": pytest.approx(np.mean(sampled))}
    assert "mean climbed" in screen


def test_the_film_shows_the_first_sampled_episode_of_the_first_agent(played: Played) -> None:
    _, files, _ = played
    rows = list(csv.DictReader(io.StringIO(files["episodes.csv"].decode())))
    steps = next(int(row["length"]) for row in rows if row["mode"] == "sampled")
    with av.open(io.BytesIO(files["episode.mp4"]), "r") as film:
        frames = sum(1 for _ in film.decode(video=0))
    assert frames == steps + 2 * 8  # the last frame stays for two seconds
