"""Training in Gymnasium environments that others wrote, and what follows from it: resume, evaluate, compare, Python."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from action_balance.engines.host.evaluate_gym import evaluate_gym
from command import call

import action_balance
from action_balance.agent import update
from action_balance.agent.networks import networks
from action_balance.agent.rollout import policy_view
from action_balance.agent.update import Pairs
from action_balance.bonuses.distillation import Distillation
from action_balance.config.agent import BonusConfig, Config, HostConfig, ImageConfig, NetConfig, PPOConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.engines.host import trainer as host
from action_balance.engines.host.compiled_update import CompiledUpdate
from action_balance.engines.loop import BEGIN_ANEW, trainer
from action_balance.envs.gymnasium.config import GymnasiumConfig
from action_balance.envs.gymnasium.vector import GymEnvironment
from action_balance.envs.host_base import HostStep
from action_balance.errors import UserError
from action_balance.nets.image import ImageActorCritic
from action_balance.runs import RunFolder, read_metrics
from action_balance.studies.compare.analysis import compare

TINY = Config(net=NetConfig(hidden=4, bonus_hidden=4, bonus_outputs=2))
CASES = Path(__file__).parents[2] / "helpers"
SMALL = (
    *("--envs", "4", "--rollout-steps", "8", "--minibatches", "1", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--steps", "64", "--checkpoint-every", "1"),
)
VECTORS = ("--hidden", "8", "--layers", "1", "--bonus-hidden", "8", "--bonus-outputs", "4", "--predictor-layers", "0")
IMAGES = ("--channels", "1", "--features", "4", "--trunk", "4")
#: With everything that a run usually has: two groups and minibatches, and all layers.
WHOLE = ("--groups", "2", "--minibatches", "2", "--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4")


@pytest.fixture(scope="module", autouse=True)
def programs() -> Iterator[None]:
    """Programs are kept, however many there are; the environments of `gym_cases`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "_programs", cache(CompiledUpdate))
        patch.setattr(sys, "path", [str(CASES), *sys.path])
        yield


def newest(name: str) -> str:
    """The newest version of an environment."""
    import minigrid  # its environments are known from here on

    assert minigrid.__version__
    return max((one for one in gymnasium.registry if one.startswith(f"{name}-v")), key=lambda one: int(one[-1]))


def check_rows(out: Path, bonuses: bool = True) -> list[dict[str, Any]]:
    """Two updates that taught something."""
    rows = read_metrics(out)
    assert [(row["update"], row["steps"]) for row in rows] == [(1, 32), (2, 64)]
    for row in rows:
        assert row["parameters_finite"]
        assert row["first_ratio"] < 1e-5
        assert (min(row["loss_action"], row["bonus_mean"], row["action_bonus_mean"]) > 0) == bonuses
    return rows


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("CartPole", "vectors of 4 numbers: observation 0-3"),
        ("Acrobot", "vectors of 6 numbers: observation 0-5"),
        ("MountainCar", "vectors of 2 numbers: observation 0-1"),
        ("Taxi", "vectors of 500 numbers: observation 0-499"),
        ("FrozenLake", "vectors of 16 numbers: observation 0-15"),
        # Which share their programs.
        ("MiniGrid-DoorKey-8x8", "vectors of 151 numbers: direction 0-3, image 4-150; left out: mission (text)"),
        ("MiniGrid-MultiRoom-N6", "vectors of 151 numbers: direction 0-3, image 4-150; left out: mission (text)"),
        ("MiniGrid-KeyCorridorS3R2", "vectors of 151 numbers: direction 0-3, image 4-150; left out: mission (text)"),
    ],
)
def test_environments_of_others_are_trained_in(
    name: str, seen: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Without bonuses, where one more program would tell nothing new: it compiles sooner.
    method = "action-balance-rnd" if name.startswith("MiniGrid") else "ppo"
    given = ("train", f"gym:{newest(name)}", "--method", method, "--out", str(tmp_path / "run"))
    assert call(*given, *SMALL, *VECTORS) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"observations: {seen}"
    check_rows(tmp_path / "run", bonuses=method != "ppo")
    (start,) = json.loads((tmp_path / "run" / "manifest.json").read_text())["starts"]
    assert start["warnings"] == [f"observations: {seen}"]


def test_a_game_of_gymnasium_is_trained_in_with_a_wrapper_and_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--env-kwargs", "obs_type=rgb", "frameskip=2", "--wrapper", "gym_cases:few_pixels")
    given = ("train", "gym:ALE/Pitfall-v5", "--out", str(tmp_path / "run"), "--stack", "2")
    assert call(*given, "--method", "ppo", *SMALL, *IMAGES, *options) == 0
    assert capsys.readouterr().out.splitlines()[0] == "observations: images of 53 x 54 pixels with 3 channels"
    check_rows(tmp_path / "run", bonuses=False)
    config = TrainConfig.from_dict(RunFolder.open(tmp_path / "run").config)
    assert isinstance(config.env, GymnasiumConfig)
    assert config.env.env_kwargs == '{"frameskip": 2, "obs_type": "rgb"}'
    assert config.env.wrapper == ("gym_cases:few_pixels",)
    assert config.env.stack == 2


@pytest.fixture(scope="module")
def dials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with actions of two components, of a function in a module."""
    out = tmp_path_factory.mktemp("dials") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(CASES), *sys.path])
        assert call("train", "gym:gym_cases:Dials", "--env-kwargs", "size=3", "--out", str(out), *SMALL, *WHOLE) == 0
    return out


def test_frequencies_of_components_sum_to_one_each(dials: Path) -> None:
    for row in check_rows(dials):
        shares = row["action_frequency"]
        assert len(shares) == 6
        assert sum(shares[:3]) == pytest.approx(1)
        assert sum(shares[3:]) == pytest.approx(1)
        assert 0 < row["entropy_beta"] < np.log(3) + np.log(3) + 1e-5


def test_a_run_is_resumed(dials: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    shutil.copytree(dials, out)
    manifest = json.loads((out / "manifest.json").read_text())
    seen = manifest.pop("seen")  # as older runs, which have not kept it
    (out / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    shutil.rmtree(out / "checkpoints" / "00000002")
    assert call("resume", str(out)) == 0
    assert BEGIN_ANEW in capsys.readouterr().out.splitlines()
    check_rows(out)
    assert json.loads((out / "manifest.json").read_text())["seen"] == seen


def test_an_environment_that_has_changed_since_is_one_line(
    dials: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import gym_cases

    out, larger = tmp_path / "run", partial(gym_cases.Dials, 4)
    shutil.copytree(dials, out)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["seen"] == {
        "shape": [9],
        "dtype": "float32",
        "parts": [["clock.0", 1], ["clock.1", 2], ["dials", 6]],
        "actions": [3, 3],
    }
    (out / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    monkeypatch.setattr(gym_cases, "Dials", lambda **_: larger())
    for command in ("resume", "evaluate"):
        assert call(command, str(out)) == 2
        assert capsys.readouterr().err == (
            "action-balance: gym:gym_cases:Dials has changed: the run was trained with observations (9,) float32 and "
            "actions of (3, 3) choices, and the environment now has observations (10,) float32 and actions of (4, 3) "
            "choices; put it back as it was, or train anew in another --out\n"
        )
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    # An older run, which has not kept it.
    del manifest["seen"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert call("evaluate", str(out)) == 2
    assert capsys.readouterr().err.endswith("; it was made with another config, environment or version\n")


def test_a_run_is_evaluated(dials: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("evaluate", str(dials), "--episodes", "3") == 0
    assert "mean return" in capsys.readouterr().out
    found = json.loads((dials / "evaluation" / "evaluation.json").read_text())
    assert set(found["ways"]) == {"greedy", "sampled", "behaviour"}
    for numbers in found["ways"].values():
        assert numbers["mean_length"] == 10
        assert numbers["ended_by_task"] == 0
        assert 0 <= numbers["return"]["min"] <= numbers["return"]["max"] <= 10
    rows = (dials / "evaluation" / "episodes.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 3
    assert rows[1].startswith("greedy,0,0,")
    assert rows[1].endswith(",10,time limit")


def test_episodes_that_are_cut_begin_anew_and_those_without_an_end_are_told_of(
    dials: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TrainConfig.from_dict(RunFolder.open(dials).config)
    states = RunFolder.open(dials).checkpoints().restore(trainer(config).shapes()).state
    received, receive, said = [0], GymEnvironment.receive, list[str]()

    def cut_once(self: GymEnvironment, group: int) -> HostStep:
        received[0] += 1
        return self._lost(group) if received[0] == 5 else receive(self, group)

    monkeypatch.setattr(GymEnvironment, "receive", cut_once)
    # 5 episodes in 4 environments: those of the first way begin anew after 4 steps, all have 10 in the end.
    found = evaluate_gym(config, states, 5, 0, say=said.append)
    assert [one.lengths.tolist() for one in found.values()] == [[[10] * 5]] * 3
    assert received[0] == 3 * 20 + 5
    assert len(said) == 1
    assert "a worker has died or not answered; 4 environments begin anew" in said[0]
    said.clear()
    evaluate_gym(config, states, 4, 0, say=said.append, most_steps=7)
    assert said[0] == (
        "4 of 4 episodes (greedy, seed 0) had not ended after 7 steps and were left: their returns are those until then"
    )


def test_an_interrupted_evaluation_ends_after_a_step_and_says_one_line(
    dials: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    received, receive = [0], GymEnvironment.receive

    def interrupt(self: GymEnvironment, group: int) -> HostStep:
        os.kill(os.getpid(), signal.SIGINT)
        received[0] += 1
        return receive(self, group)

    before = {path.name: path.stat().st_mtime_ns for path in dials.rglob("evaluation/*")}
    monkeypatch.setattr(GymEnvironment, "receive", interrupt)
    assert call("evaluate", str(dials), "--episodes", "4") == 130
    assert received == [1]
    assert capsys.readouterr().err == "action-balance: interrupted; nothing was finished\n"
    assert {path.name: path.stat().st_mtime_ns for path in dials.rglob("evaluation/*")} == before


@pytest.mark.parametrize("lag", ["0", "1"])
def test_updates_before_an_environment_fails_are_kept(
    lag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, mark = tmp_path / "run", tmp_path / "mended"
    fails = ("train", "gym:gym_cases:Counter", "--env-kwargs", "fault=raises", f"mark={mark}", "--out", str(out))
    usual = (*fails, "--method", "ppo", *SMALL, *VECTORS, "--checkpoint-every", "50", "--lag", lag)
    # In the fifteenth step, of the statistics: nothing was learned, and the folder is free.
    assert call(*usual, "--warmup-rollouts", "2") == 2
    assert capsys.readouterr().err.endswith("); no update was finished, so nothing is kept\n")
    assert not out.exists()
    # In the second update; the threads of groups are none that it bears, and it has none.
    assert call(*usual, "--warmup-rollouts", "0") == 2
    told = f"); update 1 of 2 is kept; go on with: action-balance resume {out}\n"
    assert capsys.readouterr().err.endswith(told)
    assert [row["update"] for row in read_metrics(out)] == RunFolder.open(out).checkpoints().updates() == [1]
    assert RunFolder.open(out).config["agent"]["host"]["groups"] == 1
    mark.touch()
    assert call("resume", str(out)) == 0
    check_rows(out, bonuses=False)


def test_groups_are_usual_where_environments_step_aside() -> None:
    agent = Config(envs=16, host=HostConfig(lag=0))
    assert TrainConfig(env_config("gym:A-v0"), agent).with_defaults().agent.groups == 1
    assert TrainConfig(env_config("gym:A-v0", vectorize="async"), agent).with_defaults().agent.groups == 2
    assert TrainConfig(env_config("atari:pitfall"), agent).with_defaults().agent.groups == 2
    asked = TrainConfig(env_config("gym:A-v0"), replace(agent, host=HostConfig(groups=4))).with_defaults()
    assert asked.agent.groups == 4


def test_runs_are_compared_whoever_stepped_them(dials: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(dials, other)
    config = json.loads((other / "config.json").read_text())
    config["config"]["seed"], config["config"]["env"]["vectorize"] = 1, "async"
    (other / "config.json").write_text(json.dumps(config))
    lines = (other / "metrics.jsonl").read_text().replace('"seed": 0', '"seed": 1')
    (other / "metrics.jsonl").write_text(lines)
    assert call("compare", str(dials), str(other), "--metric", "entropy_beta", "--out", str(tmp_path / "both")) == 0
    table = (tmp_path / "both" / "comparison.csv").read_text().splitlines()
    assert len(table) == 2
    assert table[1].startswith("gym_cases:Dials,action-balance-rnd,entropy_beta,2,")
    # Numbers of another environment are not put together with them.
    config["config"]["env"]["name"] = "gym:Other-v0"
    (other / "config.json").write_text(json.dumps(config))
    found = compare([dials, other], "entropy_beta")
    assert list(found.environments) == ["Other-v0", "gym_cases:Dials"]
    assert found.together == {}
    assert "different scales" in found.notes[0]


def test_a_function_is_trained_with_from_python(tmp_path: Path) -> None:
    import gym_cases

    agent = Config(
        steps=64,
        envs=4,
        ppo=PPOConfig(rollout_steps=8, epochs=1, minibatches=2),
        bonus=BonusConfig(warmup_rollouts=1),
        net=NetConfig(hidden=8, bonus_hidden=8, bonus_outputs=4),
        host=HostConfig(groups=2),  # as above, for the same programs
    )
    said: list[str] = []
    told: list[Any] = []
    out = action_balance.train(
        lambda: gym_cases.Dials(3), tmp_path / "run", agent, say=said.append, tell=told.append, reward_scale=0.5
    )
    assert [one.update for one in told] == [1, 2]
    check_rows(out)
    assert said[0].startswith("observations: vectors of 9 numbers: clock.0 0, clock.1 1-2, dials 3-8")
    with pytest.raises(UserError, match="is a function of a script"):
        action_balance.resume(out)
    assert action_balance.resume(out, lambda: gym_cases.Dials(3), say=said.append) == out


def test_settings_of_networks_that_are_not_there_are_refused() -> None:
    with pytest.raises(UserError, match="has no images: leave out --channels"):
        trainer(TrainConfig(env_config("gym:CartPole-v1"), Config(image=ImageConfig(channels=3))))
    with pytest.raises(UserError, match="an action channel needs images"):
        trainer(TrainConfig(env_config("gym:CartPole-v1"), Config(method="action-balance-rnd-channel")))
    with pytest.raises(UserError, match="cannot be counted"):
        TrainConfig(env_config("gym:CartPole-v1"), Config(method="count"))
    with pytest.raises(UserError, match="leave out --threads"):
        TrainConfig(env_config("gym:CartPole-v1"), Config(host=HostConfig(threads=2)))


@pytest.fixture(scope="module")
def fresh() -> Any:
    """Networks for stacks of two vectors of three numbers, and actions of two components."""
    return jax.jit(lambda keys: networks((2, 3), (2, 3), TINY, keys, normalizes_obs=True))(
        list(jax.random.split(jax.random.key(0), 3))
    )


def test_the_policy_sees_vectors_whitened_by_who_acted(fresh: Any) -> None:
    params, _ = fresh
    moments = RunningMeanStd(
        jnp.float32(4.0), jnp.array([1.0, 0.0, 100.0]), jnp.array([16.0, 4.0, 4.0])
    )  # deviations 2, 1, 1
    stack = jnp.array([[3.0, 0.5, 100.0], [1.0, -9.0, 101.0]])
    seen = policy_view(stack, params.policy, moments, TINY)
    np.testing.assert_allclose(seen, [[1.0, 0.5, 0.0], [0.0, -5.0, 1.0]], atol=1e-6)
    with pytest.raises(ValueError, match="the statistics are needed"):
        policy_view(stack, params.policy, None, TINY)
    # The bonus networks see the newest of the stack only, and every choice of the components is an action to them.
    assert params.next_state.joined[0].weight.shape == (4, 3)
    assert params.action.joined[0].action_weight.shape == (5, 4)
    assert params.policy.trunk[0].weight.shape == (4, 6)
    assert params.policy.parts == (2, 3)


def test_the_loss_of_an_action_is_the_sum_over_its_components(fresh: Any) -> None:
    params, targets = fresh
    moments = RunningMeanStd(jnp.float32(1.0), jnp.zeros(3), jnp.ones(3))
    seen = jnp.array([0.5, -1.0, 2.0])
    pairs = Pairs(seen[None], jnp.array([[1, 2]]), seen[None])
    module = Distillation(targets.action, params.action)
    errors = np.asarray(jax.jit(lambda: module.all_errors(moments.normalize(seen)))())
    taken = jax.jit(lambda: update.action_errors(params, targets, moments, pairs, TINY))()
    np.testing.assert_allclose(taken, [errors[1] + errors[4]], rtol=1e-5)
    everything = replace(TINY, bonus=BonusConfig(learns_from="all"))
    found = jax.jit(lambda: update.action_errors(params, targets, moments, pairs, everything))()
    np.testing.assert_allclose(found, [errors[:2].mean() + errors[2:].mean()], rtol=1e-5)


def test_colours_of_a_stack_are_channels() -> None:
    colours = np.random.default_rng(0).integers(255, size=(2, 44, 44, 3), dtype=np.uint8)
    channels = np.stack([colours[frame, :, :, colour] for colour in range(3) for frame in range(2)])

    def both(colours: jax.Array, channels: jax.Array) -> list[jax.Array]:
        """The same network, with two frames of three colours and with six grey ones."""
        made = [ImageActorCritic(x.shape, 2, (8, 8), 3, key=jax.random.key(0)) for x in (colours, channels)]
        return [policy(x)[1] for policy, x in zip(made, (colours, channels), strict=True)]

    seen, same = jax.jit(both)(colours, channels)
    np.testing.assert_array_equal(seen, same)
    assert np.abs(seen).max() > 0
