"""Learning from what an older policy did: what the policy that learns says of it, worked out in NumPy.

Two groups of three environments that show vectors, actions of two components, two seeds; a part of a group at a time.
Axes: T steps, N environments, K frames of a stack.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.algorithms.base import Metrics
from action_balance.algorithms.minibatches import UpdateBatch
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.state import Actor, TrainState, UpdateInfo
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.engines.host import compiled_update
from action_balance.engines.host.actor import HostRollout
from action_balance.engines.host.rollout_buffer import ActionEvaluation, RolloutBuffer
from action_balance.engines.host.trainer import HostTrainer, Learner
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.envs.host_base import HostStep
from action_balance.envs.spec import EnvSpec

GROUPS, SIZE, STEPS, STACK, NUMBERS, UPDATES, SEEDS = 2, 3, 5, 3, 4, 3, 2
PARTS = (3, 2)
TARGET_KL = 0.01
CONFIG = AgentConfig(
    method="action-balance-rnd",
    steps=UPDATES * GROUPS * SIZE * STEPS,
    envs=GROUPS * SIZE,
    algorithm=PPOConfig(rollout_steps=STEPS, learning_rate=1e-2, minibatches=3, epochs=2),
    exploration=ExplorationConfig(action_coef="auto", target_kl=TARGET_KL, action_coef_start=1.0, action_coef_rate=0.5),
    host=HostConfig(groups=GROUPS, lag=1),
)


class Noise:
    """Random vectors and rewards; episodes end at random."""

    groups, envs_per_group = GROUPS, SIZE
    spec = EnvSpec("vector-stack", (STACK, NUMBERS), PARTS, normalize_obs=True)

    def __init__(self, seed: int) -> None:
        """With a log of what each group was shown, and where it began an episode."""
        self.rngs = [np.random.default_rng([seed, group]) for group in range(GROUPS)]
        self.log: list[list[tuple[np.ndarray, np.ndarray]]] = [[], []]

    def _frame(self, group: int) -> np.ndarray:
        return self.rngs[group].normal(3 * group, 2, size=(SIZE, NUMBERS)).astype(np.float32)

    def reset(self, seed: tuple[int, ...] | None = None) -> np.ndarray:
        del seed
        frames = [self._frame(group) for group in range(GROUPS)]
        self.log = [[(frame, np.ones(SIZE, bool))] for frame in frames]
        return np.stack(frames)

    def send(self, group: int, actions: np.ndarray) -> None:
        assert actions.shape == (SIZE, len(PARTS)), group

    def receive(self, group: int) -> HostStep:
        frame, last = self._frame(group), self._frame(group)
        rng = self.rngs[group]
        over, limit = rng.random(SIZE) < 0.3, rng.random(SIZE) < 0.5
        self.log[group].append((frame, over))
        reward = rng.normal(size=SIZE).astype(np.float32)
        return HostStep(frame, np.where(over[:, None], last, frame), reward, reward, over & ~limit, over & limit)

    def close(self) -> None:
        pass

    def stacks(self, group: int, first: int) -> np.ndarray:
        """What was seen from a step on, (T + 1, M, K, ...), frame by frame."""
        seen = np.zeros((STEPS + 1, SIZE, STACK, NUMBERS), np.float32)
        for time, env in np.ndindex(STEPS + 1, SIZE):
            for age in range(STACK):
                frame, began = self.log[group][first + time - age]
                seen[time, env, STACK - 1 - age] = frame[env]
                if began[env]:
                    break
        return seen


class Params(NamedTuple):
    """What an update of a seed began with, and what came of it."""

    state: TrainState
    actor: Actor
    whole: Sequence[RolloutBuffer]
    rewards_and_ends: tuple[np.ndarray, ...]
    action_evaluations: Sequence[ActionEvaluation]
    lesson: UpdateBatch
    learning: UpdateInfo


class Scene(NamedTuple):
    """A run with lag."""

    worlds: list[Noise]
    params: list[Params]  # of the seeds in turn
    metrics: list[HostMetrics]
    pieces: list[int]  # that each update took
    announced: int


@pytest.fixture(scope="module")
def scene() -> Scene:
    worlds: list[Noise] = []
    params: list[Params] = []
    pieces: list[int] = []

    def make(seed: int, _: int) -> Noise:
        worlds.append(Noise(seed))
        return worlds[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_update, "PIECE", 2)  # one environment is evaluated at a time
        run = HostTrainer(CONFIG, Noise.spec, make, 0, SEEDS)
        compiled, learner = run.compiled, run._learner
        prepare = compiled.prepare

        def watched(state: TrainState, actor: Actor, whole: Sequence[RolloutBuffer], *others: Any) -> Any:
            *rewards_and_ends, action_evaluations = others
            found = prepare(state, actor, whole, *others)
            copies = tuple(np.array(one) for one in rewards_and_ends)
            params.append(Params(state, actor, whole, copies, action_evaluations, found.batch, found.info))
            return found

        def counted(rollouts: list[HostRollout]) -> Learner:
            pieces.append(0)
            asked = learner(rollouts)
            while True:
                try:
                    next(asked)
                except StopIteration as end:
                    return cast(list[Metrics], end.value)
                pieces[-1] += 1
                yield

        patch.setattr(compiled, "prepare", watched)
        patch.setattr(run, "_learner", counted)
        run.start(run.init_state())
        metrics = [run.advance() for _ in range(UPDATES)]
        run.close()
        assert (compiled.evaluated_envs, compiled.action_evaluations) == (1, 6)
        return Scene(worlds, params, metrics, pieces, SEEDS * (compiled.pieces + compiled.action_evaluations))


def log_chances(logits: np.ndarray, bonus: np.ndarray, action: np.ndarray, coef: float) -> np.ndarray:
    """Log beta(a|s): in each component, the bonus is divided by its length, multiplied by c, and added."""
    total, first = np.zeros(action.shape[:-1]), 0
    for component, choices in enumerate(PARTS):
        mine = bonus[..., first : first + choices]
        beta = logits[..., first : first + choices] + coef * mine / np.sqrt((mine**2).sum(axis=-1, keepdims=True))
        beta -= np.log(np.exp(beta).sum(axis=-1, keepdims=True))
        total += np.take_along_axis(beta, action[..., component : component + 1], axis=-1)[..., 0]
        first += choices
    return total


def generalised(reward: np.ndarray, values: np.ndarray, cut: np.ndarray, gamma: float) -> np.ndarray:
    """Advantages of a stream, (T, N)."""
    found, following = np.zeros(reward.shape), np.zeros(reward.shape[1])
    for time in reversed(range(STEPS)):
        goes_on = gamma * (1 - cut[time])
        following = reward[time] + goes_on * values[time + 1] - values[time] + goes_on * 0.95 * following
        found[time] = following
    return found


def test_the_policy_that_learns_appraises_weighs_and_values_what_another_did(scene: Scene) -> None:
    ask = jax.jit(
        lambda policy, moments, seen: jax.vmap(jax.vmap(lambda one: policy(moments.normalize(one, 5.0))))(
            jnp.asarray(seen)
        )
    )
    furthest = []
    for number, one in enumerate(scene.params):
        update, seed = divmod(number, SEEDS)
        groups = [scene.worlds[seed].stacks(group, update * STEPS) for group in range(GROUPS)]
        seen = np.concatenate(groups, axis=1)
        logits, values = (
            np.asarray(part, np.float64) for part in ask(one.state.params.policy, one.actor.obs_stats, seen)
        )
        bonus, action, acted = (
            np.concatenate([np.asarray(getattr(group, name)) for group in one.whole], axis=1)
            for name in ("action_bonus", "action", "log_prob")
        )
        chances = log_chances(logits[:-1], bonus, action, float(one.actor.coef))
        weight = np.exp(chances - acted)
        reward, terminated, truncated = one.rewards_and_ends
        evaluated = [np.concatenate(parts, axis=1) for parts in zip(*one.action_evaluations, strict=True)]
        np.testing.assert_allclose(evaluated[0], chances, atol=1e-5)
        np.testing.assert_allclose(evaluated[1], values, atol=1e-5)
        targets = one.lesson.samples.targets
        np.testing.assert_allclose(targets.log_prob, chances, atol=1e-5)
        scaled = np.asarray(one.learning.reward) / float(one.learning.scale)
        intrinsic = generalised(scaled, values[..., 0], np.zeros_like(terminated), 0.99)
        extrinsic = generalised(reward, values[..., 1], terminated | truncated, 0.999)
        np.testing.assert_allclose(targets.advantage, weight * (intrinsic + 2 * extrinsic), atol=1e-4)
        np.testing.assert_allclose(targets.value_targets[..., 1], extrinsic + values[:-1, :, 1], atol=1e-4)
        furthest.append(np.abs(weight - 1).max())
    first_ratios = np.concatenate([one["first_ratio"] for one in scene.metrics])
    np.testing.assert_allclose(first_ratios, furthest, rtol=1e-3, atol=1e-5)
    assert max(furthest[:SEEDS]) < 1e-5  # nothing was learned before the first update
    assert min(furthest[SEEDS:]) > 0.01


def test_a_coefficient_adapts_to_what_it_did_a_rollout_ago(scene: Scene) -> None:
    """The first two rollouts act before anything was measured."""
    coefs, divergences = (np.stack([one[name] for one in scene.metrics]) for name in ("action_coef", "kl_beta_pi"))
    np.testing.assert_array_equal(coefs[:2], 1)
    step = 0.5 * np.maximum((TARGET_KL - divergences[0]) / TARGET_KL, -1)
    np.testing.assert_allclose(coefs[2], np.exp(step), rtol=1e-5)
    assert (np.abs(step) > 1e-3).all()
    acted = [float(one.actor.coef) for one in scene.params]
    np.testing.assert_allclose(coefs.ravel(), acted, rtol=1e-6)


def test_an_update_takes_as_many_pieces_as_are_spread_over_a_rollout(scene: Scene) -> None:
    assert scene.pieces == [scene.announced] * UPDATES
