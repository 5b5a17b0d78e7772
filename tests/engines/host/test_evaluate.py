"""Evaluation on the host: episodes in a small world, whose lengths and scores are known."""

import signal
import threading
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from host_world import ACTIONS, SIZE, STACK, HostWorld, episode_steps

from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.rollout import make_actor
from action_balance.algorithms.state import Actor, TrainState
from action_balance.config.agent import AgentConfig
from action_balance.config.env import HostEnvConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.evaluate import ACTION_MODES, ActionMode, Evaluation
from action_balance.engines.factory import evaluate_run, make_trainer
from action_balance.engines.host import evaluate as module
from action_balance.engines.host.evaluate import Bonuses, EpisodeRunner, decide_all, env_seed
from action_balance.envs.host_base import HostStep
from action_balance.envs.spec import EnvSpec

STAY, WALK, RUN = range(ACTIONS)
CONFIG = AgentConfig(
    method="action-balance-rnd",
    steps=64,
    envs=2,
    algorithm=PPOConfig(rollout_steps=4, minibatches=1),
    network=NetworkConfig(channels=2, features=8, trunk=8, bonus_features=8),
)


class Remembering(HostWorld):
    """It keeps the seeds and the actions of every reset."""

    def __init__(self, envs: int) -> None:
        super().__init__(envs)
        self.seeds: list[tuple[int, ...] | None] = []
        self.sent_since: list[list[np.ndarray]] = []

    def reset(self, seed: tuple[int, ...] | None = None) -> np.ndarray:
        self.sent = [None] * self.groups  # an evaluation ends in the middle of other episodes
        self.seeds.append(seed)
        self.sent_since.append([])
        return super().reset(seed)

    def send(self, group: int, actions: np.ndarray) -> None:
        self.sent_since[-1].append(np.array(actions))
        super().send(group, actions)


@dataclass(frozen=True)
class World(HostEnvConfig):
    """The small world as a family. Environment n has episodes of 4 + n % 4 steps."""

    at_once: bool = False
    made: ClassVar[list[Remembering]] = []
    spec: ClassVar[EnvSpec] = HostWorld(1).spec

    @property
    def episodes_at_once(self) -> int | None:  # type: ignore[override]
        return 8 if self.at_once else None

    def make(self, envs: int, groups: int, seed: tuple[int, ...], *_: Any) -> Remembering:
        del groups, seed
        self.made.append(Remembering(envs))
        return self.made[-1]


def run_config(seeds: int = 1, at_once: bool = False) -> TrainConfig:
    return TrainConfig(World("world", at_once), CONFIG, seed=5, seeds=seeds)


@cache
def anything(seeds: int) -> TrainState:
    """States with arbitrary numbers."""
    generator = np.random.default_rng(0)

    def fill(leaf: jax.ShapeDtypeStruct) -> Any:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jnp.broadcast_to(jax.random.key(0), leaf.shape)
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            return jnp.ones(leaf.shape, leaf.dtype)
        return jnp.asarray(generator.uniform(-0.3, 0.3, leaf.shape), leaf.dtype)

    states: TrainState = jax.tree.map(fill, make_trainer(run_config(seeds=seeds)).state_shapes())
    return eqx.tree_at(lambda states: states.obs_stats, states, jax.tree.map(jnp.abs, states.obs_stats))


def agents(*favourites: int | None) -> TrainState:
    """Agents that have a favourite action, each its own, or none at all."""
    states = anything(len(favourites))
    logits = np.zeros((len(favourites), ACTIONS), np.float32)
    for row, favourite in zip(logits, favourites, strict=True):
        if favourite is not None:
            row[favourite] = 50
    head = states.params.policy.policy_head
    return eqx.tree_at(
        lambda states: (states.params.policy.policy_head.weight, states.params.policy.policy_head.bias),
        states,
        (jnp.zeros_like(head.weight), jnp.asarray(logits)),
    )


def actor(favourite: int | None, coef: float = 1.0) -> Actor:
    """One of them, on the device."""
    state: TrainState = jax.tree.map(lambda leaf: leaf[0], agents(favourite))
    return replace(make_actor(state, make_algorithm(run_config().agent, run_config().env.spec)), coef=jnp.asarray(coef))


@cache
def played() -> tuple[dict[ActionMode, Evaluation], list[float], Remembering]:
    """Three episodes of each of two agents, in two environments at a time."""
    reported: list[float] = []
    found = evaluate_run(run_config(seeds=2), agents(RUN, None), 3, 0, reported.append, record=True)
    return found, reported, World.made[-1]


def test_every_agent_plays_every_mode_one_episode_in_each_environment() -> None:
    found, _, world = played()
    assert tuple(found) == ACTION_MODES
    # Environments 0 and 1, then 0 again. An agent that runs is at place 8 after four steps, and gets 10 for the fifth.
    lengths = [episode_steps(0), episode_steps(1), episode_steps(0)]
    assert lengths == [4, 5, 4]
    for one in found.values():
        assert one.lengths.tolist() == [lengths, lengths]
        assert one.terminated.tolist() == [[True, False, True]] * 2  # even environments terminate
        assert one.returns[0].tolist() == [0, 10, 0]
        assert one.visits.shape == (2, 0)
    assert found["greedy"].returns[1].tolist() == [0, 0, 0]  # of equal logits, the first is the largest: it stays
    assert world.closed
    assert len(world.seeds) == 3 * 2 * 2  # modes, agents, parts


def test_recordings_hold_seed_environment_actions_and_scores_of_each_episode() -> None:
    found, _, world = played()
    first = found["greedy"].recordings[0]
    assert [(one.seed, one.number) for one in first] == [
        ((0, 5, 0, 1, 0), 0),
        ((0, 5, 0, 1, 0), 1),
        ((0, 5, 0, 1, 2), 0),
    ]
    assert first[1].actions.tolist() == [RUN] * 5
    assert first[1].scores.tolist() == [0, 0, 0, 0, 10]
    sampled = found["sampled"].recordings[1][0]
    place = world.seeds.index(sampled.seed)
    assert sampled.actions.tolist() == [sent[0] for sent in world.sent_since[place][:4]]


def test_the_first_sampled_episode_of_the_first_agent_is_traced() -> None:
    found, _, _ = played()
    trace = found["sampled"].trace
    assert trace is not None
    assert found["greedy"].trace is found["behaviour"].trace is None
    decision = trace.decision
    assert decision.action.tolist() == [RUN] * 4
    np.testing.assert_array_equal(decision.pi, np.tile(50 * np.eye(ACTIONS, dtype=np.float32)[RUN], (4, 1)))
    assert (decision.action_bonus > 0).all()
    added = decision.action_bonus / np.linalg.norm(decision.action_bonus, axis=1, keepdims=True)
    np.testing.assert_allclose(decision.beta, decision.pi + added, rtol=1e-4)
    assert trace.terminated.tolist() == [False, False, False, True]


def test_progress_adds_up_to_the_number_of_episodes() -> None:
    reported = played()[1]
    assert sum(reported) == pytest.approx(2 * 3 * 3)
    assert min(reported) >= 0


def test_families_may_play_all_episodes_at_once() -> None:
    found = evaluate_run(run_config(at_once=True), agents(WALK), 3, 0)
    world = World.made[-1]
    assert found["greedy"].lengths.tolist() == [[4, 5, 6]]
    assert world.seeds == [env_seed(0, 5, mode) for mode in ACTION_MODES]
    assert found["greedy"].recordings == ((),)
    assert found["sampled"].trace is None


def test_an_episode_does_not_depend_on_how_many_are_played() -> None:
    two, three = (
        evaluate_run(run_config(at_once=True), agents(None), count, 0, record=True)["sampled"].recordings[0]
        for count in (2, 3)
    )
    assert [one.actions.tolist() for one in two] == [one.actions.tolist() for one in three[:2]]
    assert len({one.actions.tobytes() for one in three}) == 3


class Lossy(Remembering):
    """It loses its environments in the third step."""

    steps = 0

    def receive(self, group: int) -> HostStep:
        self.steps += 1
        if self.steps != 3:
            return super().receive(group)
        everyone = np.ones(self.envs_per_group, bool)
        self.sent[group] = None
        nothing = np.zeros(self.envs_per_group, np.float32)
        frames = self.reset()[0]
        return HostStep(frames, frames, nothing, nothing, ~everyone, everyone, lost=True)


def runner(world: HostWorld, record: bool = True) -> EpisodeRunner:
    return EpisodeRunner(
        World("world"), make_algorithm(CONFIG, world.spec), world, lambda _: None, threading.Event(), record
    )


def test_episodes_of_lost_environments_are_played_again() -> None:
    found, abandoned = runner(Lossy(2)).play(actor(WALK), "sampled", 2, (0,), jax.random.key(0), traced=True)
    assert found.lengths.tolist() == [4, 5]
    assert abandoned == 0
    assert [len(one.actions) for one in found.recordings[0]] == [4, 5]
    assert found.trace is not None
    assert len(found.trace.reward) == 4


def test_episodes_without_an_end_are_abandoned_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STEPS", 4)
    messages: list[str] = []
    found = evaluate_run(run_config(), agents(WALK), 2, 0, on_message=messages.append)
    assert found["greedy"].lengths.tolist() == [[4, 4]]
    assert len(messages) == 3
    assert messages[0].startswith("1 of 2 episodes (greedy, seed 5) did not end within 4 steps")


def test_a_stop_interrupts_between_steps_and_closes_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, receive = [0], Remembering.receive

    def interrupted(self: Remembering, group: int) -> HostStep:
        steps[0] += 1
        signal.raise_signal(signal.SIGINT)
        return receive(self, group)

    monkeypatch.setattr(Remembering, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluate_run(run_config(), agents(WALK), 2, 0)
    assert steps == [1]
    assert World.made[-1].closed


def test_behaviour_takes_the_largest_bonus_if_its_coefficient_is_large() -> None:
    found, _ = runner(HostWorld(1)).play(actor(STAY, 1e6), "behaviour", 1, (0,), jax.random.key(0), traced=True)
    assert found.trace is not None
    decision = found.trace.decision
    np.testing.assert_array_equal(decision.action, decision.action_bonus.argmax(axis=1))
    assert (decision.action != STAY).any()


def test_the_bonus_of_the_first_environment_alone_is_the_same_as_among_those_of_all() -> None:
    seen = (jnp.zeros((2, STACK, SIZE, SIZE), jnp.uint8), np.ones((2, SIZE, SIZE), np.uint8), np.ones(2, bool))
    rest = (jax.random.key(0), np.int32(0), np.int32(0))
    with jax.default_matmul_precision("highest"):
        none, first, everyone = (
            decide_all(actor(None), *seen, *rest, algorithm=make_algorithm(CONFIG, World.spec), bonuses=kind)[
                2
            ].action_bonus
            for kind in get_args(Bonuses)
        )
    assert (none == 0).all()
    assert (everyone > 0).all()
    np.testing.assert_allclose(first, everyone, rtol=1e-5)


def test_seeds_differ_between_agents_modes_and_training() -> None:
    seeds = {env_seed(seed, number, mode) for seed in (0, 1) for number in (0, 5) for mode in ACTION_MODES}
    assert len({np.random.SeedSequence(one).generate_state(1).item() for one in {*seeds, (0, 0), (5, 0), (0, 5)}}) == 15
