"""NGU by hand: neighbours within the episode, the kernel, and the modulation by RND."""

from collections import deque
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from known_features import STATS, Identity, small_bonus, steps, transitions

from action_balance.bonuses.base import Batch
from action_balance.bonuses.ngu import (
    HORIZON,
    NGU,
    EpisodicMemory,
    MeanDistance,
    NGUState,
    episodic_novelty,
    modulation,
    nearest_neighbours,
)
from action_balance.config.bonuses import NGUConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.errors import UserError

INF = float("inf")
KERNEL = NGUConfig(neighbours=2, kernel_epsilon=0.1, cluster_distance=0.1, max_similarity=1.2)


def start(envs: int = 1, **settings: Any) -> tuple[NGU, Any, Any]:
    bonus = small_bonus("ngu", envs, **{"neighbours": 2, "episodic_memory": 3, **settings})
    assert isinstance(bonus, NGU)
    params, state = jax.jit(bonus.init)(jax.random.key(0), STATS)
    return bonus, eqx.tree_at(lambda p: p.dynamics.encoder, params, Identity()), state


def test_novelty_is_one_over_the_root_of_the_summed_kernels() -> None:
    # Relative distances 0 and 0.5 are 0 and 0.4 outside the cluster: kernels 1 and 0.1 / 0.5.
    novelty = episodic_novelty(jnp.array([0.0, 1.0]), 2.0, KERNEL)
    assert float(novelty) == pytest.approx(1 / (1.2**0.5 + 0.001))


def test_what_is_too_similar_has_no_novelty() -> None:
    # Both are within the cluster: the root of 2 is above 1.2.
    assert float(episodic_novelty(jnp.array([0.0, 0.1]), 2.0, KERNEL)) == 0


def test_fewer_neighbours_count_as_if_there_were_more_like_them() -> None:
    # One kernel of 0.1 / (0.9 + 0.1), twice.
    novelty = episodic_novelty(jnp.array([2.0, INF]), 2.0, KERNEL)
    assert float(novelty) == pytest.approx(1 / (0.2**0.5 + 0.001))


def test_the_mean_distance_is_over_neighbours_that_exist_and_forgets_old_steps() -> None:
    distance = MeanDistance(jnp.zeros(()), jnp.zeros((), jnp.int32)).update(jnp.array([[1.0, INF], [3.0, INF]]))
    assert float(distance.mean) == 2
    distance = distance.update(jnp.array([[4.0, 8.0], [6.0, INF]]))
    assert (float(distance.mean), int(distance.steps)) == (4, 2)
    old = MeanDistance(jnp.array(1.0), jnp.array(HORIZON)).update(jnp.array([[1.0 + HORIZON]]))
    assert (float(old.mean), int(old.steps)) == (2, HORIZON)


def test_rnd_scales_novelty_by_its_standardised_error_within_limits() -> None:
    moments = RunningMeanStd(jnp.float32(2), jnp.array(1.0), jnp.array(8.0))  # mean 1, standard deviation 2
    assert modulation(jnp.array([1.0, 3.0, 0.0, 21.0]), moments, 5.0).tolist() == pytest.approx([1, 2, 1, 5])
    assert modulation(jnp.array([9.0]), RunningMeanStd.empty(), 5.0).tolist() == [1]


def reference(rollout: Batch, memories: list[deque[Any]]) -> list[list[list[float]]]:
    """Distances of the two nearest neighbours, step by step with a queue per environment."""
    t = jax.tree.map(np.asarray, rollout.transitions)
    found: list[list[list[float]]] = []
    for before, after, ended in zip(t.frame, t.next_frame, t.truncated, strict=True):
        found.append([])
        for n, memory in enumerate(memories):
            if not memory:
                memory.append(before[n])
            distances = sorted(float(((one - after[n]) ** 2).sum()) for one in memory)
            found[-1].append([*distances, INF][:2])
            memory.append(after[n])
            if ended[n]:
                memory.clear()
    return found


def mean_distances(neighbours: list[list[list[float]]]) -> list[float]:
    """Means of the finite distances of each step, averaged over the steps so far."""
    means = [np.mean([d for near in now for d in near if d < INF]) for now in neighbours]
    return [float(np.mean(means[: t + 1])) for t in range(len(means))]


def test_neighbours_are_those_of_the_newest_embeddings_of_the_episode() -> None:
    bonus, params, state = start(envs=2)
    draws = np.random.default_rng(0)
    frames, first = draws.integers(-3, 4, (2, 8, 2, 2))  # where an episode begins, the first observation matters
    # One environment has an episode of one step and one that ends with the first rollout, the other none that ends.
    rollout = transitions(frames, frame=first, ended=[[t in (1, 2, 3), False] for t in range(8)])
    memories: list[deque[Any]] = [deque(maxlen=3), deque(maxlen=3)]
    neighbours, no_errors = reference(rollout, memories), RunningMeanStd.empty()
    each_step = jax.vmap(jax.vmap(partial(episodic_novelty, config=bonus.config), in_axes=(0, None)))
    expected = each_step(jnp.array(neighbours), jnp.array(mean_distances(neighbours)))

    @jax.jit
    def novelty(state: NGUState, rollout: Batch) -> tuple[Array, NGUState]:
        # Without moments, RND does not change the novelty.
        return bonus.reward(params, eqx.tree_at(lambda s: s.errors, state, no_errors), rollout)

    whole, after = novelty(state, rollout)
    np.testing.assert_allclose(whole, expected, rtol=1e-5)
    # Two rollouts give the same as one of both.
    begun, half = novelty(state, steps(rollout, 0, 4))
    rest, again = novelty(half, steps(rollout, 4, 8))
    np.testing.assert_allclose(np.concatenate([begun, rest]), expected, rtol=1e-5)
    assert half.memory.added.tolist() == [0, 5]
    for found in (after, again):
        assert found.memory.added.tolist() == [5, 9]
        for rows, memory in zip(found.memory.embeddings.tolist(), memories, strict=True):
            assert sorted(rows) == sorted(one.tolist() for one in memory)
        assert float(found.distance.mean) == pytest.approx(mean_distances(neighbours)[-1])
    assert bonus.new_episodes(after).memory.added.tolist() == [0, 0]
    assert bonus.metrics(params, after)["ngu_memory"] == 3


def test_distances_far_from_zero_are_not_lost_in_rounding() -> None:
    memory = EpisodicMemory(jnp.array([[1000.0, 1000.0], [1000.5, 1000.0]]), jnp.int32(2))
    reached = jnp.array([[1000.5, 1000.0], [1000.0, 1000.25]])
    _, found = nearest_neighbours(
        memory, jnp.zeros((2, 2)), reached, jnp.array([2, 3]), jnp.zeros(2, bool), jnp.int32(4), count=2
    )
    # The first is the second of the memory. Then the first of the memory has given way.
    np.testing.assert_allclose(found, [[0, 0.25], [0.3125, 0.3125]], atol=1e-6)


def test_the_modulation_uses_the_networks_and_moments_from_before_the_rollout() -> None:
    bonus, params, state = start()
    rollout = transitions([[[1.0, 2.0]], [[-1.0, 3.0]]])
    rewards = jax.jit(bonus.reward)
    novelty, _ = rewards(params, state, rollout)
    errors, _ = bonus.rnd.reward(params.rnd, state.rnd, rollout)
    moments = RunningMeanStd(jnp.float32(4), errors.min() / 2, 4 * errors.max() ** 2)
    reward, after = rewards(params, eqx.tree_at(lambda s: s.errors, state, moments), rollout)
    factors = 1 + (errors - errors.min() / 2) / errors.max()
    assert (factors > 1).all()
    np.testing.assert_allclose(reward, novelty * factors, rtol=1e-5)
    assert float(after.errors.mean) == pytest.approx(float((4 * moments.mean + errors.sum()) / 6), rel=1e-5)


def test_the_loss_is_that_of_the_inverse_model_and_that_of_rnd() -> None:
    bonus, params, state = start()
    batch = transitions([[1.0, 2.0], [0.0, 1.0]], action=[1, 2])
    inverse = params.dynamics.losses(params.dynamics.encode(batch))
    distilled = bonus.rnd.loss(params.rnd, state.rnd, batch)
    np.testing.assert_allclose(bonus.loss(params, state, batch), inverse + distilled, rtol=1e-6)


def test_the_memory_must_hold_all_neighbours() -> None:
    with pytest.raises(UserError, match="--neighbours must be at most 4, not 5"):
        NGUConfig(neighbours=5, episodic_memory=4)
