"""Gymnasium environments as host environments: episodes, workers that die, and errors while they step."""

import multiprocessing
import os
import re
import signal
from functools import partial
from pathlib import Path
from typing import Any

import gym_cases
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from action_balance.envs.gymnasium import vector as gym_vector
from action_balance.envs.gymnasium.config import GymnasiumConfig
from action_balance.envs.gymnasium.make import ExaminedEnv, examine, examine_own
from action_balance.envs.gymnasium.single import Single
from action_balance.envs.gymnasium.vector import GymEnvironment
from action_balance.envs.gymnasium.workers import Workers
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


def counter(**options: Any) -> ExaminedEnv:
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
    # A second reset begins from the seed again, unless it has another one, and groups change nothing.
    assert (environment.reset((4, 1))[..., 0] != seeds).all()
    assert (environment.reset((3,)) == first).all()
    np.testing.assert_array_equal(environment.reset(), first)
    environment.close()
    together = GymEnvironment(counter(), 4, 1, seed=3)
    np.testing.assert_array_equal(together.reset().reshape(2, 2, 3), first)
    together.close()


def test_workers_bring_the_same_and_one_that_dies_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    task = counter(fault="dies", mark=str(tmp_path / "died"))
    environment = GymEnvironment(task, 2, 1, 3, "async", on_message=messages.append)
    plain = GymEnvironment(counter(), 2, 1, 3)
    first = environment.reset()
    np.testing.assert_array_equal(first, plain.reset())
    vector: Any = environment._vectors[0]
    for worker in vector.processes:
        for number in (signal.SIGINT, signal.SIGTERM):  # to all processes of a job; they are for the training
            os.kill(worker.pid, number)
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
    assert (lost.frame[:, 0] != first[0, :, 0]).all()
    assert len(messages) == 1
    assert "a worker died or did not answer; 2 environments restart" in messages[0]
    after = step(environment, 0, 1, 1)
    assert not after.lost
    assert after.score.tolist() == [1, 1]
    # One that dies between two steps, while the agent learns; and another that does not bring its first frames.
    kill(environment, 1)
    idle = step(environment, 0, 1, 1)
    assert idle.lost
    np.testing.assert_array_equal(idle.next_obs, after.frame)
    assert not step(environment, 0, 1, 1).lost
    monkeypatch.setattr(gym_vector, "TIMEOUT", 0.7)
    vector = environment._vectors[0]
    os.kill(vector.processes[0].pid, signal.SIGSTOP)
    assert environment.reset()[0, :, 1:].tolist() == [[0, 0], [0, 0]]
    assert len(messages) == 3
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
    assert not {signal.SIGINT, signal.SIGTERM} & signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_what_a_worker_raises_is_one_line() -> None:
    environment = GymEnvironment(counter(fault="raises"), 1, 1, 0, "async")
    environment.reset()
    with pytest.raises(
        UserError, match=r"gym:counter failed in a worker: ZeroDivisionError: the wheel came off \(gym_"
    ):
        twenty_steps(environment, 1)
    environment.close()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("ends", r"gym:counter failed: SystemExit: the wheel came off \(gym_cases.py, line \d+\)"),
        ("raises", r"gym:counter failed: ZeroDivisionError: the wheel came off \(gym_cases.py, line \d+\)"),
        ("nan", "gym:counter failed: an observation has NaN"),
        ("shape", "gym:counter failed: an observation differs from its observation_space"),
        ("reward", "gym:counter: a reward is not finite"),
    ],
)
def test_what_goes_wrong_later_is_one_line(fault: str, message: str) -> None:
    environment = GymEnvironment(counter(fault=fault), 2)
    environment.reset()
    with pytest.raises(UserError, match=message):
        twenty_steps(environment, 1, 0)
    environment.close()


@pytest.mark.parametrize(
    ("examined", "message"),
    [
        (counter(fault="outside"), r"at index \(0,\), but the space is from -1e\+09 to 1e\+09"),
        (examine("gym:dials", gym_cases.SlowDials), "clock.0 has 1.1, but the space is from 0 to 1"),
    ],
)
def test_a_number_out_of_its_bounds_is_reported_once(examined: ExaminedEnv, message: str) -> None:
    messages: list[str] = []
    environment = GymEnvironment(examined, 2, on_message=messages.append)
    environment.reset()
    for _ in range(20):
        environment.send(0, np.zeros((2, *examined.spec(1).action_shape), np.int32))
        environment.receive(0)
    environment.close()
    (line,) = messages
    assert re.search(message, line)


@pytest.mark.parametrize("vectorize", ["sync", "async"])
def test_an_environment_receives_actions_of_its_space(vectorize: str) -> None:
    environment = GymEnvironment(examine("gym:crane", gym_cases.Crane), 2, vectorize=vectorize)
    assert environment.spec.nvec == (3,)
    assert environment.spec.bounds == ((-1, 1), (0, None), (0, 4))
    environment.reset()
    environment.send(0, np.array([[2, 0.5, 7, 2.6], [0, -1.0000001, -1, 4]], np.float32))
    assert environment.receive(0).frame.tolist() == [[0.5, 7, 3, 3], [-1, 0, 1, 4]]
    environment.close()


def test_an_own_vector_environment_that_begins_at_once_is_stepped() -> None:
    def own(envs: int) -> Any:
        return SyncVectorEnv(
            [lambda: Single(gym_cases.Counter(), counter(), False)] * envs, autoreset_mode=AutoresetMode.SAME_STEP
        )

    environment = GymEnvironment(examine_own("gym:counter", gym_cases.Counter, own), 2, 1, 3, "own")
    seeds = environment.reset()[0, :, 0]
    assert seeds[1] == seeds[0] + 1
    check_episodes([step(environment, 0, 1, 0) for _ in range(6)], seeds)
    environment.close()


def test_the_own_vector_environment_of_a_game_sees_what_it_makes() -> None:
    config = GymnasiumConfig("gym:ALE/Pitfall-v5", vectorize="own")
    environment = config.make(2, 1, (0, 0))
    assert config.spec == environment.spec == EnvSpec("image-stack", (1, 84, 84, 4), (18,), dtype="uint8")
    assert environment.reset().shape == (1, 2, 84, 84, 4)
    environment.send(0, np.array([3, 4], np.int32))
    assert environment.receive(0).frame.shape == (2, 84, 84, 4)
    environment.close()
