"""Updates in pieces, on frames of Montezuma's Revenge: against plain loops, and against numbers worked out in NumPy."""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from host_world import agent

from action_balance.algorithms import minibatches, update
from action_balance.algorithms.base import Metrics, make_algorithm
from action_balance.algorithms.minibatches import UpdateBatch
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.state import Actor, Params, TrainState, Trajectory, UpdateInfo
from action_balance.bonuses.base import ACTION, INTRINSIC
from action_balance.bonuses.distillation import Distillation
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.engines.host.compiled_update import CompiledUpdate, GradAccumulator, PackedLearner, PreparedUpdate
from action_balance.engines.host.rollout_buffer import EpisodeEnds, RolloutBuffer
from action_balance.envs.atari.emulator import Atari
from action_balance.envs.spec import EnvSpec

STEPS, ENVS, ACTIONS = 6, 8, 18
SHAPE = (4, 84, 84)
SPEC = EnvSpec("image-stack", SHAPE, (ACTIONS,), "uint8")
CONFIG = AgentConfig(
    method="action-balance-rnd",
    steps=10_000,
    envs=ENVS,
    algorithm=PPOConfig(rollout_steps=STEPS, epochs=2, minibatches=2, learning_rate=3e-3),
    exploration=ExplorationConfig(update_proportion=0.6),
    network=NetworkConfig(channels=2, features=8, trunk=8, bonus_features=8),
    host=HostConfig(groups=1),
)


ALGORITHM = make_algorithm(CONFIG, SPEC)


class Played(NamedTuple):
    """A rollout, and who made it."""

    state: TrainState  # before
    actor: Actor
    whole: tuple[RolloutBuffer]
    frames: np.ndarray  # (T + 1, N, H, W), as they were shown
    next_obs: np.ndarray  # (T, N, H, W)
    reward: np.ndarray  # (T, N)
    terminated: np.ndarray  # (T, N)
    truncated: np.ndarray  # (T, N)


class Updated(NamedTuple):
    """An update, from prepare to finish."""

    state: TrainState
    made: Trajectory
    lesson: UpdateBatch
    learning: UpdateInfo
    gathered: GradAccumulator
    metrics: Metrics


@pytest.fixture(scope="module")
def programs() -> CompiledUpdate:
    """With four parts of a minibatch, an environment each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("action_balance.engines.host.compiled_update.PIECE", STEPS)
        return CompiledUpdate(CONFIG, SPEC)


@pytest.fixture(scope="module")
def played(programs: CompiledUpdate) -> Played:
    """Six steps in the first room, after sixty of a random agent. One game is marked as ended at the second of them."""
    environment = Atari("montezuma_revenge", ENVS, threads=1)
    rng = np.random.default_rng(0)
    first = environment.reset()[0]
    moments = RunningMeanStd.empty(SHAPE[1:])
    for _ in range(60):
        environment.send(0, rng.integers(ACTIONS, size=ENVS))
        step = environment.receive(0)
        moments = programs.update_stats(moments, step.next_obs)
    state = agent(programs, moments, 3)
    actor = programs.actor(state)
    going = programs.empty(np.int32(0), jax.random.key(2))
    frame, ended = step.frame, EpisodeEnds(np.ones(ENVS, bool), step.frame)
    frames, reached, terminated = [frame], [], np.zeros((STEPS, ENVS), bool)
    terminated[1, 0] = True
    for time in range(STEPS):
        going, action = programs.decider(actor)(going, frame, ended, None)
        environment.send(0, np.asarray(action))
        step = environment.receive(0)
        frame = np.where(terminated[time][:, None, None], first, step.frame)
        ended = EpisodeEnds(terminated[time], step.next_obs)
        frames.append(frame)
        reached.append(step.next_obs)
    environment.close()
    whole, _ = programs.conclude(going, frame, ended, None, jax.random.key(3))
    reward = rng.choice([0.0, 1.0, 1.0], size=(STEPS, ENVS)).astype(np.float32)
    truncated = np.zeros_like(terminated)
    truncated[3, 5] = True
    return Played(state, actor, (whole,), np.stack(frames), np.stack(reached), reward, terminated, truncated)


def begin_update(programs: CompiledUpdate, played: Played) -> PreparedUpdate:
    return programs.prepare(
        played.state, played.actor, played.whole, played.reward, played.terminated, played.truncated
    )


def all_pieces(
    programs: CompiledUpdate,
    packed_learner: PackedLearner | None,
    lesson: UpdateBatch | None,
    gathered: GradAccumulator | None,
) -> tuple[PackedLearner, GradAccumulator]:
    """The minibatches of an update, part by part."""
    assert packed_learner is not None
    assert gathered is not None
    params, optimizer, targets = packed_learner
    for _ in range(programs.minibatches):
        for _ in range(programs.parts - 1):
            gathered = programs.accumulate(params, targets, lesson, gathered)
        params, gathered, optimizer = programs.apply(params, targets, lesson, gathered, optimizer)
    return PackedLearner(params, optimizer, targets), gathered


@pytest.fixture(scope="module")
def updated(programs: CompiledUpdate, played: Played) -> Updated:
    prepared = begin_update(programs, played)
    packed_learner, gathered = all_pieces(programs, prepared.learner, prepared.batch, prepared.accumulator)
    done = prepared._replace(batch=None, accumulator=gathered, learner=packed_learner)
    state, metrics = programs.finish(done, played.actor.coef)
    assert prepared.batch is not None
    assert prepared.info is not None
    return Updated(state, prepared.trajectory, prepared.batch, prepared.info, gathered, metrics)


def bundled(programs: CompiledUpdate, state: TrainState) -> PackedLearner:
    """In memory of its own."""
    packed_learner: PackedLearner = jax.jit(programs.packed_learner)(state)
    return packed_learner


def nothing(updated: Updated) -> GradAccumulator:
    """At the beginning of an update, in memory of its own."""
    zeros: GradAccumulator = jax.tree.map(lambda leaf: jnp.asarray(np.zeros(leaf.shape, leaf.dtype)), updated.gathered)
    return zeros


@pytest.fixture(scope="module")
def stacks(played: Played) -> np.ndarray:
    """What is seen, (T + 1, N, K, H, W), frame by frame."""
    seen = np.zeros((STEPS + 1, ENVS, *SHAPE), np.uint8)
    for time, frame in enumerate(played.frames):
        older = seen[time - 1, :, 1:] if time else np.zeros_like(seen[0, :, 1:])
        began = played.terminated[time - 1] if time else np.ones(ENVS, bool)
        seen[time] = np.concatenate([np.where(began[:, None, None, None], 0, older), frame[:, None]], axis=1)
    return seen


@jax.jit
def errors(
    params: Params, targets: Any, moments: RunningMeanStd, frame: jax.Array, action: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Errors of the state and of the pair for frames from 0 to 255, (B, H, W), normalised here by hand."""
    spread = jnp.sqrt(moments.squares / moments.count + 1e-8)
    seen = jnp.clip((frame.astype(jnp.float32) - moments.mean) / spread, -5.0, 5.0)
    state, pair = (Distillation(targets[slot], params.bonuses[slot]) for slot in (INTRINSIC, ACTION))
    return jax.vmap(state.error)(seen), jax.vmap(pair.error)(seen, action)


def flat(frames: np.ndarray) -> np.ndarray:
    return frames.reshape(-1, *SHAPE[1:])


def close(one: Any, other: Any, tolerance: float = 1e-4) -> None:
    """Every leaf, up to a share of its largest number."""
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (np.abs(b).max() + 1e-6))


def generalised_advantages(
    reward: np.ndarray, values: np.ndarray, last: np.ndarray, cut: np.ndarray, gamma: float
) -> np.ndarray:
    """Of one stream, (T, N), by a plain loop."""
    found = np.zeros((STEPS, ENVS))
    for env in range(ENVS):
        following, next_value = 0.0, last[env]
        for time in reversed(range(STEPS)):
            goes_on = gamma * (1 - cut[time, env])
            delta = reward[time, env] + goes_on * next_value - values[time, env]
            following = delta + goes_on * 0.95 * following
            found[time, env], next_value = following, values[time, env]
    return found


@pytest.fixture(scope="module")
def whole_gradients() -> Any:
    """Compiled gradients of minibatches."""
    return jax.jit(update.gradients, static_argnames=("algorithm", "parts"))


def test_quarters_that_are_gathered_add_up_to_the_minibatch(
    programs: CompiledUpdate, played: Played, updated: Updated, whole_gradients: Any
) -> None:
    state, lesson, number = played.state, updated.lesson, jnp.int32(1)
    whole, losses = whole_gradients(state.params, state.bonus_states, lesson, number, algorithm=ALGORITHM)
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(whole))
    assert programs.parts == 4
    gathered = replace(nothing(updated), number=jnp.copy(number))
    packed_learner = bundled(programs, state)
    for _ in range(4):
        gathered = programs.accumulate(packed_learner.params, packed_learner.bonus_states, lesson, gathered)
    close(gathered.gradients, bundled(programs, replace(state, params=whole)).params)
    for name, whole_loss in losses.items():
        got = np.asarray(gathered.losses[name])
        np.testing.assert_allclose(got[1], whole_loss, rtol=1e-4, atol=1e-6)
        assert not got[[0, 2, 3]].any()
    assert int(gathered.part) == 4


def test_an_update_in_pieces_is_a_plain_loop_over_minibatches(
    programs: CompiledUpdate, played: Played, updated: Updated, whole_gradients: Any
) -> None:
    adam = optax.adam(3e-3)

    @jax.jit
    def step(params: Params, memory: Any, found: Params) -> Any:
        changes, memory = adam.update(found, memory)
        return optax.apply_updates(params, changes), memory

    params, memory = played.state.params, jax.jit(adam.init)(played.state.params)
    losses = []
    for number in range(4):
        found, terms = whole_gradients(
            params, played.state.bonus_states, updated.lesson, jnp.int32(number), algorithm=ALGORITHM
        )
        params, memory = step(params, memory, found)
        losses.append(terms)
    close(updated.state.params, params, 1e-3)
    close(updated.gathered.losses, jax.tree.map(lambda *terms: jnp.stack(terms), *losses), 1e-3)
    moved = [
        np.abs(np.asarray(a) - b).max()
        for a, b in zip(jax.tree.leaves(params), jax.tree.leaves(played.state.params), strict=True)
    ]
    assert min(moved) > 1e-3
    assert (int(updated.gathered.number), int(updated.gathered.part)) == (4, 0)
    assert not any(np.asarray(leaf).any() for leaf in jax.tree.leaves(updated.gathered.gradients))
    assert programs.pieces == 2 + 4 * 4


def test_statistics_absorb_every_reached_frame_once_from_0_to_255(played: Played, updated: Updated) -> None:
    before, after = played.state.obs_stats, updated.state.obs_stats
    assert (float(before.count), float(after.count)) == (60 * ENVS, (60 + STEPS) * ENVS)
    absorbed = np.float64(flat(played.next_obs))
    mean = (60 * ENVS * np.float64(before.mean) + absorbed.sum(axis=0)) / (66 * ENVS)
    np.testing.assert_allclose(after.mean, mean, rtol=1e-5, atol=1e-4)
    square = 60 * ENVS * (np.float64(before.variance) + np.float64(before.mean) ** 2) + (absorbed**2).sum(axis=0)
    variance = square / (66 * ENVS) - mean**2
    np.testing.assert_allclose(after.variance, variance, rtol=1e-3, atol=1e-2)
    assert 40 < mean.max() <= 255
    assert variance.max() > 10
    assert after.mean.shape == SHAPE[1:]


def test_training_begins_with_terms_worked_out_by_hand_under_the_new_statistics(
    played: Played, updated: Updated, stacks: np.ndarray
) -> None:
    made = jax.device_get(updated.made)
    bonus = np.asarray(updated.learning.reward, np.float64)
    # The filter of each environment runs along time; the bonus is divided by the spread of all it gave.
    filtered, trace = np.zeros(ENVS), []
    for row in bonus:
        filtered = 0.99 * filtered + row
        trace.append(filtered)
    scale = np.std(trace)
    np.testing.assert_allclose(updated.metrics["bonus_scale"], scale, rtol=1e-4)
    np.testing.assert_allclose(updated.state.return_scale.filtered, filtered, rtol=1e-4)
    last = np.asarray(jax.jit(jax.vmap(lambda seen: played.state.params.policy(seen)[1]))(stacks[-1]))
    never, ended = np.zeros((STEPS, ENVS)), played.terminated | played.truncated
    intrinsic = generalised_advantages(bonus / scale, made.values[..., 0], last[:, 0], never, 0.99)
    extrinsic = generalised_advantages(played.reward, made.values[..., 1], last[:, 1], ended, 0.999)
    first = np.asarray(updated.lesson.order[0])
    losses = jax.tree.map(lambda leaf: float(leaf[0]), updated.gathered.losses)
    assert losses["policy"] == pytest.approx(-(intrinsic + 2 * extrinsic)[:, first].mean(), rel=1e-3, abs=1e-3)
    assert losses["value_int"] == pytest.approx(0.5 * (intrinsic[:, first] ** 2).mean(), rel=1e-3)
    assert losses["value_ext"] == pytest.approx(0.5 * (extrinsic[:, first] ** 2).mean(), rel=1e-3)
    # Predictors learn from four of the six steps of each environment, normalised with this rollout.
    chosen = np.asarray(minibatches.chosen_steps(updated.lesson.subset_keys[0], STEPS, 4, CONFIG))
    assert chosen.shape == (4, 4)
    action = made.action.ravel()
    arguments = (played.state.params, played.state.bonus_states, updated.state.obs_stats)
    of_state, _ = errors(*arguments, flat(played.next_obs), action)
    _, of_pair = errors(*arguments, flat(played.frames[:-1]), action)
    for found, each in ((losses[INTRINSIC], of_state), (losses[ACTION], of_pair)):
        mine = np.asarray(each).reshape(STEPS, ENVS)
        assert found == pytest.approx(mine[chosen, first].mean(), rel=1e-4)
        assert found != pytest.approx(mine[:, first].mean(), rel=1e-4)


def test_what_comes_after_the_rollout_is_valued_by_the_policy_that_acted(
    programs: CompiledUpdate, played: Played, updated: Updated, stacks: np.ndarray
) -> None:
    """With lag 1 the learner is an update ahead of it: here, all its weights are doubled."""
    policy = jax.tree.map(lambda leaf: 2 * leaf, played.state.params.policy)
    ahead = replace(played.state, params=replace(played.state.params, policy=policy))
    _, made, lesson, *_ = begin_update(programs, played._replace(state=ahead))
    assert lesson is not None
    value = jax.jit(jax.vmap(lambda who, seen: who(seen)[1], in_axes=(None, 0)))
    last, other = (np.asarray(value(who, stacks[-1]))[:, 1] for who in (played.state.params.policy, policy))
    assert np.abs(last - other).min() > 0.01
    values, ended = np.asarray(made.values)[..., 1], played.terminated | played.truncated
    extrinsic = generalised_advantages(played.reward, values, last, ended, 0.999)
    targets = lesson.samples.targets.value_targets
    np.testing.assert_allclose(targets[..., 1], extrinsic + values, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(targets, updated.lesson.samples.targets.value_targets)


def test_other_updates_trace_nothing_new(programs: CompiledUpdate, played: Played, updated: Updated) -> None:
    with jax.no_tracing(True):
        prepared = begin_update(programs, played)
        packed_learner, gathered = all_pieces(programs, prepared.learner, prepared.batch, prepared.accumulator)
        programs.finish(prepared._replace(batch=None, accumulator=gathered, learner=packed_learner), played.actor.coef)
    np.testing.assert_allclose(gathered.losses["policy"][0], updated.gathered.losses["policy"][0], rtol=1e-6)


@pytest.mark.parametrize(
    ("envs", "steps", "parts"),
    [
        (32, 128, 2),  # 8 environments in a minibatch: 1024 samples
        (128, 128, 8),
        (24, 256, 3),  # 6 environments: 1536 samples
        (20, 256, 5),  # 5 environments, which have no other divisor: 1280 samples are 3 pieces, so 5
        (8, 2048, 2),  # an environment is not cut, though it has four pieces
        (4, 16, 1),
    ],
)
def test_a_minibatch_has_parts_of_whole_environments_and_about_512_samples(envs: int, steps: int, parts: int) -> None:
    config = replace(
        CONFIG,
        steps=envs * steps,
        envs=envs,
        algorithm=replace(CONFIG.algorithm, rollout_steps=steps, epochs=4, minibatches=4),
    )
    sized = CompiledUpdate(config, SPEC)
    assert (sized.parts, sized.minibatches, sized.pieces) == (parts, 16, 2 + 16 * parts)
