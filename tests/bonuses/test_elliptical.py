"""Elliptical counts, by hand."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from known_features import transitions

from action_balance.bonuses.base import ACTION, INTRINSIC, Bonus, BonusObs, make_bonus
from action_balance.bonuses.elliptical import Elliptical
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.frozen import FrozenDict
from action_balance.config.network import NetworkConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.mixed import empty_stats
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

KEY = jax.random.key(0)
#: Three numbers; two action components of 2 and 3 choices.
SPEC = EnvSpec("vector", (3,), (2, 3))
STATS = RunningMeanStd.empty((3,))
#: Observations so long that the constant hardly turns them: three directions at right angles.
X, Y, Z = np.eye(3, dtype=np.float32) * 1e4


def make(slot: str, spec: EnvSpec = SPEC, name: str = "elliptical", clip: float = 1e5, **settings: Any) -> Bonus:
    agent = AgentConfig(
        method="ppo",
        intrinsic=name if slot == INTRINSIC else None,
        action_bonus=name if slot == ACTION else None,
        exploration=ExplorationConfig(observation_clip=clip),
        bonus_settings=FrozenDict({"elliptical": {"features": "observation"}, **settings}),
    )
    bonus = make_bonus(name, slot, agent, spec)
    assert bonus is not None
    return bonus


def elliptical(slot: str, spec: EnvSpec = SPEC, **settings: Any) -> Elliptical:
    bonus = make(slot, spec, elliptical={"features": "observation", **settings})
    assert isinstance(bonus, Elliptical)
    return bonus


def steps(frames: Any, following: Any, actions: Any = None, stats: RunningMeanStd = STATS) -> Any:
    """Steps of one environment."""
    action = np.zeros((len(frames), 2), int) if actions is None else np.asarray(actions)
    return transitions(
        np.stack(following)[:, None], frame=np.stack(frames)[:, None], action=action[:, None], stats=stats
    )


def test_states_with_directions_of_their_own_have_the_bonus_of_exact_counts() -> None:
    bonus = elliptical(INTRINSIC)
    _, state = bonus.init(KEY, STATS)
    found, state = jax.jit(bonus.reward)(None, state, steps([Z] * 4, [X, Y, X, X]))
    assert found[:, 0].tolist() == pytest.approx([1] * 4, abs=1e-3)  # what was known before the rollout
    found, _ = bonus.reward(None, state, steps([Z] * 3, [X, Y, Z]))
    assert found[:, 0].tolist() == pytest.approx([4**-0.5, 2**-0.5, 1], abs=1e-3)
    # 3/4 + 1/2 directions have been seen.
    assert bonus.metrics(None, state)["elliptical_directions"] == pytest.approx(1.25, abs=1e-3)


def test_one_hot_observations_have_nearly_the_bonus_of_exact_counts() -> None:
    """The warm-up has seen every state; the constant turns all features a little towards each other."""
    states, spec = np.eye(5, dtype=np.float32), EnvSpec("vector", (5,), (2, 3), discrete=(5,))
    stats = RunningMeanStd.empty((5,)).update(jnp.asarray(states))
    visited = steps([states[0]] * 10, states[[0, 1, 1, 2, 2, 2, 2, 3, 3, 3]], stats=stats)
    bonus = elliptical(INTRINSIC, spec, features="auto")
    _, state = bonus.init(KEY, stats)
    _, state = bonus.reward(None, state, visited)
    found, _ = bonus.reward(None, state, steps(list(states), list(states), stats=stats))
    assert found[:, 0].tolist() == pytest.approx([(1 + count) ** -0.5 for count in (1, 2, 4, 3, 0)], rel=0.05)


def test_states_that_the_warm_up_has_not_seen_share_up_to_one_visit() -> None:
    """With the default clip, they are (-5, 5, 0, 0, 1), (-5, 0, 5, 0, 1), ..., with products of 51 and 26; the state
    that it has seen is (0, 0, 0, 0, 1)."""
    states, spec = np.eye(4, dtype=np.float32), EnvSpec("vector", (4,), (2, 3), discrete=(4,))
    stats = RunningMeanStd.empty((4,)).update(jnp.asarray(states[[0] * 9]))
    bonus = make(INTRINSIC, spec, clip=ExplorationConfig().observation_clip, elliptical={"exponent": 1.0})
    _, state = bonus.init(KEY, stats)

    def visit(state: Any, *numbers: int) -> tuple[Any, Any]:
        reached = states[list(numbers)]
        rewards, state = bonus.reward(None, state, steps(reached, reached, stats=stats))
        return rewards[:, 0].tolist(), state

    _, once = visit(state, 1, 1, 1)
    # A single visited state has exact counts; the others lose 3/4 of what they share with it.
    expected = [1 - 0.75 / 51, 1 / 4, 1 - 0.75 * (26 / 51) ** 2, 1 - 0.75 * (26 / 51) ** 2]
    assert visit(once, 0, 1, 2, 3)[0] == pytest.approx(expected, rel=1e-5)
    # Of two states seen often, a third shares 26/51 in the direction of their sum, of length 1 + 26/51, and 25/51 of it
    # stays new however many states are seen: as if it had 26/25 visits.
    _, often = visit(state, *[1, 2] * 10_000)
    assert visit(often, 3)[0] == pytest.approx([1 - 2 * (26 / 51) ** 2 / (77 / 51)], rel=1e-3)


def test_exponent_and_ridge_are_those_of_the_width() -> None:
    bonus = elliptical(INTRINSIC, exponent=1.0, ridge=2.0)
    _, state = bonus.init(KEY, STATS)
    _, state = bonus.reward(None, state, steps([Z] * 4, [X, Y, X, X]))
    found, _ = bonus.reward(None, state, steps([Z] * 3, [X, Y, Z]))
    assert found[:, 0].tolist() == pytest.approx([2 / 5, 2 / 3, 1], abs=1e-3)


def test_states_between_two_directions_share_their_visits() -> None:
    bonus = elliptical(INTRINSIC)
    _, state = bonus.init(KEY, STATS)
    _, state = bonus.reward(None, state, steps([Z] * 4, [X, Y, X, X]))
    found, _ = bonus.reward(None, state, steps([Z], [X + Y]))
    # Half the width of each, (1/4 + 1/2) / 2.
    assert found[:, 0].tolist() == pytest.approx([0.375**0.5], abs=1e-3)


def test_a_pair_counts_the_states_in_which_the_choice_was_taken() -> None:
    bonus = elliptical(ACTION)
    _, state = bonus.init(KEY, STATS)
    frames, actions = [X, X, X, Y], [[0, 2], [0, 1], [1, 2], [1, 0]]
    found, state = jax.jit(bonus.reward)(None, state, steps(frames, [Z] * 4, actions))
    assert found[:, 0].tolist() == pytest.approx([2] * 4, abs=1e-3)  # the sum over both components
    scores = bonus.scores(None, bonus.acting_state(state), BonusObs(jnp.asarray(X), jnp.int32(0), STATS, 5.0))
    assert scores.tolist() == pytest.approx([3**-0.5, 2**-0.5, 1, 2**-0.5, 3**-0.5], abs=1e-3)


def test_ucb_counts_with_them() -> None:
    bonus = make(ACTION, name="ucb", ucb={"counter": "elliptical"})
    _, state = bonus.init(KEY, STATS)
    _, state = bonus.reward(None, state, steps([X] * 3, [Z] * 3, [[0, 0], [0, 1], [0, 1]]))
    scores = bonus.scores(None, state, BonusObs(jnp.asarray(X), jnp.int32(0), STATS, 5.0))
    bounds = [(2 * np.log(4) / (1 + count)) ** 0.5 for count in (3, 0, 1, 2, 0)]
    assert scores.tolist() == pytest.approx(bounds, rel=1e-2)


def test_features_do_not_change_while_the_running_statistics_move() -> None:
    bonus = elliptical(INTRINSIC, dimensions=16, features="fourier")
    _, state = bonus.init(KEY, RunningMeanStd(jnp.float32(4), jnp.ones(3), jnp.full(3, 16.0)))
    frames = list(np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32))
    moved = RunningMeanStd(jnp.float32(9), jnp.full(3, 7.0), jnp.full(3, 900.0))
    found = [bonus.reward(None, state, steps(frames, frames, stats=one)) for one in (STATS, moved)]
    assert jax.tree.all(jax.tree.map(np.array_equal, *found))


def test_near_observations_share_fourier_features_and_distant_ones_do_not() -> None:
    bonus = elliptical(INTRINSIC, dimensions=4096, features="fourier", bandwidth=2.0)
    _, state = bonus.init(KEY, STATS)
    at = [bonus.phi(state, jnp.array([x, 0.0, 0.0])) for x in (0.0, 0.25, 2.0)]
    assert [float(at[0] @ other) for other in at] == pytest.approx([1, np.exp(-0.125), np.exp(-8)], abs=0.05)


@pytest.mark.parametrize(
    ("spec", "kind", "count"),
    [
        (EnvSpec("vector", (2,), (3,)), "fourier", 256),
        (EnvSpec("vector", (5,), (3,), discrete=(5,)), "observation", 6),
        (EnvSpec("vector", (400,), (3,)), "observation", 401),
        (EnvSpec("vector", (3_000,), (3,)), "network", 256),
        (EnvSpec("image", (44, 44), (3,), dtype="uint8"), "network", 256),
        (EnvSpec("symbolic", (3, 3, 2), (3,), dtype="uint8", categories=(4, 3)), "network", 256),
        (EnvSpec("mixed", (408,), (3,), "uint8", normalize_obs=True, images=((20, 20, 1),)), "network", 256),
    ],
)
def test_features_suit_the_observation(spec: EnvSpec, kind: str, count: int) -> None:
    bonus = elliptical(INTRINSIC, spec, features="auto")
    assert (bonus.kind, bonus.features) == (kind, count)
    _, state = bonus.init(KEY, empty_stats(spec))
    found = bonus.phi(state, jnp.ones(spec.frame_shape, spec.dtype))
    assert float(found @ found) == pytest.approx(1)


def test_the_features_of_pairs_of_images_have_full_precision() -> None:
    agent = AgentConfig(method="ppo", network=NetworkConfig(channels=1, bonus_features=4, precision="bfloat16"))
    spec = EnvSpec("image", (36, 36), (3,), dtype="uint8")
    for slot, dtype in ((INTRINSIC, "bfloat16"), (ACTION, "float32")):
        bonus = make_bonus("elliptical", slot, agent, spec)
        assert bonus is not None
        _, state = jax.eval_shape(bonus.init, KEY, RunningMeanStd.empty((36, 36)))
        assert state.network.dtype == dtype


def test_more_features_than_can_be_counted_over_are_refused_before_training() -> None:
    with pytest.raises(UserError, match=r"20,001 features need 1.6 GB .* --elliptical-features network"):
        elliptical(INTRINSIC, EnvSpec("vector", (20_000,), (3,)))
    with pytest.raises(UserError, match=r"8,000 features and every action need 1.3 GB .* fewer --dimensions"):
        elliptical(ACTION, EnvSpec("vector", (3,), (5,)), features="fourier", dimensions=8_000)


def test_pairs_of_continuous_actions_are_counted_by_the_state_and_the_action_together() -> None:
    spec = EnvSpec("vector", (1,), (), bounds=((-2.0, 2.0), (None, None)))
    bonus = elliptical(ACTION, spec)
    stats = RunningMeanStd.empty((1,))
    _, state = bonus.init(KEY, stats)
    # Features (s, a / sqrt(2), 1) of unit length: (0, 1 / sqrt(2), 0, 1), and with the other sign.
    actions = jnp.array([[1.0, 0.0], [-1.0, 0.0]])
    obs = BonusObs(jnp.zeros(1), jnp.int32(0), stats, 1e5)
    assert bonus.scores_of(None, state, obs, actions).tolist() == pytest.approx([1, 1])
    taken = np.array([[1.0, 0.0]] * 3)  # three times the first
    found, state = jax.jit(bonus.reward)(None, state, steps([np.zeros(1)] * 3, [np.zeros(1)] * 3, taken, stats))
    assert found.ravel().tolist() == pytest.approx([1, 1, 1])
    # The unit vectors have the product (-1/2 + 1) / (1/2 + 1) = 1/3, so C^-1 = I - 3/4 phi phi' gives 1 - 3/4 / 9.
    scores = bonus.scores_of(None, state, obs, actions)
    np.testing.assert_allclose(scores, np.sqrt([1 / 4, 1 - 3 / 36]), rtol=1e-5)


def test_features_of_pairs_tell_actions_apart_in_every_state() -> None:
    bounds = ((-1.0, 1.0),)
    for spec in (EnvSpec("vector", (20,), (), bounds=bounds), EnvSpec("vector", (600,), (), bounds=bounds)):
        bonus = elliptical(ACTION, spec, features="auto", dimensions=64)
        stats = empty_stats(spec)
        _, state = bonus.init(KEY, stats)
        frame = np.ones(spec.shape, np.float32)
        _, state = bonus.reward(None, state, steps([frame] * 4, [frame] * 4, np.full((4, 1), -0.8), stats))
        obs = BonusObs(jnp.asarray(frame), jnp.int32(0), stats, 1e5)
        near, far = bonus.scores_of(None, state, obs, jnp.array([[-0.8], [0.8]])).tolist()
        assert near == pytest.approx(1 / math.sqrt(5), rel=1e-3)
        assert far > 0.85
