"""Acting for environments on the host, with frames whose numbers show where they belong."""

from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from host_world import ACTIONS, SIZE, STACK, agent
from scipy import stats

from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.rollout import act, make_actor
from action_balance.algorithms.state import Actor, Trajectory
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.engines.host import rollout_buffer
from action_balance.engines.host.compiled_update import CompiledUpdate
from action_balance.engines.host.rollout_buffer import EpisodeEnds, RolloutBuffer
from action_balance.envs.spec import EnvSpec

STEPS, ENVS, COEF = 5, 4, 2.0
CONFIG = AgentConfig(
    method="action-balance-rnd",
    steps=1000,
    envs=ENVS,
    algorithm=PPOConfig(rollout_steps=STEPS, minibatches=2),
    exploration=ExplorationConfig(action_coef=COEF),
    network=NetworkConfig(channels=2, features=8, trunk=8, bonus_features=8),
    host=HostConfig(groups=2),
)
SHAPE = (STACK, SIZE, SIZE)
SPEC = EnvSpec("image-stack", SHAPE, (ACTIONS,), "uint8")


@cache
def programs(groups: int) -> CompiledUpdate:
    return CompiledUpdate(replace(CONFIG, host=HostConfig(groups=groups)), SPEC)


@cache
def actor() -> Actor:
    """An agent with statistics of noise."""
    noise = np.random.default_rng(1).uniform(0, 255, (8, SIZE, SIZE)).astype(np.float32)
    moments = RunningMeanStd(jnp.asarray(8.0), jnp.asarray(noise.mean(axis=0)), jnp.asarray(8 * noise.var(axis=0)))
    return replace(make_actor(agent(programs(2), moments, 3), programs(2).algorithm), coef=jnp.asarray(COEF))


class Script(NamedTuple):
    """What environments show, whatever they do: at times 0 to 2 T."""

    frame: np.ndarray  # (2 T + 1, N, H, W), coarse noise; two pixels encode time and environment
    next_obs: np.ndarray  # the same, but for 100 more in the time's pixel where an episode ended
    began: np.ndarray  # (2 T + 1, N)


@cache
def script() -> Script:
    rng = np.random.default_rng(0)
    times = 2 * STEPS + 1
    frames, reached = (
        np.kron(rng.integers(0, 256, (times, ENVS, SIZE // 11, SIZE // 11)), np.ones((11, 11))).astype(np.uint8)
        for _ in range(2)
    )
    frames[:, :, 0, 0] = 1 + np.arange(times)[:, None]
    frames[:, :, 0, 1] = np.arange(ENVS)
    began = np.zeros((times, ENVS), bool)
    began[0] = True  # every environment begins; then ends inside a rollout, with its last step, and with its first
    began[[2, 5, 6, 8, 9], [0, 1, 1, 2, 3]] = True
    reached[:, :, 0, 0] = 101 + np.arange(times)[:, None]
    reached[:, :, 0, 1] = np.arange(ENVS)
    return Script(frames, np.where(began[:, :, None, None], reached, frames), began)


class Rollouts(NamedTuple):
    """Two in a row."""

    whole: tuple[tuple[RolloutBuffer, ...], ...]  # of each rollout, of each group
    actions: np.ndarray  # (2 T, N), as they were handed out


def seen_by(group: int, groups: int, time: int) -> tuple[np.ndarray, EpisodeEnds | None]:
    """Newest frames of a group, and what ended: nothing, where it did not; of one group, a statement of it."""
    mine = slice(group * ENVS // groups, (group + 1) * ENVS // groups)
    shown = script()
    began = shown.began[time, mine]
    return shown.frame[time, mine], EpisodeEnds(
        began, shown.next_obs[time, mine]
    ) if groups == 1 or began.any() else None


def play(groups: int, seed: int = 3) -> Rollouts:
    """The script with this many groups."""
    run = programs(groups)
    keys = [jax.random.key(seed + number) for number in range(3)]
    going = [run.empty(np.int32(group * ENVS // groups), keys[0]) for group in range(groups)]
    handed_out = np.zeros((2 * STEPS, ENVS), np.int32)
    over = []
    for number in range(2):
        for time in range(number * STEPS, (number + 1) * STEPS):
            for group in range(groups):
                going[group], action = run.decider(actor())(going[group], *seen_by(group, groups, time), None)
                handed_out[time, group * ENVS // groups : (group + 1) * ENVS // groups] = action
        pairs = [
            run.conclude(going[group], *seen_by(group, groups, (number + 1) * STEPS), None, keys[number + 1])
            for group in range(groups)
        ]
        over.append(tuple(whole for whole, _ in pairs))
        going = [following for _, following in pairs]
    return Rollouts(tuple(over), handed_out)


@pytest.fixture(scope="module")
def rollouts() -> Rollouts:
    return play(2)


@pytest.fixture(scope="module")
def trajectories(rollouts: Rollouts) -> list[tuple[Trajectory, jax.Array]]:
    """Of both rollouts, with the values after them; rewards are numbers that can be recognised."""
    make = jax.jit(partial(rollout_buffer.trajectory, algorithm=make_algorithm(CONFIG, SPEC)))
    zeros = np.zeros((STEPS, ENVS), bool)
    reward = np.arange(STEPS * ENVS, dtype=np.float32).reshape(STEPS, ENVS)
    made: list[tuple[Trajectory, jax.Array]] = jax.device_get(
        [make(whole, actor(), reward, zeros, ~zeros) for whole in rollouts.whole]
    )
    return made


def stacks() -> np.ndarray:
    """What is seen at every time of the script, (2 T + 1, N, K, H, W), frame by frame."""
    shown = script()
    seen = np.zeros((2 * STEPS + 1, ENVS, *SHAPE), np.uint8)
    for env in range(ENVS):
        stack = np.zeros(SHAPE, np.uint8)
        for time in range(2 * STEPS + 1):
            older = np.zeros_like(stack[1:]) if shown.began[time, env] else stack[1:]
            stack = np.concatenate([older, shown.frame[time, env][None]])
            seen[time, env] = stack
    return seen


@cache
def opinions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits, values and bonus of everything that is seen, (2 T + 1, N, ...)."""
    function = jax.jit(lambda one, seen: jax.vmap(lambda stack: act(one, stack, 0, make_algorithm(CONFIG, SPEC)))(seen))
    flat = jax.device_get(function(actor(), stacks().reshape(-1, *SHAPE)))
    logits, values, bonus = (leaf.reshape(2 * STEPS + 1, ENVS, -1) for leaf in flat[:3])
    return logits, values, bonus


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """In double precision."""
    shifted = np.float64(logits) - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def behaviour(logits: np.ndarray, bonus: np.ndarray) -> np.ndarray:
    """Eq. 5 by hand."""
    return logits + COEF * bonus / np.sqrt((np.float64(bonus) ** 2).sum(axis=-1, keepdims=True))


def test_frames_and_beginnings_land_at_their_times(trajectories: list[tuple[Trajectory, jax.Array]]) -> None:
    shown = script()
    for number, (made, _) in enumerate(trajectories):
        begin = number * STEPS
        seen = made.observation
        # Three frames from before, then those of the steps.
        np.testing.assert_array_equal(seen.frame[STACK - 1 :], shown.frame[begin : begin + STEPS])
        np.testing.assert_array_equal(seen.began[STACK - 1 :], shown.began[begin : begin + STEPS])
        assert seen.frame.shape == (STACK - 1 + STEPS, ENVS, SIZE, SIZE)
    before = trajectories[1][0].observation
    np.testing.assert_array_equal(before.frame[:3], shown.frame[2:5])
    np.testing.assert_array_equal(before.began[:3], shown.began[2:5])
    assert before.frame.dtype == np.uint8


def test_reached_is_the_frame_after_the_step_also_where_it_ended_the_episode(
    trajectories: list[tuple[Trajectory, jax.Array]],
) -> None:
    both = np.concatenate([made.next_obs for made, _ in trajectories])
    np.testing.assert_array_equal(both, script().next_obs[1:])
    # Times of the first four environments by hand: the frames of ends have 100 more.
    expected = [
        [2, 103, 4, 5, 6, 7, 8, 9, 10, 11],
        [2, 3, 4, 5, 106, 107, 8, 9, 10, 11],
        [2, 3, 4, 5, 6, 7, 8, 109, 10, 11],
        [2, 3, 4, 5, 6, 7, 8, 9, 110, 11],
    ]
    np.testing.assert_array_equal(both[:, :, 0, 0].T, expected)


def test_stored_opinions_are_those_about_the_stacks(trajectories: list[tuple[Trajectory, jax.Array]]) -> None:
    logits, values, bonus = opinions()
    for number, (made, _) in enumerate(trajectories):
        now = slice(number * STEPS, (number + 1) * STEPS)
        np.testing.assert_allclose(made.preferences, logits[now], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(made.values, values[now], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(made.action_bonus, bonus[now], rtol=1e-4)
    # Neighbouring times and environments differ by far more than that.
    for array in opinions():
        for axis in (0, 1):
            steps = np.abs(np.diff(array, axis=axis)).max(axis=-1)
            assert steps.min() > 1e-2
            assert np.median(steps) > 0.1


def test_last_values_are_those_of_what_is_seen_after_the_last_step(
    trajectories: list[tuple[Trajectory, jax.Array]],
) -> None:
    _, values, _ = opinions()
    for number, (_, last_values) in enumerate(trajectories):
        np.testing.assert_allclose(last_values, values[(number + 1) * STEPS], rtol=1e-4, atol=1e-5)


def test_log_prob_is_that_of_the_behaviour_policy(
    rollouts: Rollouts, trajectories: list[tuple[Trajectory, jax.Array]]
) -> None:
    for number, (made, _) in enumerate(trajectories):
        logits, bonus, action = (np.asarray(leaf) for leaf in (made.preferences, made.action_bonus, made.action))
        beta, pi = (
            np.take_along_axis(log_softmax(of), action[..., None], axis=-1)[..., 0]
            for of in (behaviour(logits, bonus), logits)
        )
        np.testing.assert_allclose(made.log_prob, beta, rtol=1e-4, atol=1e-5)
        assert np.abs(beta - pi).max() > 0.05
        np.testing.assert_array_equal(action, rollouts.actions[number * STEPS : (number + 1) * STEPS])


def test_groups_do_not_change_what_an_environment_does(rollouts: Rollouts) -> None:
    together = play(1)
    np.testing.assert_array_equal(together.actions, rollouts.actions)
    for whole, parts in zip(together.whole, rollouts.whole, strict=True):
        for name in ("next_obs", "action"):
            joined = np.concatenate([getattr(part, name) for part in parts], axis=1)
            np.testing.assert_array_equal(getattr(whole[0], name), joined)
        for name in ("log_prob", "preferences", "values", "action_bonus"):
            joined = np.concatenate([getattr(part, name) for part in parts], axis=1)
            np.testing.assert_allclose(getattr(whole[0], name), joined, rtol=1e-4, atol=1e-5)


def test_a_rollout_with_another_key_has_other_noise(rollouts: Rollouts) -> None:
    again, other = play(2), play(2, seed=100)
    np.testing.assert_array_equal(again.actions, rollouts.actions)
    assert (other.actions != rollouts.actions).mean() > 0.2


def test_other_rollouts_trace_nothing_new(rollouts: Rollouts) -> None:
    assert len(rollouts.whole) == 2
    with jax.no_tracing(True):
        play(2, seed=50)


def test_sampled_actions_follow_beta_and_are_independent() -> None:
    frames, ended = seen_by(0, 2, 0)
    frames = np.stack([frames[0]] * 2)  # both environments see the same
    decide = programs(2).decider(actor())
    drawn = np.zeros((600, 2, 2), int)  # rollouts, times, environments
    for one, key in zip(drawn, jax.random.split(jax.random.key(5), len(drawn)), strict=True):
        going, first = decide(programs(2).empty(np.int32(0), key), frames, ended, None)
        going, second = decide(going, frames, ended, None)  # an episode's first frame again: the same is seen
        one[:] = first, second
    logits, bonus = np.asarray(going.preferences), np.asarray(going.action_bonus)
    probabilities = np.exp(log_softmax(behaviour(logits[0, 0], bonus[0, 0])))
    np.testing.assert_allclose(logits[1, 1], logits[0, 0], rtol=1e-4)
    assert np.ptp(probabilities) > 0.1
    counts = np.bincount(drawn.ravel(), minlength=ACTIONS)
    assert stats.chisquare(counts, probabilities * counts.sum()).pvalue > 0.01
    # Two environments at a time, two times of an environment, two rollouts: every pair is as likely as both are.
    pairs = [(drawn[:, :, 0], drawn[:, :, 1]), (drawn[:, 0], drawn[:, 1]), (drawn[1:], drawn[:-1])]
    for one, other in pairs:
        counts = np.bincount((ACTIONS * one + other).ravel(), minlength=ACTIONS**2)
        expected = np.outer(probabilities, probabilities).ravel() * counts.sum()
        assert stats.chisquare(counts, expected).pvalue > 0.01
