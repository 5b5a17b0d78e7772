"""Gymnasium environments behind the contract of the host, and what is said of wrong ones."""

import multiprocessing
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import gym_cases
import gymnasium
import numpy as np
import pytest
from action_balance.envs.registry import EnvConfig, host_env_spec, parse_kwargs
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from action_balance.envs.gymnasium import vector as gym_vector
from action_balance.envs.gymnasium.make import Task, examine, examine_own, find
from action_balance.envs.gymnasium.single import Silent
from action_balance.envs.gymnasium.vector import GymEnvironment
from action_balance.envs.gymnasium.workers import Workers
from action_balance.envs.host_base import EnvironmentFailed
from action_balance.errors import UserError


def counter(**options: Any) -> Task:
    return examine("gym:counter", partial(gym_cases.Counter, **options))


def step(environment: GymEnvironment, group: int, *actions: int) -> Any:
    environment.send(group, np.array(actions, np.int32))
    return environment.receive(group)


def kill(environment: GymEnvironment, place: int) -> None:
    """A worker ends as if the system had run out of memory."""
    vector: Any = environment._vectors[0]
    vector.processes[place].kill()
    vector.processes[place].join()


def twenty_steps(environment: GymEnvironment, *actions: int) -> None:
    for _ in range(20):
        step(environment, 0, *actions)


def check_episodes(found: list[Any], seeds: np.ndarray) -> None:
    """That every step of a group says what it reached, and what follows."""
    for place, seed in enumerate(seeds):
        odd, length = seed % 2 == 1, 3 if seed % 2 else 2
        for number, one in enumerate(found, 1):
            ends = number % length == 0
            assert one.terminated[place] == (ends and odd)
            assert one.truncated[place] == (ends and not odd)
            episode, inside = divmod(number - 1, length)
            assert one.next_obs[place].tolist() == [seed, episode, inside + 1]
            assert one.frame[place].tolist() == ([seed, episode + 1, 0] if ends else [seed, episode, inside + 1])


def test_what_was_reached_and_what_begins_are_both_seen() -> None:
    environment = GymEnvironment(counter(), 4, 2, seed=3, reward_scale=0.5)
    first = environment.reset()
    assert first.shape == (2, 2, 3)
    seeds = first[..., 0]
    assert len(set(seeds.ravel().tolist())) == 4
    found = [step(environment, 0, 1, 0) for _ in range(6)]
    check_episodes(found, seeds[0])
    for place in range(2):
        assert [one.score[place] for one in found] == [1 - place] * 6
        assert [one.reward[place] for one in found] == [0.5 * (1 - place)] * 6
    assert not any(one.lost for one in found)
    # A second reset begins from the seed again, and groups change nothing.
    np.testing.assert_array_equal(environment.reset(), first)
    environment.close()
    together = GymEnvironment(counter(), 4, 1, seed=3)
    np.testing.assert_array_equal(together.reset().reshape(2, 2, 3), first)
    together.close()


def test_workers_bring_the_same_and_one_that_dies_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    task = counter(fault="dies", mark=str(tmp_path / "died"))
    environment = GymEnvironment(task, 2, 1, 3, "async", say=said.append)
    plain = GymEnvironment(counter(), 2, 1, 3)
    np.testing.assert_array_equal(environment.reset(), plain.reset())
    vector: Any = environment._vectors[0]
    for worker in vector.processes:
        os.kill(worker.pid, signal.SIGINT)  # as Ctrl-C in a terminal, which is for the training
    for _ in range(14):
        ours, theirs = step(environment, 0, 1, 0), step(plain, 0, 1, 0)
        for name in ("frame", "next_obs", "reward", "score", "terminated", "truncated"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    lost = step(environment, 0, 1, 0)
    assert lost.lost
    np.testing.assert_array_equal(lost.next_obs, ours.frame)
    assert lost.truncated.all()
    assert not lost.score.any()
    assert not lost.terminated.any()
    assert lost.frame[:, 1:].tolist() == [[0, 0], [0, 0]]  # new episodes, of other seeds
    assert (lost.frame[:, 0] != environment._seeds[0] % 1000).all()
    assert said == [
        "gym:counter: a worker has died or not answered; 2 environments begin anew, and the episodes that were "
        "under way in them are not counted"
    ]
    after = step(environment, 0, 1, 1)
    assert not after.lost
    assert after.score.tolist() == [1, 1]
    # One that dies between two steps, while the agent learns; and another that does not bring its first frames.
    kill(environment, 1)
    idle = step(environment, 0, 1, 1)
    assert idle.lost
    np.testing.assert_array_equal(idle.next_obs, after.frame)
    assert not step(environment, 0, 1, 1).lost
    monkeypatch.setattr(gym_vector, "PATIENCE", 0.7)
    vector = environment._vectors[0]
    os.kill(vector.processes[0].pid, signal.SIGSTOP)
    assert environment.reset()[0, :, 1:].tolist() == [[0, 0], [0, 0]]
    assert len(said) == 3
    environment.close()
    plain.close()


def test_an_interrupt_while_workers_begin_is_not_theirs(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    others = multiprocessing.active_children()
    task = examine("gym:counter", gym_cases.InterruptedStart())
    environment = GymEnvironment(task, 2, 1, 3, "async")
    assert environment.reset().shape == (1, 2, 3)
    vector: Any = environment._vectors[0]
    vector.reset_async()  # and is interrupted before it has an answer
    environment.close()
    assert multiprocessing.active_children() == others

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    # It is the training's, and ends them if it comes while they are waited for.
    monkeypatch.setattr(Workers, "_check_spaces", interrupt)
    with pytest.raises(KeyboardInterrupt):
        GymEnvironment(task, 2, 1, 3, "async")
    assert multiprocessing.active_children() == others
    assert capfd.readouterr() == ("", "")
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_workers_that_die_again_and_again_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = GymEnvironment(counter(), 2)
    environment.reset()

    monkeypatch.setattr(environment, "_make", lambda: environment._vectors[0])
    for _ in range(3):
        assert environment._lost(0).lost
    with pytest.raises(EnvironmentFailed, match="died or not answered 4 times in a row"):
        environment._lost(0)
    environment.close()


def test_what_a_worker_raises_is_one_line() -> None:
    environment = GymEnvironment(counter(fault="raises"), 1, 1, 0, "async")
    environment.reset()
    with pytest.raises(
        UserError, match=r"gym:counter failed in a worker: ZeroDivisionError: the wheel came off \(gym_"
    ):
        twenty_steps(environment, 1)
    environment.close()


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("raises", r"gym:counter failed: ZeroDivisionError: the wheel came off \(gym_cases.py, line \d+\)"),
        ("nan", "gym:counter: an observation has NaN: find where the environment makes them"),
        ("shape", "gym:counter failed: an observation has another shape or type than its observation_space"),
        ("reward", "gym:counter: a reward is not finite"),
    ],
)
def test_what_goes_wrong_later_is_one_line(fault: str, told: str) -> None:
    environment = GymEnvironment(counter(fault=fault), 2)
    environment.reset()
    with pytest.raises(UserError, match=told):
        twenty_steps(environment, 1, 0)
    environment.close()


def test_a_number_out_of_its_bounds_is_said_once() -> None:
    said: list[str] = []
    environment = GymEnvironment(counter(fault="outside"), 2, say=said.append)
    environment.reset()
    twenty_steps(environment, 1, 0)
    environment.close()
    (line,) = said
    assert "at place (0,), and its space goes from -1e+09 to 1e+09; mend one of them. This is said once" in line


def test_a_number_out_of_its_bounds_in_a_part_is_said_once() -> None:
    said: list[str] = []
    environment = GymEnvironment(examine("gym:dials", gym_cases.SlowDials), 2, say=said.append)
    environment.reset()
    for _ in range(13):
        environment.send(0, np.zeros((2, 2), np.int32))
        environment.receive(0)
    environment.close()
    (line,) = said
    assert "clock.0 has 1.1, and its space goes from 0 to 1; mend one of them. This is said once" in line


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gym:gym_cases:OldReset", "old Gym interface: reset\\(\\) must return"),
        ("gym:gym_cases:OldStep", "old Gym interface"),
        (
            "gym:gym_cases:NoOptions",
            "unexpected keyword argument 'options'.*: give reset\\(\\) the arguments seed and opt",
        ),
        ("gym:gym_cases:OldStep-v0", "old Gym interface"),  # behind Gymnasium's own wrappers
        ("gym:gym_cases:Continuous", "its actions are continuous"),
        ("gym:gym_cases:Sequences", "observations in Sequence"),
        ("gym:gym_cases:NaN", "an observation has NaN"),
        ("gym:gym_cases:Outside", "it has 1.5 at place \\(2,\\), and its space goes from 0 to 1"),
        ("gym:gym_cases:NoEnvironment", "is no gymnasium.Env"),
        ("gym:gym_cases:NotThere-v0", "needs the module not_there, which is not installed"),
        ("gym:gym_cases:qqqq", "gym_cases has neither registered it nor a function of that name"),
        ("gym:not_there:Env-v0", "needs the module not_there, which is not installed"),
        ("gym:__main__:make", "is a function of a script"),
        ("gym:CartPol-v1", "did you mean gym:CartPole-v1\\?"),
        ("gym:cartpole", "did you mean gym:CartPole-v1\\?"),
        (
            "gym:Nothing/Like-this-v3",
            "no installed package has registered it: install its package, or write gym:MODULE",
        ),
        ("gym:Pendulum-v1", "its actions are continuous"),
    ],
)
def test_a_wrong_environment_is_one_line(name: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        host_env_spec(EnvConfig(name))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from action_balance.envs.gymnasium import make as gym_make

    monkeypatch.setitem(gym_make.PACKAGES, "Far/", ("far_away", "far-away"))
    with pytest.raises(UserError, match="needs the module far_away, which is not installed: pip install far-away"):
        host_env_spec(EnvConfig("gym:Far/Off-v0"))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"wrapper": ("nope",)}, "is not MODULE:NAME"),
        ({"wrapper": ("gymnasium.wrappers:Nope",)}, "has no class or function Nope"),
        ({"env_kwargs": '{"size": 3}'}, "unexpected keyword argument 'size'.*look at --env-kwargs"),
        ({"env_kwargs": "[3]"}, "no JSON object"),
        ({"vectorize": "own", "wrapper": ("gymnasium.wrappers:FlattenObservation",)}, "leave out --vectorize own"),
        ({"vectorize": "other"}, "unknown --vectorize"),
        ({"stack": 0}, "--stack must be 1 or more"),
        ({"reward_scale": 0.0}, "--reward-scale must be above 0"),
        ({"size": 4}, "has no --size: use --env-kwargs"),
    ],
)
def test_wrong_settings_of_an_environment_are_one_line(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        host_env_spec(EnvConfig("gym:CartPole-v1", **settings))


def test_an_own_vector_environment_that_begins_late_is_refused() -> None:
    with pytest.raises(UserError, match="begins episodes a step late"):
        host_env_spec(EnvConfig("gym:CartPole-v1", vectorize="own"))
    taxi = next(one for one in gymnasium.registry if one.startswith("Taxi-v"))
    with pytest.raises(UserError, match="has no vector environment of its own"):
        host_env_spec(EnvConfig(f"gym:{taxi}", vectorize="own"))
    for make in (None, gym_cases.Counter):
        with pytest.raises(
            UserError, match="is a function or a class, which makes one at a time: use --vectorize sync"
        ):
            host_env_spec(EnvConfig("gym:gym_cases:Counter", vectorize="own"), make)


def test_an_own_vector_environment_that_begins_at_once_is_stepped() -> None:
    def own(envs: int) -> Any:
        return SyncVectorEnv([lambda: Silent(gym_cases.Counter())] * envs, autoreset_mode=AutoresetMode.SAME_STEP)

    environment = GymEnvironment(examine_own("gym:counter", gym_cases.Counter, own), 2, 1, 3, "own")
    seeds = environment.reset()[0, :, 0]
    assert seeds[1] == seeds[0] + 1
    check_episodes([step(environment, 0, 1, 0) for _ in range(6)], seeds)
    environment.close()


def test_the_own_vector_environment_of_a_game_sees_what_it_makes() -> None:
    kind = host_env_spec(EnvConfig("gym:ALE/Pitfall-v5", vectorize="own"))
    assert (kind.observation_shape, kind.dtype, kind.actions) == ((1, 84, 84, 4), "uint8", 18)
    environment = kind.make(2, 1, (0, 0), 0)
    assert environment.reset().shape == (1, 2, 84, 84, 4)
    environment.send(0, np.array([3, 4], np.int32))
    assert environment.receive(0).frame.shape == (2, 84, 84, 4)
    environment.close()


def test_flags_of_gymnasium_are_for_it_alone() -> None:
    with pytest.raises(UserError, match="--stack is for Gymnasium environments"):
        EnvConfig("open", stack=2)
    with pytest.raises(UserError, match=r"did you mean gym:CartPole-v1\?"):
        EnvConfig("CartPole-v1")


def test_arguments_are_words_or_json() -> None:
    assert parse_kwargs([]) == ""
    assert parse_kwargs(["size=6", "map_name=8x8", "slow=True", "x=1.5"]) == (
        '{"map_name": "8x8", "size": 6, "slow": true, "x": 1.5}'
    )
    assert parse_kwargs(['{"a": [1, 2]}', "b=null"]) == '{"a": [1, 2], "b": null}'
    with pytest.raises(UserError, match="neither KEY=VALUE nor a JSON object"):
        parse_kwargs(["size"])


def test_wrappers_are_applied_in_order() -> None:
    names = ("gymnasium.wrappers:FlattenObservation", "gymnasium.wrappers:RecordEpisodeStatistics")
    made: Any = find("CartPole-v1", {}, names, "sync").make()
    assert [type(made).__name__, type(made.env).__name__] == ["RecordEpisodeStatistics", "FlattenObservation"]
