"""Training with environments on the host: which policy acts, what is counted, and what happens when something stops."""

import inspect
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from host_world import ACTIONS, SIZE, STACK, HostWorld, episode_steps

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.state import Actor, TrainState
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.frozen import FrozenDict
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.callbacks import Listeners
from action_balance.engines.continuation import continuation
from action_balance.engines.host import compiled_update as pieces
from action_balance.engines.host import trainer as host
from action_balance.engines.host.actor import HostActor
from action_balance.engines.host.compiled_update import CompiledUpdate
from action_balance.engines.host.rollout_buffer import RolloutBuffer
from action_balance.engines.host.trainer import HostTrainer
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.envs.host_base import EnvironmentsLost, HostStep
from action_balance.errors import UserError
from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.tree_file import describe, to_arrays, to_tree

UPDATES, STEPS, ENVS = 4, 5, 8
SPEC = HostWorld(ENVS).spec
CONFIG = AgentConfig(
    method="action-balance-rnd-channel",
    steps=(1 + UPDATES) * STEPS * ENVS,
    envs=ENVS,
    algorithm=PPOConfig(rollout_steps=STEPS, epochs=2, minibatches=2, learning_rate=1e-2),
    exploration=ExplorationConfig(warmup_rollouts=1, update_proportion=0.5),
    network=NetworkConfig(channels=2, features=8, trunk=8, bonus_features=8),
)


def with_lag(lag: int, groups: int = 2) -> AgentConfig:
    return replace(CONFIG, host=HostConfig(groups=groups, lag=lag))


class Watched(HostWorld):
    """It counts steps, and remembers after which of the updates its emulators were started."""

    def __init__(self, groups: int, update: int = 0) -> None:
        super().__init__(ENVS, groups)
        self.update, self.steps = update, 0

    def receive(self, group: int) -> HostStep:
        self.steps += 1
        return super().receive(group)


# What each step brings, (T, N), since the emulators were reset. The first score above zero comes with the seventh step.
SCORES = np.random.default_rng(0).choice([-5, 0, 0, 7, 400], size=(UPDATES * STEPS, ENVS)).astype(np.float32)
SCORES[:7] = 0
SCORES[2, 6], SCORES[6, 3] = -3, 400


class Scripted(Watched):
    """Its scores are settled, and it keeps all that it shows and is sent since it was reset, group by group."""

    def reset(self, seed: tuple[int, ...] | None = None) -> np.ndarray:
        first = super().reset(seed)
        self.shown = [[frames] for frames in first]
        self.chosen: list[list[np.ndarray]] = [[] for _ in first]
        self.brought: list[list[HostStep]] = [[] for _ in first]
        return first

    def send(self, group: int, actions: np.ndarray) -> None:
        self.chosen[group].append(np.array(actions))
        super().send(group, actions)

    def receive(self, group: int) -> HostStep:
        mine = slice(group * self.envs_per_group, (group + 1) * self.envs_per_group)
        score = SCORES[len(self.brought[group]), mine]
        step = replace(super().receive(group), score=score, reward=np.sign(score))
        self.shown[group].append(step.frame)
        self.brought[group].append(step)
        return step

    def all(self, name: str) -> np.ndarray:
        """One field of all steps, (T, N, ...)."""
        return joined([[getattr(step, name) for step in part] for part in self.brought])


def joined(parts: list[list[np.ndarray]]) -> np.ndarray:
    """What was kept of the groups, (T, N, ...)."""
    return np.concatenate([np.stack(part) for part in parts], axis=1)


def trainer(config: AgentConfig, made: list[Watched] | None = None, seed: int = 0, seeds: int = 1) -> HostTrainer:
    def make(_: int, update: int) -> Watched:
        world = Watched(config.groups, update)
        if made is not None:
            made.append(world)
        return world

    return HostTrainer(config, SPEC, make, seed, seeds)


class Trained(NamedTuple):
    """A run, and what its environments saw of it."""

    metrics: list[HostMetrics]
    state: TrainState
    steps: list[int]  # of both groups of a seed: of the warm-up, and until the end
    acted: list[int]  # updates of the policies that made the rollouts


def trained(config: AgentConfig, seed: int = 0, seeds: int = 1) -> Trained:
    made: list[Watched] = []
    acted: list[int] = []
    original = HostActor.begin_rollout

    def begin_rollout(player: HostActor) -> None:
        acted.append(int(player.state.updates))
        original(player)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostActor, "begin_rollout", begin_rollout)
        run = trainer(config, made, seed, seeds)
        begun = run.init_state()
        warm_up = made[0].steps
        run.start(begun)
        metrics = [run.advance() for _ in range(UPDATES)]
        state = run.state()
        run.close()
    assert all(world.closed for world in made)
    return Trained(metrics, state, [warm_up, made[0].steps], acted)


@pytest.fixture(scope="module")
def serial() -> Trained:
    return trained(with_lag(0))


@pytest.fixture(scope="module")
def overlapped() -> Trained:
    return trained(with_lag(1))


def numbers(metrics: list[HostMetrics]) -> np.ndarray:
    """All metrics, in one row."""
    parts = [np.ravel(one[name]) for one in metrics for name in sorted(one)]
    return np.concatenate(parts).astype(float)


def leaves(state: Any) -> list[np.ndarray]:
    """All arrays; keys as their numbers."""
    return list(to_arrays(state).values())


def test_without_lag_the_first_ratio_of_every_update_is_one(serial: Trained) -> None:
    assert [float(one["first_ratio"][0]) for one in serial.metrics] == pytest.approx([0] * UPDATES, abs=1e-6)


def test_with_lag_metrics_report_how_far_the_policy_is_from_the_one_that_acted(
    overlapped: Trained,
) -> None:
    first, *others = (float(one["first_ratio"][0]) for one in overlapped.metrics)
    assert first == pytest.approx(0, abs=1e-6)  # nothing was learned before
    assert min(others) > 1e-3


def test_which_policy_makes_a_rollout_is_settled_and_so_are_the_steps(serial: Trained, overlapped: Trained) -> None:
    assert (serial.acted, overlapped.acted) == ([0, 1, 2, 3], [0, 0, 1, 2])
    for run in (serial, overlapped):
        assert run.steps == [STEPS * 2, STEPS * 2 + UPDATES * STEPS * 2]


@pytest.mark.parametrize("lag", [0, 1])
def test_the_same_seed_gives_the_same_run(lag: int, serial: Trained, overlapped: Trained) -> None:
    again, expected = trained(with_lag(lag)), overlapped if lag else serial
    np.testing.assert_array_equal(numbers(again.metrics), numbers(expected.metrics))
    for ours, theirs in zip(leaves(again.state), leaves(expected.state), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_actions_come_to_the_same_through_memory_that_the_device_writes_to(
    overlapped: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "host_memory", lambda place: place.with_memory_kind(pieces.PINNED))
    monkeypatch.setattr(host, "_compiled", CompiledUpdate)
    run = trainer(with_lag(1))
    decider, kinds = run.compiled.decider, set()

    def watched_decider(actor: Actor) -> Any:
        def watched(*seen: Any) -> Any:
            recording, action = decider(actor)(*seen)
            kinds.add(action.sharding.memory_kind)
            return recording, action

        return watched

    monkeypatch.setattr(run.compiled, "decider", watched_decider)
    begun = run.init_state()
    run.start(to_tree(to_arrays(begun), describe(begun), run.state_shapes()))  # as a checkpoint gives it
    metrics = [run.advance() for _ in range(UPDATES)]
    np.testing.assert_array_equal(numbers(metrics), numbers(overlapped.metrics))
    for ours, theirs in zip(leaves(run.state()), leaves(overlapped.state), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    run.close()
    assert kinds == {pieces.PINNED}
    # Nothing is compiled once more because of it. Episodes end in some steps only, and some frames are on the device.
    once = dict.fromkeys(("actor", "_pack", "empty", "conclude", "evaluate_actions", "prepare", "apply", "finish"), 1)
    for name, count in {**once, "_decide": 3}.items():
        assert getattr(run.compiled, name)._cache_size() == count, name


@pytest.mark.parametrize(("kinds", "expected"), [(("device", "pinned_host"), "there"), (("device",), None)])
def test_a_gpu_writes_to_the_hosts_memory_where_it_can(kinds: tuple[str, ...], expected: str | None) -> None:
    memories = [SimpleNamespace(kind=kind) for kind in kinds]
    device = SimpleNamespace(platform="gpu", addressable_memories=lambda: memories)
    place: Any = SimpleNamespace(device_set={"only": device}.values(), with_memory_kind={"pinned_host": "there"}.get)
    found = inspect.unwrap(pieces.host_memory)(place)  # without the check that it is a sharding
    assert found == expected


@pytest.mark.skipif(len(jax.devices()) < 2, reason="one device")
def test_compiled_are_shared_by_trainers_of_one_device() -> None:
    first, other = jax.devices()[:2]
    with jax.default_device(other):
        elsewhere = trainer(with_lag(1)).compiled
    compiled = trainer(with_lag(1)).compiled
    assert compiled is trainer(with_lag(0)).compiled
    assert compiled.sharding.device_set == {first}
    assert elsewhere.sharding.device_set == {other}


def test_a_seed_among_others_has_the_run_that_it_has_alone(overlapped: Trained) -> None:
    metrics, state, *_ = trained(with_lag(1), seeds=2)
    first = [jax.tree.map(lambda leaf: leaf[:1], one) for one in metrics]
    np.testing.assert_array_equal(numbers(first), numbers(overlapped.metrics))
    second = [jax.tree.map(lambda leaf: leaf[1:], one) for one in metrics]
    np.testing.assert_array_equal(numbers(second), numbers(trained(with_lag(1), seed=1).metrics))
    assert all(len(leaf) == 2 for leaf in leaves(state))


def test_returns_are_raw_and_of_whole_episodes() -> None:
    """Environment n has episodes of 4 + n % 4 steps; each score of 10 is counted in the rollout that ends it."""
    scores: list[tuple[int, float]] = []  # number of the rollout, return

    class Scored(Watched):
        def __init__(self) -> None:
            super().__init__(2)
            self.total, self.at = np.zeros(ENVS), np.zeros(ENVS, int)

        def reset(self, seed: tuple[int, ...] | None = None) -> np.ndarray:
            self.total[:], self.at[:] = 0, 0
            scores.clear()
            return super().reset(seed)

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

    run = HostTrainer(with_lag(1), SPEC, lambda *_: Scored())
    run.start(run.init_state())
    metrics = [run.advance() for _ in range(UPDATES)]
    run.close()
    for rollout, one in enumerate(metrics):
        mine = [score for number, score in scores if number == rollout]
        assert int(one["episodes"][0]) == len(mine) > 0
        assert float(one["episode_return"][0]) == pytest.approx(np.mean(mine))
        assert float(one["best_return"][0]) == max(mine)


Noise = tuple[float, ...]


class Params(NamedTuple):
    """What an update was made from, as the device was handed it."""

    newest: list[np.ndarray]  # the policy that is to be updated
    actor: list[np.ndarray]  # the policy that acted, as recorded
    whole: list[RolloutBuffer]  # of the groups
    reward: np.ndarray  # (T, N), as the other two
    terminated: np.ndarray
    truncated: np.ndarray

    @property
    def noise(self) -> tuple[Noise, ...]:
        """Of the groups in this rollout."""
        return tuple(noise(one) for one in self.whole)


class Scene(NamedTuple):
    """A scripted run, as the world and the device saw it."""

    lag: int | None
    world: Scripted
    params: list[Params]
    acted: dict[Noise, list[list[np.ndarray]]]  # the policies that decided, by the noise of rollout and group
    metrics: list[HostMetrics]


def noise(recording: RolloutBuffer) -> Noise:
    return tuple(np.asarray(recording.noise[0, 0]).tolist())


def played(config: AgentConfig, updates: int = UPDATES, kept: TrainState | None = None) -> tuple[Scene, TrainState]:
    """Updates from the beginning, or from a state that was kept; and the state after them."""
    world = Scripted(config.groups)
    run = HostTrainer(config, SPEC, lambda *_: world)
    compiled, scene = run.compiled, Scene(config.host.lag, world, [], {}, [])
    prepare, decider = compiled.prepare, compiled.decider

    def watched_prepare(state: TrainState, actor: Actor, whole: Sequence[RolloutBuffer], *others: Any) -> Any:
        *rewards_and_ends, action_evaluations = others
        assert (action_evaluations is not None) == bool(config.host.lag and not config.uniform)
        copies = [np.array(one) for one in rewards_and_ends]
        newest = leaves(compiled.actor(state).policy)
        scene.params.append(Params(newest, leaves(actor.policy), list(whole), *copies))
        return prepare(state, actor, whole, *others)

    def watched_decider(actor: Actor) -> Any:
        decide = decider(actor)

        def watched(recording: RolloutBuffer, *seen: Any) -> Any:
            scene.acted.setdefault(noise(recording), []).append(leaves(actor.policy))
            return decide(recording, *seen)

        return watched

    # The compiled are shared with other trainers.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "prepare", watched_prepare)
        patch.setattr(compiled, "decider", watched_decider)
        run.start(run.init_state() if kept is None else kept)
        scene.metrics.extend(run.advance() for _ in range(updates))
        state = run.state()
        run.close()
    return scene, state


@pytest.fixture(scope="module", params=[0, 1], ids=["serial", "overlapped"])
def scene(request: pytest.FixtureRequest) -> Scene:
    return played(with_lag(request.param))[0]


def test_rewards_and_ends_are_learned_from_at_the_step_that_brought_them(scene: Scene) -> None:
    steps, envs = np.meshgrid(np.arange(1, UPDATES * STEPS + 1), np.arange(ENVS), indexing="ij")
    ended = steps % (4 + envs % 4) == 0
    for name, expected in {
        "reward": np.sign(SCORES),
        "terminated": ended & (envs % 2 == 0),
        "truncated": ended & (envs % 2 == 1),
    }.items():
        np.testing.assert_array_equal(np.concatenate([getattr(one, name) for one in scene.params]), expected)
        np.testing.assert_array_equal(scene.world.all(name), expected)
    # Also where the last step of a rollout ends an episode.
    assert scene.params[0].truncated[-1].tolist() == [False, True, False, False] * 2
    assert scene.params[3].terminated[-1].tolist() == [True, False, False, False] * 2


def test_recordings_hold_what_was_shown_and_done(scene: Scene) -> None:
    world = scene.world
    shown, chosen = joined(world.shown), joined(world.chosen)
    reached, ended = world.all("next_obs"), world.all("ended")
    assert (reached[ended] != shown[1:][ended]).any(axis=(1, 2)).all()
    for number, one in enumerate(scene.params):
        first, after = number * STEPS, (number + 1) * STEPS
        action, arrived, frame, began = (
            np.concatenate(parts, axis=1)
            for parts in (
                [whole.action for whole in one.whole],
                [whole.next_obs for whole in one.whole],
                [whole.frames.frame for whole in one.whole],
                [whole.frames.began for whole in one.whole],
            )
        )
        np.testing.assert_array_equal(action, chosen[first:after])
        np.testing.assert_array_equal(arrived, reached[first:after])
        np.testing.assert_array_equal(frame[STACK - 1 :], shown[first : after + 1])
        np.testing.assert_array_equal(began[STACK:], ended[first:after])
        assert began[STACK - 1].all() if number == 0 else (began[STACK - 1] == ended[first - 1]).all()
        if number:  # a stack reaches into the rollout before
            np.testing.assert_array_equal(frame[: STACK - 1], shown[first - STACK + 1 : first])


def test_every_rollout_has_noise_of_its_own(scene: Scene) -> None:
    assert len({one for made in scene.params for one in made.noise}) == UPDATES * scene.world.groups


def test_an_update_receives_the_policy_that_made_all_of_its_rollout(scene: Scene) -> None:
    for one in scene.params:
        acted = [policy for noise in one.noise for policy in scene.acted[noise]]
        assert len(acted) == STEPS * scene.world.groups
        for policy in acted:
            for ours, theirs in zip(policy, one.actor, strict=True):
                np.testing.assert_array_equal(ours, theirs)
    behind = [
        any((ours != theirs).any() for ours, theirs in zip(one.newest, one.actor, strict=True)) for one in scene.params
    ]
    assert behind == [False, *[scene.lag == 1] * (UPDATES - 1)]


def test_the_first_reward_is_reported_with_the_step_that_brought_it(scene: Scene) -> None:
    """The seventh step of eight environments after a warm-up of five; the loss of three points before it is none."""
    assert [int(one["first_reward"][0]) for one in scene.metrics] == [-1, 96, 96, 96]


def test_statistics_begin_with_every_frame_that_the_random_agent_reaches() -> None:
    world = Scripted(2)
    run = HostTrainer(with_lag(0), SPEC, lambda *_: world)
    moments = run.init_state().obs_stats
    run.close()
    reached = world.all("next_obs").reshape(-1, SIZE, SIZE).astype(np.float64)
    shown = world.all("frame").reshape(-1, SIZE, SIZE).astype(np.float64)
    assert len(reached) == STEPS * ENVS == moments.count[0]
    np.testing.assert_allclose(moments.mean[0], reached.mean(axis=0), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(moments.variance[0], reached.var(axis=0), rtol=1e-4, atol=1e-2)
    assert np.abs(reached.mean(axis=0) - shown.mean(axis=0)).max() > 1  # where an episode ended, they differ
    chosen = np.bincount(joined(world.chosen).ravel(), minlength=ACTIONS)
    assert chosen.min() > STEPS * ENVS / 6  # a third each, on average


@pytest.mark.parametrize("method", [CONFIG.method, "random"])  # the state of one that learns nothing keeps its key
def test_a_resumed_run_knows_the_first_reward_and_has_noise_of_its_own(method: str) -> None:
    config = replace(with_lag(1), method=method)
    before, kept = played(config, updates=2)
    after, state = played(config, updates=2, kept=kept)
    first = 56 if method == "random" else 96  # with the warm-up
    assert int(kept.first_reward[0]) == first
    assert [int(one["first_reward"][0]) for one in after.metrics] == [first, first]
    assert int(state.updates[0]) == UPDATES
    assert len({one.noise for one in before.params + after.params}) == UPDATES


def test_a_resumed_run_counts_the_steps_before_it_until_the_first_reward() -> None:
    """A warm-up and one update without, and the seventh step after it: the seventeenth of eight environments."""
    _, kept = played(with_lag(1), updates=1)
    after, _ = played(with_lag(1), updates=3, kept=kept)
    assert int(kept.first_reward[0]) == -1
    assert [int(one["first_reward"][0]) for one in after.metrics] == [-1, 136, 136]


def test_a_resumed_run_has_forgotten_the_episodes_that_were_under_way() -> None:
    settings = FrozenDict(ngu={"features": 2, "episodic_memory": 12})
    run = trainer(replace(with_lag(0), method="rnd", intrinsic="ngu", bonus_settings=settings))

    def anything(leaf: Any) -> Any:
        key = jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return jax.random.split(jax.random.key(0), leaf.shape) if key else np.full(leaf.shape, UPDATES, leaf.dtype)

    run.start(jax.tree.map(anything, run.state_shapes()))  # all updates are done: nothing acts
    state = run.state()
    run.close()
    assert int(state.updates[0]) == UPDATES
    assert state.bonus_states["intrinsic"].memory.added.tolist() == [[0] * ENVS]


def test_a_resumed_run_counts_no_episode_that_it_has_not_begun() -> None:
    """After two updates, ten steps, episodes of six are under way; none of their scores is in the later metrics."""
    made: list[Watched] = []
    run = trainer(with_lag(1), made)
    run.start(run.init_state())
    run.advance()
    run.advance()
    kept = run.state()
    run.close()

    again = trainer(with_lag(1), made)
    again.start(kept)
    metrics = [again.advance() for _ in range(UPDATES - 2)]
    assert int(again.state().updates[0]) == UPDATES
    again.close()
    assert [world.update for world in made] == [0, 2]  # other noise than at the beginning
    # Five steps in: only episodes of 4 and 5 steps can have ended, one each in environments 0, 1, 4 and 5.
    assert int(metrics[0]["episodes"][0]) == 4


class Broken(Watched):
    """It stops answering, or raises, in the fourth rollout."""

    def __init__(self, how: str) -> None:
        super().__init__(2)
        self.how, self.never = how, threading.Event()

    def receive(self, group: int) -> HostStep:
        if self.steps < 45:
            return super().receive(group)
        if self.how == "raises":
            raise EnvironmentsLost("an emulator has stopped: out of quarters")
        self.never.wait()
        raise AssertionError


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(host, "TIMEOUT", 0.5)
    monkeypatch.setattr(host, "GRACE", 0.2)
    yield
    for world in host._abandoned:
        if isinstance(world, Broken):
            world.never.set()
    host._abandoned.clear()


@pytest.mark.usefixtures("short_patience")
@pytest.mark.parametrize(
    ("how", "message"), [("raises", "out of quarters"), ("is silent", "has not answered for 0 seconds")]
)
def test_lost_environments_end_the_run_with_a_line_that_says_how_to_resume(
    how: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = TrainConfig(env_config("atari:pitfall"), with_lag(1), checkpoint_every=1)

    def broken(config: TrainConfig, *_: object) -> HostTrainer:
        return HostTrainer(config.agent, SPEC, lambda *_: Broken(how))

    monkeypatch.setattr(loop, "make_trainer", broken)
    out = tmp_path / "run"
    with pytest.raises(UserError, match=f"{message}; update 3 of 4 is saved; resume with: action-balance resume"):
        loop.begin(out, config, Listeners())
    assert RunFolder.open(out).manifest["status"] == "failed"

    monkeypatch.setattr(loop, "make_trainer", lambda config, *_: trainer(config.agent))
    warnings: list[str] = []
    loop.resume(continuation(RunFolder.open(out), config), Listeners(on_message=warnings.append))
    assert HostTrainer.resume_note in warnings
    assert [row["update"] for row in read_metrics(out)] == [1, 2, 3, 4]
    assert RunFolder.open(out).manifest["status"] == "finished"


def test_an_interrupt_keeps_the_update_and_stops_the_emulators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Watched] = []
    monkeypatch.setattr(loop, "make_trainer", lambda config, *_: trainer(config.agent, made))
    config = TrainConfig(env_config("atari:pitfall"), with_lag(1))

    def stop(_: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="update 1 of 4 is saved"):
        loop.begin(tmp_path / "run", config, Listeners(report=stop))
    assert made[0].closed
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("group-")]
