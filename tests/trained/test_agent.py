"""Agents in the hands of a program: the actions of an evaluation, and what else an agent can tell."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gym_cases
import gymnasium
import jax
import minigrid  # noqa: F401  # registers its environments
import numpy as np
import pytest
import untrained_run

import action_balance as ab
from action_balance.config.train import TrainConfig
from action_balance.engines.evaluate import ACTION_MODES, ActionMode, Recording
from action_balance.engines.factory import evaluate_run, make_trainer
from action_balance.engines.host import evaluate as on_host
from action_balance.envs.atari.emulator import Atari
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.trained.programs import choose

SEED = 5  # of the episodes
DOOR = "MiniGrid-DoorKey-5x5-v0"
CELLS = np.eye(16, dtype=np.float32)


@pytest.fixture(scope="module")
def sea(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents in a deep sea of size 4."""
    return untrained_run.make(tmp_path_factory.mktemp("runs") / "sea", "deep-sea", seed=3, seeds=2, size=4)


@pytest.fixture(scope="module")
def agent(sea: Path) -> ab.Agent:
    return ab.load(sea)


def evaluated(run: Path, episodes: int) -> dict[ActionMode, Any]:
    """What an evaluation finds."""
    folder = RunFolder.open(run)
    config = TrainConfig.from_dict(folder.config)
    states = folder.checkpoints().restore(make_trainer(config).state_shapes()).state
    return evaluate_run(config, states, episodes, SEED, record=True)


def key_of(mode: ActionMode, seed: int) -> jax.Array:
    """The key of an agent's episodes in one mode."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(SEED), seed), ACTION_MODES.index(mode))


def test_in_a_deep_sea_it_takes_the_actions_of_the_evaluation(sea: Path, agent: ab.Agent) -> None:
    for mode, one in evaluated(sea, 1).items():
        _, steps = jax.random.split(jax.random.fold_in(key_of(mode, 3), 0))
        keys = jax.vmap(jax.random.split)(jax.random.split(steps, 4))[:, 0]
        cells = CELLS[one.trace.state]
        np.testing.assert_array_equal(agent.act(cells, mode, key=keys), one.trace.decision.action)
        assert agent.act(cells[2], mode, key=keys[2]) == one.trace.decision.action[2]


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "door"
    return untrained_run.make(path, f"gym:{DOOR}", untrained_run.VECTORS, env_kwargs={"max_steps": 30})


def test_in_a_gymnasium_environment_it_takes_the_actions_of_the_evaluation(door: Path) -> None:
    agent = ab.load(door)
    for mode, one in evaluated(door, 2).items():
        key = jax.random.fold_in(key_of(mode, 0), 0)
        for recording in one.recordings[0]:
            with gymnasium.make(DOOR, max_steps=30) as env:
                actions = played(agent, env, recording, mode, jax.random.fold_in(key, recording.number))
            np.testing.assert_array_equal(actions, recording.actions)


def played(agent: ab.Agent, env: Any, recording: Recording, mode: ActionMode, key: jax.Array) -> list[int]:
    """An episode of an agent, as a program of anybody plays it."""
    seeds = np.random.SeedSequence(recording.seed).generate_state(2) % 2**31
    obs, _ = env.reset(seed=int(seeds[recording.number]))
    actions = []
    for time in range(len(recording.actions)):
        actions.append(agent.act(obs, mode, key=jax.random.fold_in(key, time)))
        obs = env.step(actions[-1])[0]
    return actions


def test_with_continuous_actions_it_takes_those_of_the_evaluation(tmp_path: Path) -> None:
    run = untrained_run.make(tmp_path / "run", "gym:Pendulum-v1", env_kwargs={"max_episode_steps": 5})
    for mode, one in evaluated(run, 1).items():
        (recording,) = one.recordings[0]
        key = jax.random.fold_in(jax.random.fold_in(key_of(mode, 0), 0), recording.number)
        with gymnasium.make("Pendulum-v1") as env:
            actions = played(ab.load(run), env, recording, mode, key)
        np.testing.assert_allclose(actions, recording.actions, rtol=1e-4, atol=1e-5)


def test_in_an_atari_game_it_takes_the_actions_of_the_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_host, "MAX_STEPS", 6)
    plain = replace(untrained_run.IMAGES, method="ppo")  # one program for all modes
    run = untrained_run.make(tmp_path / "run", "atari:montezuma_revenge", plain)
    agent = ab.load(run)
    assert agent.spec.shape == (4, 84, 84)
    for mode, one in evaluated(run, 2).items():
        game = Atari("montezuma_revenge", 2, seed=one.recordings[0][0].seed, threads=1)
        frames, numbers, key = game.reset()[0], np.arange(2), key_of(mode, 0)
        agent.reset()
        for time in range(6):
            keys = jax.vmap(lambda n, t=time, k=key: jax.random.fold_in(jax.random.fold_in(k, n), t))(numbers)
            actions = agent.act(agent.stack(frames), mode, key=keys)
            np.testing.assert_array_equal(actions, [episode.actions[time] for episode in one.recordings[0]])
            game.send(0, actions)
            frames = game.receive(0).frame
        game.close()


def test_one_observation_is_as_it_is_in_a_batch_of_any_shape(agent: ab.Agent) -> None:
    expected = agent.values(CELLS[:6])
    for row in range(6):
        assert agent.values(CELLS[row]).extrinsic == pytest.approx(expected.extrinsic[row], rel=1e-5)
    grid = agent.values(CELLS[:6].reshape(2, 3, 16))
    np.testing.assert_allclose(grid.intrinsic, expected.intrinsic.reshape(2, 3), rtol=1e-5)
    assert agent.act(CELLS[:6].reshape(2, 3, 16)).shape == (2, 3)


def test_it_is_compiled_once_for_all_batches_up_to_a_power_of_two(agent: ab.Agent) -> None:
    compiled: Any = choose
    agent.act(CELLS[:8])
    before = compiled._cache_size()
    for size in (5, 6, 7, 8):
        agent.act(CELLS[:size])
        agent.act(CELLS[:size], "greedy")
    assert compiled._cache_size() == before


def test_its_own_random_numbers_begin_again_after_a_reset(agent: ab.Agent) -> None:
    agent.reset(seed=1)
    first = [agent.act(CELLS).tolist() for _ in range(3)]
    agent.reset(seed=1)
    assert [agent.act(CELLS).tolist() for _ in range(3)] == first
    assert first[0] != first[1]  # 16 coins
    agent.reset(seed=2)
    assert agent.act(CELLS).tolist() != first[0]


def test_samples_have_the_probabilities_that_it_tells(agent: ab.Agent) -> None:
    for mode in ("sampled", "behaviour"):
        expected = agent.probabilities(CELLS[0], mode)
        assert expected.sum() == pytest.approx(1)
        actions = agent.act(np.repeat(CELLS[:1], 4096, axis=0), mode, key=0)
        assert actions.mean() == pytest.approx(expected[1], abs=4 * 0.5 / 64)


def test_beta_differs_from_pi_by_the_normalised_bonus(agent: ab.Agent) -> None:
    pi, beta = (np.log(agent.probabilities(CELLS[0], mode)) for mode in ("sampled", "behaviour"))
    bonus = agent.bonuses(CELLS[0]).action
    assert bonus is not None
    added = bonus / np.sqrt((bonus**2).sum())  # c = 1
    np.testing.assert_allclose((beta - pi)[1] - (beta - pi)[0], added[1] - added[0], rtol=1e-4)


def test_forbidden_actions_are_not_taken(agent: ab.Agent) -> None:
    mask = np.tile([[True, False], [False, True]], (8, 1))
    for mode in ("sampled", "greedy", "behaviour"):
        np.testing.assert_array_equal(agent.act(CELLS, mode, mask), np.tile([0, 1], 8))
    assert agent.probabilities(CELLS[0], mask=[0, 1]).tolist() == [0, 1]
    with pytest.raises(UserError, match="allows no action"):
        agent.act(CELLS[0], mask=[0, 0])


def test_an_agent_that_was_trained_with_masks_does_not_act_without_one(agent: ab.Agent) -> None:
    masked = ab.Agent(replace(agent._saved, spec=replace(agent.spec, masked=True)))
    for method in (masked.act, masked.probabilities):
        with pytest.raises(UserError, match=r'pass mask=info\["action_mask"\], or ones to allow all actions'):
            method(CELLS[0])
    assert masked.act(CELLS[0], mask=[0, 1]) == 1


def test_an_agent_with_memory_remembers_what_it_has_acted_on_since_the_episode_began(tmp_path: Path) -> None:
    recurrent = replace(untrained_run.VECTORS, network=replace(untrained_run.SMALL, memory="gru", memory_units=4))
    agent = ab.load(untrained_run.make(tmp_path / "run", "deep-sea", recurrent, size=4))
    fresh = agent.values(CELLS[5]).extrinsic
    agent.act(CELLS[0])
    later = agent.values(CELLS[5]).extrinsic
    assert abs(later - fresh) > 1e-5
    assert agent.values(CELLS[5]).extrinsic == later  # only acting changes the memory
    assert agent.values(CELLS[5], began=True).extrinsic == fresh
    np.testing.assert_array_equal(agent.bonuses(CELLS[:3]).action, ab.load(tmp_path / "run").bonuses(CELLS[:3]).action)
    agent.save(tmp_path / "mine.agent")
    other = ab.load(tmp_path / "mine.agent")
    other.act(CELLS[[0, 7, 0]])
    found = other.values(CELLS[[5, 5, 5]], began=[False, True, False]).extrinsic
    np.testing.assert_allclose(found, [later, fresh, later], rtol=1e-5)
    with pytest.raises(UserError, match="episodes of 3 environments, but 2 observations"):
        other.act(CELLS[:2])
    assert other.act(CELLS[:2], began=True).shape == (2,)
    other.reset()
    np.testing.assert_allclose(other.values(CELLS[5]).extrinsic, fresh, rtol=1e-5)


def test_a_counting_bonus_knows_the_state(tmp_path: Path) -> None:
    """Nothing was counted: 1 / sqrt(1 + 0) everywhere."""
    counting = replace(untrained_run.VECTORS, intrinsic="count", action_bonus="count")
    agent = ab.load(untrained_run.make(tmp_path / "run", "deep-sea", counting, size=4))
    found = agent.bonuses(CELLS)
    np.testing.assert_array_equal(found.intrinsic, np.ones(16))
    np.testing.assert_array_equal(found.action, np.ones((16, 2)))


SWINGS = np.ones((4, 3), np.float32) * np.arange(4)[:, None]


@pytest.fixture(scope="module", params=[False, True])
def pendulum(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> ab.Agent:
    """An agent that clips its torques to -2..2, and one that squashes them."""
    squashing = replace(untrained_run.VECTORS, network=replace(untrained_run.SMALL, squash_actions=request.param))
    path = tmp_path_factory.mktemp("runs") / "pendulum"
    return ab.load(untrained_run.make(path, "gymnax:Pendulum-v1", squashing))


def test_normal_tells_the_distribution_of_continuous_actions(pendulum: ab.Agent) -> None:
    mean, std = pendulum.normal(SWINGS)
    np.testing.assert_array_equal(std, np.full((4, 1), 2.0))  # 1, in units of half the distance between the bounds
    squashed = pendulum.config.agent.network.squash_actions
    greedy = 2 * np.tanh(mean / 2) if squashed else mean.clip(-2, 2)
    np.testing.assert_allclose(pendulum.act(SWINGS, "greedy"), greedy, rtol=1e-5)
    samples = pendulum.act(np.repeat(SWINGS[:1], 4096, axis=0), key=0)
    within = np.arctanh(samples / 2) * 2 if squashed else samples
    assert (within < mean[0] + 1).mean() == pytest.approx(0.6915, abs=4 * 0.5 / 64)  # half a standard deviation
    with pytest.raises(UserError, match="call normal"):
        pendulum.probabilities(SWINGS)


def test_the_bonus_of_a_continuous_action_is_that_of_what_is_executed(pendulum: ab.Agent) -> None:
    def bonus(actions: Any) -> np.ndarray:
        found = pendulum.bonuses(SWINGS, actions).action
        assert found is not None
        return found

    most, least = bonus(None), bonus(np.full((4, 1), -2.0))
    np.testing.assert_allclose(bonus(pendulum.act(SWINGS, "greedy")), most, rtol=1e-5)
    np.testing.assert_array_equal(bonus(np.full((4, 1), -9.0)), least)
    assert not np.allclose(least, most)
    assert pendulum.bonuses(SWINGS[3], [-2.0]).action == pytest.approx(least[3], rel=1e-5)
    with pytest.raises(UserError, match="pass one action for each"):
        pendulum.bonuses(SWINGS, [[1.0]])


def test_continuous_actions_have_the_structure_of_the_space(tmp_path: Path) -> None:
    agent = ab.load(untrained_run.make(tmp_path / "run", "gym:gym_cases:Crane"), trust=True)
    cranes = np.eye(4, dtype=np.float32)
    for mode in ("greedy", "sampled", "behaviour"):
        (reach, grip), winch = (agent.act(cranes, mode)[name] for name in ("arm", "winch"))
        assert (reach.shape, grip.shape, winch.shape) == ((4, 2), (4,), (4, 1))
        assert gym_cases.Crane().action_space.contains(agent.act(cranes[0], mode))
    # From -1 to 1, with one bound, and from 0 to 4.
    np.testing.assert_array_equal(agent.normal(cranes[0]).std, [1, 1, 2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda agent: agent.act(np.zeros(5)), r"one observation has shape \(16,\)"),
        (lambda agent: agent.act("left"), "must be an array of numbers"),
        (lambda agent: agent.act(CELLS[0], "best"), "unknown mode"),
        (lambda agent: agent.act(CELLS[:3], key=jax.random.split(jax.random.key(0), 2)), "one key for each"),
        (lambda agent: agent.act(CELLS[0], key=0.5), "must be a whole number"),
        (lambda agent: agent.act(CELLS[:2], mask=[[1, 1]]), "mask"),
        (lambda agent: agent.normal(CELLS[0]), "call probabilities"),
        (lambda agent: agent.bonuses(CELLS[0], 1), "leave out actions"),
    ],
)
def test_a_mistake_is_one_clear_line(agent: ab.Agent, call: Callable[[ab.Agent], Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        call(agent)


def test_raw_observations_of_vector_environments_and_lists_of_them_are_batches(door: Path) -> None:
    agent, each = ab.load(door), []
    for seed in range(3):
        with gymnasium.make(DOOR) as env:
            each.append(env.reset(seed=seed)[0])
    together = {key: np.stack([one[key] for one in each]) for key in ("image", "direction")}
    expected = [agent.values(one).extrinsic for one in each]
    np.testing.assert_allclose(agent.values(each).extrinsic, expected, rtol=1e-5)
    np.testing.assert_allclose(agent.values(together).extrinsic, expected, rtol=1e-5)
