"""Training with environments on the host: which policy acts, what is counted, and what happens when something stops."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from host_world import ACTIONS, SIZE, STACK, HostWorld, episode_steps

from action_balance.agent import host, loop
from action_balance.agent.config import BonusConfig, Config, HostConfig, ImageConfig, PPOConfig
from action_balance.agent.host import HostTrainer
from action_balance.agent.loop import TrainConfig
from action_balance.agent.player import Player
from action_balance.agent.state import TrainState
from action_balance.agent.train import Metrics
from action_balance.envs.host import EmulatorsLost, HostStep
from action_balance.envs.ready import EnvConfig
from action_balance.errors import UserError
from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.leaves import to_arrays

UPDATES, STEPS, ENVS = 4, 5, 8
CONFIG = Config(
    method="action-balance-rnd-channel",
    steps=UPDATES * STEPS * ENVS,
    envs=ENVS,
    ppo=PPOConfig(rollout_steps=STEPS, epochs=2, minibatches=2, learning_rate=1e-2),
    bonus=BonusConfig(warmup_rollouts=1, share=0.5),
    image=ImageConfig(channels=2, features=8, trunk=8, bonus_features=8),
)


def with_lag(lag: int, groups: int = 2) -> Config:
    return replace(CONFIG, host=HostConfig(groups=groups, lag=lag))


class Watched(HostWorld):
    """It counts steps, and remembers after which of the updates its emulators were started."""

    def __init__(self, groups: int, update: int = 0) -> None:
        super().__init__(ENVS, groups)
        self.update, self.steps = update, 0

    def receive(self, group: int) -> HostStep:
        self.steps += 1
        return super().receive(group)


def trainer(config: Config, made: list[Watched] | None = None, seed: int = 0, seeds: int = 1) -> HostTrainer:
    def make(_: int, update: int) -> Watched:
        world = Watched(config.groups, update)
        if made is not None:
            made.append(world)
        return world

    return HostTrainer(config, (STACK, SIZE, SIZE), ACTIONS, make, seed, seeds)


def trained(config: Config, seed: int = 0, seeds: int = 1) -> tuple[list[Metrics], TrainState]:
    run = trainer(config, seed=seed, seeds=seeds)
    run.start(run.begin())
    told = [run.advance() for _ in range(UPDATES)]
    state = run.state()
    run.close()
    return told, state


@pytest.fixture(scope="module")
def serial() -> tuple[list[Metrics], TrainState]:
    return trained(with_lag(0))


@pytest.fixture(scope="module")
def overlapped() -> tuple[list[Metrics], TrainState]:
    return trained(with_lag(1))


def numbers(told: list[Metrics]) -> np.ndarray:
    """Everything that was told, in one row."""
    parts = [np.ravel(getattr(one, field.name)) for one in told for field in fields(Metrics)]
    return np.concatenate(parts).astype(float)


def leaves(state: TrainState) -> list[np.ndarray]:
    """All arrays; keys as their numbers."""
    return to_arrays(state)


def test_without_lag_the_first_ratio_of_every_update_is_one(serial: tuple[list[Metrics], TrainState]) -> None:
    assert [float(one.first_ratio[0]) for one in serial[0]] == pytest.approx([0] * UPDATES, abs=1e-6)


def test_with_lag_the_ratio_accounts_for_the_older_policy(overlapped: tuple[list[Metrics], TrainState]) -> None:
    first, *others = (float(one.first_ratio[0]) for one in overlapped[0])
    assert first == pytest.approx(0, abs=1e-6)  # nothing was learned before
    assert min(others) > 1e-3


@pytest.mark.parametrize(("lag", "policies"), [(0, [0, 1, 2, 3]), (1, [0, 0, 1, 2])])
def test_which_policy_makes_a_rollout_is_settled(
    lag: int, policies: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    acted = []

    def begin_rollout(player: Player) -> None:
        acted.append(int(player.state.updates))
        original(player)

    original = Player.begin_rollout
    monkeypatch.setattr(Player, "begin_rollout", begin_rollout)
    trained(with_lag(lag))
    assert acted == policies


@pytest.mark.parametrize("lag", [0, 1])
def test_as_many_steps_are_made_as_were_asked_for(lag: int) -> None:
    made: list[Watched] = []
    run = trainer(with_lag(lag), made)
    state = run.begin()
    warm_up = made[0].steps
    assert warm_up == STEPS * 2
    run.start(state)
    for _ in range(UPDATES):
        run.advance()
    run.close()
    assert made[0].steps - warm_up == UPDATES * STEPS * 2
    assert made[0].closed


@pytest.mark.parametrize("lag", [0, 1])
def test_the_same_seed_gives_the_same_run(
    lag: int, serial: tuple[list[Metrics], TrainState], overlapped: tuple[list[Metrics], TrainState]
) -> None:
    told, state = trained(with_lag(lag))
    expected = overlapped if lag else serial
    np.testing.assert_array_equal(numbers(told), numbers(expected[0]))
    for ours, theirs in zip(leaves(state), leaves(expected[1]), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_groups_change_nothing_but_rounding(overlapped: tuple[list[Metrics], TrainState]) -> None:
    told, _ = trained(with_lag(1, groups=4))
    np.testing.assert_allclose(numbers(told), numbers(overlapped[0]), rtol=1e-3, atol=1e-4)


def test_a_seed_among_others_has_the_run_that_it_has_alone(overlapped: tuple[list[Metrics], TrainState]) -> None:
    told, state = trained(with_lag(1), seeds=2)
    first = [jax.tree.map(lambda leaf: leaf[:1], one) for one in told]
    np.testing.assert_array_equal(numbers(first), numbers(overlapped[0]))
    second = [jax.tree.map(lambda leaf: leaf[1:], one) for one in told]
    np.testing.assert_array_equal(numbers(second), numbers(trained(with_lag(1), seed=1)[0]))
    assert all(len(leaf) == 2 for leaf in leaves(state))


def test_returns_are_raw_and_of_whole_episodes() -> None:
    """Environment n has episodes of 4 + n % 4 steps; each score of 10 is counted in the rollout that ends it."""
    scores: list[tuple[int, float]] = []  # number of the rollout, return

    class Scored(Watched):
        def __init__(self) -> None:
            super().__init__(2)
            self.total, self.at = np.zeros(ENVS), np.zeros(ENVS, int)

        def reset(self) -> np.ndarray:
            self.total[:], self.at[:] = 0, 0
            scores.clear()
            return super().reset()

        def receive(self, group: int) -> HostStep:
            step = super().receive(group)
            for place, env in enumerate(range(group * 4, group * 4 + 4)):
                self.total[env] += step.score[place]
                self.at[env] += 1
                if step.ended[place]:
                    scores.append(((self.at[env] - 1) // STEPS, self.total[env]))
                    assert (self.at[env]) % episode_steps(env) == 0
                    self.total[env] = 0
            return step

    run = HostTrainer(with_lag(1), (STACK, SIZE, SIZE), ACTIONS, lambda *_: Scored())
    run.start(run.begin())
    told = [run.advance() for _ in range(UPDATES)]
    run.close()
    for rollout, one in enumerate(told):
        mine = [score for number, score in scores if number == rollout]
        assert int(one.episodes[0]) == len(mine) > 0
        assert float(one.episode_return[0]) == pytest.approx(np.mean(mine))
        assert float(one.best_return[0]) == max(mine)


def test_a_resumed_run_counts_no_episode_that_it_has_not_begun() -> None:
    """After two updates, ten steps, episodes of six are under way; none of their scores is told by the rest."""
    made: list[Watched] = []
    run = trainer(with_lag(1), made)
    run.start(run.begin())
    run.advance()
    run.advance()
    kept = run.state()
    run.close()

    again = trainer(with_lag(1), made)
    again.start(kept)
    told = [again.advance() for _ in range(UPDATES - 2)]
    assert [int(one.first_reward[0]) for one in told] == [int(kept.first_reward[0])] * 2 or kept.first_reward[0] < 0
    assert int(again.state().updates[0]) == UPDATES
    again.close()
    assert [world.update for world in made] == [0, 2]  # other luck than in the beginning
    # Five steps in: only episodes of 4 and 5 steps can have ended, one each in environments 0, 1, 4 and 5.
    assert int(told[0].episodes[0]) == 4


class Broken(Watched):
    """It stops answering, or raises, in the second rollout."""

    def __init__(self, how: str) -> None:
        super().__init__(2)
        self.how, self.never = how, threading.Event()

    def receive(self, group: int) -> HostStep:
        if self.steps < 45:
            return super().receive(group)
        if self.how == "raises":
            raise EmulatorsLost("an emulator has stopped: out of quarters")
        self.never.wait()
        raise AssertionError


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(host, "PATIENCE", 0.5)
    monkeypatch.setattr(host, "GRACE", 0.2)
    yield
    for world in host._given_up:
        if isinstance(world, Broken):
            world.never.set()
    host._given_up.clear()


@pytest.mark.usefixtures("short_patience")
@pytest.mark.parametrize(
    ("how", "message"), [("raises", "out of quarters"), ("is silent", "has not answered for 0 seconds")]
)
def test_lost_emulators_end_the_run_with_a_line_that_says_how_to_go_on(
    how: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TrainConfig(EnvConfig("atari:pitfall"), with_lag(1), checkpoint_every=1)

    def broken(config: TrainConfig) -> HostTrainer:
        return HostTrainer(config.agent, (STACK, SIZE, SIZE), ACTIONS, lambda *_: Broken(how))

    monkeypatch.setattr(loop, "trainer", broken)
    out = tmp_path / "run"
    with pytest.raises(UserError, match=f"{message}; update [12] of 4 is kept; go on with: action-balance resume"):
        loop.begin(out, config, ["test"], lambda _: None)
    assert RunFolder.open(out).manifest["status"] == "failed"

    monkeypatch.setattr(loop, "trainer", lambda config: trainer(config.agent))
    warnings: list[str] = []
    loop.resume(RunFolder.open(out), ["test"], lambda _: None, warnings.append)
    assert warnings == [loop.BEGIN_ANEW]
    assert [row["update"] for row in read_metrics(out)] == [1, 2, 3, 4]
    assert RunFolder.open(out).manifest["status"] == "finished"


def test_an_interrupt_keeps_the_update_and_stops_the_emulators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Watched] = []
    monkeypatch.setattr(loop, "trainer", lambda config: trainer(config.agent, made))
    config = TrainConfig(EnvConfig("atari:pitfall"), with_lag(1))

    def stop(_: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="update 1 of 4 is kept"):
        loop.begin(tmp_path / "run", config, ["test"], stop)
    assert made[0].closed
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("group-")]


def test_checkpoints_of_a_game_are_written_by_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "trainer", lambda config: trainer(config.agent))
    monkeypatch.setattr(loop, "PATIENCE", 0.0)
    config = TrainConfig(EnvConfig("atari:pitfall"), with_lag(1))
    loop.begin(tmp_path / "run", config, ["test"], lambda _: time.sleep(0.001))
    assert RunFolder.open(tmp_path / "run").checkpoints().updates() == [2, 3, 4]  # the last three
