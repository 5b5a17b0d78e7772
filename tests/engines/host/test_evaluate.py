"""Evaluation on Atari: games whose rooms and ends are known, then the command on a run folder."""

import csv
import io
import json
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

import av
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from action_balance.engines.host.evaluate_atari import (
    MOST_GAMES,
    Bonuses,
    Played,
    Player,
    actor_of,
    decide,
    emulator_seed,
    evaluate_games,
)
from command import call
from rich.console import Console

from action_balance.agent.state import TrainState
from action_balance.config.agent import Config, ImageConfig, PPOConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device.evaluate import ACTION_MODES
from action_balance.engines.loop import trainer
from action_balance.envs.atari.emulator import Atari, _seeds
from action_balance.envs.atari.replay import Record, Visit
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies.evaluation import atari as evaluate_atari

NOOP, RIGHT, LEFT, LEFT_FIRE = 0, 3, 4, 12
LIMIT = 60  # emulator frames; 15 steps
CONFIG = Config(
    method="action-balance-rnd",
    steps=64,
    envs=2,
    ppo=PPOConfig(rollout_steps=4, minibatches=1),
    image=ImageConfig(channels=2, features=8, trunk=8, bonus_features=8),
)


def run_config(game: str = "pitfall", seeds: int = 1) -> TrainConfig:
    return TrainConfig(env_config(f"atari:{game}"), CONFIG, seed=5, seeds=seeds)


@cache
def anything(seeds: int) -> TrainState:
    """States with arbitrary numbers."""
    generator = np.random.default_rng(0)

    def fill(leaf: jax.ShapeDtypeStruct) -> Any:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jnp.broadcast_to(jax.random.key(0), leaf.shape)
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            return np.ones(leaf.shape, leaf.dtype)
        return generator.uniform(-0.3, 0.3, leaf.shape).astype(leaf.dtype)

    states: TrainState = jax.tree.map(fill, trainer(run_config(seeds=seeds)).shapes())
    return replace(states, observations=jax.tree.map(np.abs, states.observations))


def agents(*favourites: int | None) -> TrainState:
    """Agents that have a favourite action, each its own, or none at all."""
    states = anything(len(favourites))
    logits = np.zeros((len(favourites), 18), np.float32)
    for row, favourite in zip(logits, favourites, strict=True):
        if favourite is not None:
            row[favourite] = 50
    head = states.params.policy.policy_head
    return eqx.tree_at(
        lambda states: (states.params.policy.policy_head.weight, states.params.policy.policy_head.bias),
        states,
        (np.zeros_like(head.weight), logits),
    )


@cache
def played() -> tuple[Played, list[float]]:
    """Two short games of each of two agents of Pitfall!, one that goes left and one that does anything."""
    told: list[float] = []
    return evaluate_games("pitfall", CONFIG, agents(LEFT, None), (5, 6), 2, 0, told.append, LIMIT), told


def sampled(seed: int) -> list[Record]:
    """What the second of the agents plays, if it plays three games."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), 6), ACTION_MODES.index("sampled"))
    actor = actor_of(agents(LEFT, None), 1, CONFIG)
    player = Player("pitfall", CONFIG, 3, LIMIT)
    return player.play(actor, "sampled", emulator_seed(seed, 6, "sampled"), key, "none", lambda _: None)[0]


def contents(record: Record) -> tuple[Any, ...]:
    return record.seed, record.actions.tolist(), record.scores.tolist(), record.terminated


def test_every_agent_plays_in_every_way_and_its_rooms_are_seen() -> None:
    games = played()[0].games
    assert tuple(games) == ACTION_MODES
    for mode in ACTION_MODES:
        for game in games[mode][0]:
            assert set(game.record.actions) == {LEFT}
            assert game.rooms is not None
            assert [visit.room for visit in game.rooms] == [196, 226]
            assert (game.record.score, game.record.steps, game.record.terminated) == (0, 15, False)
    for game in games["greedy"][1]:  # of equal logits, the first is the largest
        assert set(game.record.actions) == {NOOP}
        assert game.rooms == (Visit(196, 0),)
    assert len({game.record.actions.tobytes() for game in games["sampled"][1]}) == 2


def test_a_game_does_not_depend_on_how_many_are_played() -> None:
    two, three = [game.record for game in played()[0].games["sampled"][1]], sampled(seed=0)
    assert [contents(record) for record in two] == [contents(record) for record in three[:2]]
    assert len({record.actions.tobytes() for record in [*three, *sampled(seed=1)]}) == 6


def test_the_first_game_is_told_step_by_step() -> None:
    first = played()[0].first
    np.testing.assert_array_equal(first.logits, np.tile(50 * np.eye(18, dtype=np.float32)[LEFT], (15, 1)))
    assert (first.action_bonus > 0).all()
    added = first.action_bonus / np.linalg.norm(first.action_bonus, axis=1, keepdims=True)
    np.testing.assert_allclose(first.behaviour, first.logits + added, rtol=1e-4)


def test_progress_adds_up_to_the_number_of_games() -> None:
    told = played()[1]
    assert sum(told) == pytest.approx(2 * 3 * 2)
    assert min(told) > 0


def test_behaviour_takes_the_largest_bonus_if_its_coefficient_is_large() -> None:
    actor = replace(actor_of(agents(NOOP), 0, CONFIG), coef=jnp.float32(1e6))
    player = Player("pitfall", CONFIG, 2, LIMIT)
    (record, _), thoughts = player.play(actor, "behaviour", (0,), jax.random.key(0), "all", lambda _: None)
    np.testing.assert_array_equal(record.actions, thoughts.action_bonus.argmax(axis=1))
    assert (record.actions != NOOP).any()


def test_the_bonus_of_the_first_game_alone_is_the_same_as_among_those_of_all() -> None:
    seen = (jnp.zeros((2, 4, 84, 84), jnp.uint8), np.ones((2, 84, 84), np.uint8), np.ones(2, bool))
    rest = (jax.random.key(0), np.int32(0), np.int32(0))
    actor = actor_of(agents(None), 0, CONFIG)
    with jax.default_matmul_precision("highest"):
        none, first, everyone = (
            decide(actor, *seen, *rest, config=CONFIG, bonuses=kind)[2][2] for kind in get_args(Bonuses)
        )
    assert (none == 0).all()
    assert (everyone > 0).all()
    np.testing.assert_allclose(first, everyone, rtol=1e-5)


def test_the_first_emulators_have_the_same_seeds_however_many_there_are_and_none_of_training() -> None:
    few, more = (_seeds(emulator_seed(0, 5, "greedy"), count).tolist() for count in (1, 3))
    assert few == more[:1]
    others = [(0, 0), (5, 0), (0, 5), emulator_seed(1, 5, "greedy"), emulator_seed(0, 6, "greedy")]
    others += [emulator_seed(0, 5, "sampled"), emulator_seed(0, 5, "behaviour")]
    assert len({*few, *(_seeds(other, 1).item() for other in others)}) == 8


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Montezuma's Revenge whose agent jumps to its death."""
    path = tmp_path_factory.mktemp("runs") / "run"
    folder = RunFolder.create(path, run_config("montezuma_revenge").to_dict(), ["train"])
    folder.checkpoints().save(3, agents(LEFT_FIRE), 0.0)
    folder.release()
    return path


def test_a_run_is_evaluated(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("evaluate", str(run), "--episodes", "2") == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("mean score", "ended by game over", "rooms visited: 1", "episode.mp4"))
    rows = list(csv.DictReader(io.StringIO((run / "evaluation" / "episodes.csv").read_text())))
    # Two emulators whose games do not last equally long: what follows the first in its own is left out.
    assert [(row["way"], row["seed"], row["episode"]) for row in rows[:3]] == [
        ("greedy", "5", "0"),
        ("greedy", "5", "1"),
        ("sampled", "5", "0"),
    ]
    assert {row["steps"] for row in rows} == {"139", "140"}
    for row in rows:
        assert int(row["frames"]) == 4 * int(row["steps"])
        assert (row["score"], row["ended"], row["rooms"], row["visits"]) == ("0", "game over", "1", "1@0")
    summary = json.loads((run / "evaluation" / "evaluation.json").read_text())
    assert list(summary["ways"]) == ["greedy", "sampled", "behaviour"]
    assert summary["rooms"] == {"memory_byte": 3, "all": [1]}
    assert summary["checkpoint"] == {"update": 3, "steps": 24}
    for mode, found in summary["ways"].items():
        steps = [int(row["steps"]) for row in rows if row["way"] == mode]
        assert found["score"] == dict.fromkeys(("mean", "low", "high", "median", "min", "max"), 0)
        assert found["mean_steps"] == np.mean(steps)
        assert found["ended_by_game_over"] == 1
        assert found["rooms"] == {"all": [1], "mean_per_game": 1, "most_in_a_game": 1}
    with av.open(str(run / "evaluation" / "episode.mp4")) as film:
        assert sum(1 for _ in film.decode(video=0)) == int(rows[2]["steps"]) + 30


def test_without_av_only_the_film_is_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setattr(evaluate_atari, "evaluate_games", lambda *_: played()[0])
    asked = (run_config(seeds=2), "pitfall", agents(LEFT, None), 2, 0)
    summary, files = evaluate_atari.play(*asked, Console(width=80))
    evaluate_atari.show(summary, "title", Console(width=80))
    shown = capsys.readouterr().out
    advice = 'pip install ".[atari]" in the folder of action-balance'
    assert f"film is left out: av is not installed, and the film needs it: {advice}\n" in shown
    assert "2 seeds" in shown
    assert list(files) == ["episodes.csv"]
    assert summary["ways"]["greedy"]["rooms"] == {"all": [196, 226], "mean_per_game": 1.5, "most_in_a_game": 2}


def test_what_cannot_be_evaluated_is_told_in_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("evaluate", str(run), "--episodes", str(MOST_GAMES + 1)) == 2
    error = capsys.readouterr().err
    assert f"ask for at most --episodes {MOST_GAMES}" in error
    assert error.count("\n") == 1


def test_an_interrupted_evaluation_leaves_the_last_one_and_says_one_line(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = {path.name: path.stat().st_mtime_ns for path in run.rglob("evaluation/*")}
    monkeypatch.setattr(Atari, "receive", stop)
    assert call("evaluate", str(run), "--episodes", "2") == 130
    error = capsys.readouterr().err
    assert "interrupted; nothing was finished" in error
    assert error.count("\n") == 1
    assert {path.name: path.stat().st_mtime_ns for path in run.rglob("evaluation/*")} == before


def test_a_run_without_a_checkpoint_says_when_there_is_one(tmp_path: Path) -> None:
    from action_balance.studies.evaluation.run import evaluate

    RunFolder.create(tmp_path / "run", run_config().to_dict(), ["train"]).release()
    with pytest.raises(UserError, match="no checkpoint yet: the first is written after a few minutes"):
        evaluate(tmp_path / "run", 1, "latest", 0, Console())
