"""Evaluation: episodes that can be counted by hand, then the command on a real run."""

import csv
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from action_balance.envs.registry import EnvConfig
from action_balance.plots.scene import scene_of
from command import call
from PIL import Image

from action_balance.agent import learner as train
from action_balance.agent.state import TrainState
from action_balance.config.agent import BonusConfig, Config, NetConfig, PPOConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device.evaluate import (
    ACTION_MODES,
    ActionMode,
    Evaluation,
    action_modes,
    evaluate,
    most_episodes,
)
from action_balance.envs.base import Environment
from action_balance.envs.deep_sea.environment import DeepSea
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.maps import parse_map
from action_balance.errors import UserError
from action_balance.runs import RunFolder, read_metrics

LEFT, RIGHT, UP, DOWN = range(4)
EPISODES = 100
# Cells 0 to 4 from left to right; the goal is three steps away.
ROW = GridEnvironment(parse_map("S..G.", episode_steps=6))
CONFIG = Config(
    steps=1000,
    envs=2,
    ppo=PPOConfig(rollout_steps=4, minibatches=1),
    bonus=BonusConfig(warmup_rollouts=1),
    net=NetConfig(hidden=4, layers=1, bonus_hidden=4, bonus_outputs=3),
)


def agent(*logits: float, environment: Environment = ROW, config: Config = CONFIG) -> TrainState:
    """An agent whose pi has the same logits everywhere; everything else about it is arbitrary."""
    shapes = jax.eval_shape(lambda: train.begin(environment, config, jax.random.key(0)))
    generator = np.random.default_rng(0)

    def fill(leaf: jax.ShapeDtypeStruct) -> jax.Array:
        return jnp.asarray(generator.uniform(0.1, 1, leaf.shape).astype(leaf.dtype))

    state = jax.tree.map(fill, replace(shapes, key=shapes.updates))
    weight = jnp.zeros_like(state.params.policy.policy_head.weight)
    return eqx.tree_at(bias_and_weight, state, (jnp.array(logits, jnp.float32), weight))


def bias_and_weight(state: TrainState) -> tuple[jax.Array, jax.Array]:
    return state.params.policy.policy_head.bias, state.params.policy.policy_head.weight


@cache
def program(config: Config, episodes: int) -> Callable[[TrainState, int, jax.Array], Evaluation]:
    """Episodes in the row."""
    return jax.jit(lambda state, mode, key: evaluate(ROW, state, config, mode, episodes, key))


def played(
    state: TrainState, mode: ActionMode, episodes: int = EPISODES, config: Config = CONFIG, seed: int = 0
) -> Evaluation:
    found = program(config, episodes)(state, ACTION_MODES.index(mode), jax.random.key(seed))
    return jax.tree.map(np.asarray, found)


def test_an_agent_that_always_goes_right_finds_the_goal_in_three_steps() -> None:
    found = played(agent(0, 50, 0, 0), "greedy")
    assert found.returns.tolist() == [1] * EPISODES
    assert found.lengths.tolist() == [3] * EPISODES
    assert found.terminated.all()
    assert found.visits.tolist() == [0, EPISODES, EPISODES, EPISODES, 0]
    assert found.first.running.tolist() == [True, True, True, False, False, False]
    assert found.first.state[:3].tolist() == [0, 1, 2]
    assert found.first.reward.tolist() == [0, 0, 1, 0, 0, 0]


def test_an_agent_that_runs_into_the_wall_meets_the_time_limit() -> None:
    found = played(agent(50, 0, 0, 0), "sampled")
    assert found.returns.tolist() == [0] * EPISODES
    assert found.lengths.tolist() == [6] * EPISODES
    assert not found.terminated.any()
    assert found.visits.tolist() == [6 * EPISODES, 0, 0, 0, 0]


def test_each_environment_plays_one_episode_and_no_more() -> None:
    # Up leads nowhere, right leads on: episodes end after three to six steps, some by the limit.
    found = played(agent(-50, 0, 0, -50), "sampled")
    assert set(np.unique(found.returns)) == {0, 1}
    assert (found.returns == found.terminated).all()
    assert set(found.lengths[found.terminated]) == {3, 4, 5, 6}
    assert (found.lengths[~found.terminated] == 6).all()
    assert found.visits.sum() == found.lengths.sum()
    # Three or more of six fair throws go right: 42 of 64, here within three standard errors.
    assert abs(found.terminated.mean() - 42 / 64) < 0.143


def test_greedy_takes_the_largest_logit_and_sampling_follows_all() -> None:
    state = agent(-50, 0.5, 0.0, -50)
    assert played(state, "greedy").lengths.tolist() == [3] * EPISODES
    sampled = played(state, "sampled")
    assert len(set(sampled.lengths)) > 1
    assert set(sampled.first.action) == {RIGHT, UP}


def test_the_first_episodes_do_not_depend_on_how_many_follow() -> None:
    state = agent(0, 0, 0, 0)
    many = played(state, "sampled")
    assert played(state, "sampled", episodes=10).lengths.tolist() == many.lengths[:10].tolist()
    assert played(state, "sampled", seed=1).lengths.tolist() != many.lengths.tolist()


def test_behaviour_takes_the_largest_bonus_as_long_as_its_coefficient_is_large() -> None:
    config = replace(CONFIG, bonus=replace(CONFIG.bonus, action_coef=1e5, action_coef_end=0.0))
    state = agent(0, 3, 0, 0)
    first = played(state, "behaviour", config=config).first
    assert (first.action == first.action_bonus.argmax(axis=-1)).all()
    assert (first.action != RIGHT).any()
    expected = first.logits + 1e5 * first.action_bonus / np.linalg.norm(first.action_bonus, axis=-1, keepdims=True)
    np.testing.assert_allclose(first.behaviour, expected, rtol=1e-4)
    assert (played(state, "greedy", config=config).first.action == RIGHT).all()
    at_the_end = replace(state, updates=jnp.asarray(config.updates, jnp.int32))
    last = played(at_the_end, "behaviour", config=config).first
    np.testing.assert_array_equal(last.behaviour, last.logits)


def test_an_evaluation_leaves_the_agent_as_it_was() -> None:
    state = agent(0, 0, 0, 0)
    before = [np.array(leaf) for leaf in jax.tree.leaves(state)]
    played(state, "behaviour")
    assert all(np.array_equal(one, other) for one, other in zip(before, jax.tree.leaves(state), strict=True))


def test_divers_end_where_the_meaning_of_their_action_leads() -> None:
    plain = replace(CONFIG, method="ppo")
    sea = DeepSea(4, jax.random.key(0))
    state = agent(0, 50, environment=sea, config=plain)

    def dive(right_is: jax.Array) -> Evaluation:
        made = eqx.tree_at(lambda sea: sea.right_is, sea, right_is)
        return evaluate(made, state, plain, jnp.asarray(ACTION_MODES.index("greedy")), 3, jax.random.key(0))

    # Action 1 goes right everywhere; nowhere; from the first column only.
    meanings = jnp.array([[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]])
    found = jax.tree.map(np.asarray, jax.jit(lambda: jax.lax.map(dive, meanings))())
    np.testing.assert_allclose(found.returns, np.repeat([[1 - 0.01], [0.0], [-0.005]], 3, axis=1), rtol=1e-6)
    assert (found.lengths == 4).all()
    assert found.terminated.all()
    # By row; the end counts for the cell where the next episode would begin.
    ways_down = [np.flatnonzero(visits).tolist() for visits in found.visits]
    assert ways_down == [[0, 5, 10, 15], [0, 4, 8, 12], [0, 5, 8, 13]]
    assert set(found.visits[found.visits > 0]) == {3}


def test_every_seed_meets_the_environment_that_it_was_trained_in() -> None:
    config = TrainConfig(env_config("deep-sea", size=12), seed=5, seeds=2)
    sea = config.environment(jax.random.key(6))
    assert isinstance(sea, DeepSea)
    trained_in = DeepSea(12, jax.random.fold_in(jax.random.key(6), 1))
    assert sea.right_is.tolist() == trained_in.right_is.tolist()


def test_reachable_states_are_those_of_some_episode() -> None:
    assert ROW.reachable().tolist() == [True, True, True, True, False]  # nothing goes on behind the goal
    assert GridEnvironment(parse_map("S...#.", episode_steps=2)).reachable().tolist() == [True] * 3 + [False] * 3
    sea = DeepSea(3, jax.random.key(0)).reachable().reshape(3, 3)
    assert sea.tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_the_ways_of_acting_are_those_that_a_method_has() -> None:
    assert action_modes(CONFIG) == ("greedy", "sampled", "behaviour")
    assert action_modes(replace(CONFIG, method="rnd")) == ("greedy", "sampled")
    assert action_modes(replace(CONFIG, method="random")) == ("sampled",)


# But for its length, the run of test_training.py: what is compiled there is not compiled again.
SMALL = (
    *("--size", "4", "--envs", "4", "--rollout-steps", "16", "--minibatches", "2", "--epochs", "2"),
    *("--warmup-rollouts", "2", "--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4"),
    *("--steps", "640", "--checkpoint-every", "4"),
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two seeds."""
    out = tmp_path_factory.mktemp("runs") / "sea"
    assert call("train", "deep-sea", "--out", str(out), "--seeds", "2", *SMALL) == 0
    return out


@pytest.fixture(scope="module")
def evaluated(trained: Path) -> Path:
    """Its evaluation."""
    assert call("evaluate", str(trained), "--episodes", "5") == 0
    return trained / "evaluation"


def rows_of(evaluated: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((evaluated / "episodes.csv").read_text())))


def summary_of(evaluated: Path) -> Any:
    return json.loads((evaluated / "evaluation.json").read_text())


def test_the_summary_agrees_with_the_episodes(evaluated: Path) -> None:
    rows, summary = rows_of(evaluated), summary_of(evaluated)
    assert [row["way"] for row in rows[::10]] == list(summary["ways"]) == ["greedy", "sampled", "behaviour"]
    assert [(row["seed"], row["episode"]) for row in rows[:10:3]] == [("0", "0"), ("0", "3"), ("1", "1"), ("1", "4")]
    assert summary["seeds"] == [0, 1]
    assert summary["intervals_over"] == "seeds"
    for mode, found in summary["ways"].items():
        returns = np.array([float(row["return"]) for row in rows if row["way"] == mode]).reshape(2, 5)
        of_seeds = returns.mean(axis=1)
        half = 12.7062 * np.abs(of_seeds[0] - of_seeds[1]) / 2  # Student's t with one degree of freedom
        assert found["return"]["mean"] == pytest.approx(returns.mean(), abs=1e-7)
        assert found["return"]["high"] == pytest.approx(returns.mean() + half, abs=1e-5)
        assert found["return"]["low"] == pytest.approx(returns.mean() - half, abs=1e-5)
        assert found["return"]["median"] == pytest.approx(np.median(returns), abs=1e-7)
        assert (found["return"]["min"], found["return"]["max"]) == pytest.approx((returns.min(), returns.max()))
        assert found["mean_length"] == 4
        assert found["ended_by_task"] == 1
    assert {row["ended"] for row in rows} == {"task"}


def test_coverage_in_training_is_that_of_the_metrics(trained: Path, evaluated: Path) -> None:
    coverage = summary_of(evaluated)["coverage"]
    assert coverage["reachable"] == 10
    assert coverage["reached"]["training"] == np.mean([row["states"] for row in read_metrics(trained)[-2:]])
    assert coverage["reached"]["greedy"] == 4  # every row once, by one way only


def test_the_film_has_a_frame_for_every_step_and_one_for_the_end(evaluated: Path) -> None:
    with Image.open(evaluated / "episode.gif") as film:
        frames, durations = getattr(film, "n_frames", 1), []
        for frame in range(frames):
            film.seek(frame)
            durations.append(film.info["duration"])
        assert film.size == (640, 248)
    assert durations == [120] * 4 + [2000]
    with Image.open(evaluated / "heatmap.png") as heatmap:
        assert heatmap.size[0] == 1200


def test_the_same_seed_gives_the_same_files_and_another_evaluation_replaces_them(
    trained: Path, evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run, ignore=shutil.ignore_patterns("evaluation"))
    assert call("evaluate", str(run), "--episodes", "5") == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("greedy", "sampled", "behaviour", "2 seeds", "states reached", "episode.gif"))
    files, others = (
        {path.name: path.read_bytes() for path in where.iterdir()} for where in (run / "evaluation", evaluated)
    )
    assert files.keys() == {"evaluation.json", "episodes.csv", "heatmap.png", "episode.gif"}
    assert files == others
    assert call("evaluate", str(run), "--episodes", "1", "--checkpoint", "8", "--seed", "1") == 0
    assert len(rows_of(run / "evaluation")) == 6
    assert summary_of(run / "evaluation")["checkpoint"] == {"update": 8, "steps": 8 * 64}
    RunFolder.create(run, {}, ["train"], overwrite=True).release()
    assert not (run / "evaluation").exists()


def test_a_random_agent_in_a_grid_world_is_evaluated(tmp_path: Path) -> None:
    run = tmp_path / "run"
    where = ("goal", "--view", "coordinates", "--episode-steps", "20", "--method", "random", "--seed", "7")
    assert call("train", *where, "--out", str(run), *SMALL) == 0
    assert call("evaluate", str(run), "--episodes", "30", "--checkpoint", "best") == 0
    summary, rows = summary_of(run / "evaluation"), rows_of(run / "evaluation")
    assert list(summary["ways"]) == ["sampled"]
    assert summary["intervals_over"] == "episodes"
    assert summary["seeds"] == [7]
    assert {row["seed"] for row in rows} == {"7"}
    assert summary["coverage"]["reachable"] == 16
    assert {(row["ended"], row["return"]) for row in rows} == {("task", "1"), ("time limit", "0")}
    assert all(row["length"] == "20" for row in rows if row["ended"] == "time limit")
    found, returns = summary["ways"]["sampled"], np.array([float(row["return"]) for row in rows])
    assert found["ended_by_task"] == pytest.approx(returns.mean())
    half = 2.04523 * returns.std(ddof=1) / np.sqrt(30)  # Student's t with 29 degrees of freedom
    assert found["return"]["high"] - found["return"]["low"] == pytest.approx(2 * half, rel=1e-4)
    with Image.open(run / "evaluation" / "episode.gif") as film:
        assert film.width == 640
        assert getattr(film, "n_frames", 1) == int(rows[0]["length"]) + 1


def without_checkpoints(run: Path) -> None:
    shutil.rmtree(run / "checkpoints")


def before_the_first_checkpoint(run: Path) -> None:
    without_checkpoints(run)
    (run / "checkpoints").mkdir()


def without_config(run: Path) -> None:
    (run / "config.json").unlink()


def untouched(run: Path) -> None:
    del run


BAD: dict[str, tuple[Callable[[Path], None], tuple[str, ...], str]] = {
    "no run": (without_config, (), "is not a run"),
    "no checkpoint yet": (
        before_the_first_checkpoint,
        (),
        "has no checkpoint yet: the first is written after update 4",
    ),
    "a copy": (without_checkpoints, (), "is a copy without checkpoints/ and cannot play: copy the whole run"),
    "an unknown checkpoint": (untouched, ("--checkpoint", "9"), "has no checkpoint 9: choose from latest, best, "),
    "a checkpoint that is no number": (untouched, ("--checkpoint", "newest"), "choose from latest, best, "),
    "no episodes": (untouched, ("--episodes", "0"), "must be 1 or more"),
    "too many episodes": (untouched, ("--episodes", "100000000"), "ask for at most --episodes"),
    "a negative seed": (untouched, ("--seed", "-1"), "must be 0 or more"),
}


@pytest.mark.parametrize(("spoil", "arguments", "hint"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_evaluated_is_told_in_one_line(
    spoil: Callable[[Path], None],
    arguments: tuple[str, ...],
    hint: str,
    trained: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run, ignore=shutil.ignore_patterns("evaluation"))
    spoil(run)
    assert call("evaluate", str(run), *arguments) == 2
    error = capsys.readouterr().err
    assert hint in error
    assert error.count("\n") == 1
    assert not (run / "evaluation" / "evaluation.json").exists()


def test_the_most_episodes_fit_and_one_more_does_not(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sea = DeepSea(4, jax.random.key(0))
    most = most_episodes(sea)
    assert most * (4 * 14 + 4 * 16) <= 100_000_000 < (most + 1) * (4 * 14 + 4 * 16)
    assert call("evaluate", str(trained), "--episodes", str(most + 1)) == 2
    assert f"--episodes {most}" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", {}, ["train"])
    (tmp_path / "run" / "evaluation").write_text("in the way")
    with pytest.raises(UserError, match="cannot write"):
        folder.save_evaluation({}, {"episodes.csv": b""})
    folder.release()
