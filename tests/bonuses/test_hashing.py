"""Hash counts, by hand."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from known_features import transitions

from action_balance.bonuses.base import ACTION, INTRINSIC, Batch, BonusObs, make_bonus
from action_balance.bonuses.hashing import Hashed, HashTable, Projections, cell, simhash
from action_balance.config.agent import AgentConfig
from action_balance.config.frozen import FrozenDict
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.mixed import empty_stats
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

KEY = jax.random.key(0)
VECTOR = EnvSpec("vector", (2,), (3,))
STATS = RunningMeanStd(jnp.float32(4), jnp.array([1.0, 10.0]), jnp.array([16.0, 400.0]))  # std 2 and 10
# Signs of x, of y, and of 1 - x - y, for normalised x and y.
DIRECTIONS = jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, -1.0, 1.0]])


def make(slot: str, spec: EnvSpec = VECTOR, **settings: Any) -> Hashed:
    agent = AgentConfig(
        method="ppo",
        intrinsic="hash" if slot == INTRINSIC else None,
        action_bonus="hash" if slot == ACTION else None,
        bonus_settings=FrozenDict(hash=settings),
    )
    bonus = make_bonus("hash", slot, agent, spec)
    assert isinstance(bonus, Hashed)
    return bonus


def by_hand(bonus: Hashed) -> HashTable:
    """A table of 8 rows for `DIRECTIONS`: the row is 4 [x > 0] + 2 [y > 0] + [x + y < 1]."""
    table = bonus.init(KEY, STATS)[1]
    return replace(
        table,
        projections=Projections(RunningMeanStd.empty((2,)), DIRECTIONS),
        multipliers=jnp.array([[2**31, 2**30, 2**29], [8, 4, 2]], jnp.uint32),
        offsets=jnp.array([0, 16], jnp.uint32),
    )


def rollout(frames: Any, next_frames: Any, actions: Any, stats: RunningMeanStd = STATS) -> Batch:
    """Steps of one environment."""
    frame, following, action = (np.asarray(one)[:, None] for one in (frames, next_frames, actions))
    return transitions(following, frame=frame, action=action, stats=stats)


def test_a_simhash_has_the_signs_of_projections_of_the_normalised_observation_and_one() -> None:
    projections = Projections(STATS, DIRECTIONS)
    # Normalised: (1, -1), whose third sum is 1; then (5, -5), because 1000 standard deviations are clipped; (0.6, 0.5).
    assert simhash(jnp.array([3.0, 0.0]), projections, 5.0).tolist() == [1, 0, 1]
    assert simhash(jnp.array([2001.0, -9990.0]), projections, 5.0).tolist() == [1, 0, 1]
    assert simhash(jnp.array([2.2, 15.0]), projections, 5.0).tolist() == [1, 1, 0]


def test_discrete_observations_have_rows_of_their_own_while_there_are_enough() -> None:
    taxi = EnvSpec("vector", (8,), (3,), discrete=(3, 5))
    bonus = make(ACTION, taxi, table_bits=4)
    assert not bonus.uses_obs_stats
    table = bonus.init(KEY, RunningMeanStd.empty((8,)))[1]
    one_hot = np.eye(3, dtype=np.float32), np.eye(5, dtype=np.float32)
    frames = jnp.asarray(np.stack([np.concatenate([one_hot[0][i], one_hot[1][j]]) for i in range(3) for j in range(5)]))
    rows, fingerprints = jax.jit(jax.vmap(lambda frame: bonus.locate(table, frame)))(frames)
    assert (rows.tolist(), fingerprints.tolist()) == (list(range(15)), list(range(1, 16)))
    _, after = bonus.reward(None, table, rollout(frames, frames, [0] * 15, RunningMeanStd.empty((8,))))
    assert (after.counts[:15, 0].tolist(), int(after.occupied), float(after.collisions)) == ([1] * 15, 15, 0)
    # With fewer rows than states, the numbers are a code like any other.
    few = make(INTRINSIC, taxi, table_bits=3)
    table = few.init(KEY, RunningMeanStd.empty((8,)))[1]
    multipliers, zeros = jnp.array([[2**29, 2**30], [1, 8]], jnp.uint32), jnp.zeros(2, jnp.uint32)
    assert few.code(table, frames[7]).tolist() == [1, 2]
    assert int(few.locate(replace(table, multipliers=multipliers, offsets=zeros), frames[7])[0]) == 0b101


def test_the_vector_beside_images_counts_as_much_as_all_pixels() -> None:
    mixed = EnvSpec("mixed", (400 + 4,), (3,), "uint8", normalize_obs=True, images=((20, 20, 1),))
    bonus = make(INTRINSIC, mixed, hash_bits=64)
    table = bonus.init(KEY, empty_stats(mixed))[1]
    assert table.projections is not None
    scale = jnp.sqrt((table.projections.directions**2).mean(axis=0))
    np.testing.assert_allclose(scale[400] / scale[:400].mean(), 20, rtol=0.3)
    image, numbers = np.zeros(400, np.uint8), np.array([[0], [1]], np.float32).view(np.uint8)
    one, other = (jnp.asarray(np.concatenate([image, number])) for number in numbers)
    assert (bonus.code(table, one) != bonus.code(table, other)).any()


def test_a_code_is_multiplied_into_a_row_and_a_fingerprint() -> None:
    bonus = make(INTRINSIC, hash_bits=3, table_bits=3)
    state = by_hand(bonus)
    assert [int(one) for one in bonus.locate(state, jnp.array([1.0, -1.0]))] == [0b101, 16 + 8 + 2 + 1]
    assert [int(one) for one in bonus.locate(state, jnp.array([2.0, 2.0]))] == [0b110, 16 + 8 + 4 + 1]
    # Sums are modulo 2^32: twice 2^31 is nothing.
    doubled = replace(state, multipliers=jnp.array([[2**31, 2**31, 2**29], [8, 4, 2]], jnp.uint32))
    assert int(bonus.locate(doubled, jnp.array([2.0, 2.0]))[0]) == 0


def test_the_bonus_of_a_state_uses_the_counts_before_the_rollout() -> None:
    bonus = make(INTRINSIC, hash_bits=3, table_bits=3)
    before = by_hand(bonus)
    assert before.owners is not None
    before = replace(before, counts=before.counts.at[0b001, 0].set(8), owners=before.owners.at[0b001].set(19))
    before = replace(before, occupied=jnp.int32(1))
    new, old = [1.0, -1.0], [-1.0, -1.0]
    found, after = bonus.reward(None, before, rollout([old] * 3, [new, old, new], [0, 0, 0]))
    # A state that is reached twice within the rollout has the same bonus each time.
    assert found[:, 0].tolist() == pytest.approx([1, 1 / 3, 1])
    assert after.counts[:, 0].tolist() == [0, 9, 0, 0, 0, 2, 0, 0]
    assert bonus.metrics(None, after) == {"hash_states": 2, "hash_collisions": 0}
    found, after = bonus.reward(None, after, rollout([old] * 3, [new, old, new], [0, 0, 0]))
    assert found[:, 0].tolist() == pytest.approx([3**-0.5, 10**-0.5, 3**-0.5])
    assert bonus.metrics(None, after) == {"hash_states": 2, "hash_collisions": 0}


def test_the_hash_does_not_change_while_the_running_statistics_move() -> None:
    bonus = make(INTRINSIC)
    frames = np.random.default_rng(0).normal([1.0, 10.0], [2.0, 10.0], (32, 2)).astype(np.float32)
    reward = jax.jit(bonus.reward)
    state = bonus.init(KEY, STATS)[1]
    _, state = reward(None, state, rollout(frames, frames, np.zeros(32, int)))
    rows = jax.jit(jax.vmap(lambda frame: bonus.locate(state, frame)[0]))(jnp.asarray(frames))
    visits = np.asarray(state.counts)[np.asarray(rows), 0]
    moved = RunningMeanStd(jnp.float32(9), jnp.array([-40.0, 7.0]), jnp.array([1.0, 90_000.0]))
    found, _ = reward(None, state, rollout(frames, frames, np.zeros(32, int), moved))
    assert found[:, 0].tolist() == pytest.approx((1 + visits) ** -0.5)
    assert 1 < state.occupied < 32
    # They are those of the warm-up.
    assert jax.tree.all(jax.tree.map(np.array_equal, state.projections.stats, STATS))


def test_codes_that_share_a_row_are_collisions_of_all_but_the_first() -> None:
    bonus = make(INTRINSIC, hash_bits=3, table_bits=1)
    state = by_hand(bonus)
    multipliers = jnp.array([[2**31, 0, 0], [8, 4, 2]], jnp.uint32)  # the row is [x > 0]
    state = replace(state, multipliers=multipliers)
    one, other, third = [-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]  # codes 001, 011 and 110, fingerprints 19, 23 and 29
    _, state = bonus.reward(None, state, rollout([one], [one], [0]))
    assert bonus.metrics(None, state) == {"hash_states": 1, "hash_collisions": 0}
    found, state = bonus.reward(None, state, rollout([one] * 4, [one, other, third, other], [0] * 4))
    assert found[:, 0].tolist() == pytest.approx([2**-0.5, 2**-0.5, 1, 2**-0.5])
    assert state.counts[:, 0].tolist() == [4, 1]
    assert state.owners.tolist() == [19, 29]
    assert bonus.metrics(None, state) == {"hash_states": 2, "hash_collisions": 0.5}
    # Two codes that meet in an empty row: it belongs to one of them, the same one in any order.
    for frames in ([one, other, other, other], [other, other, other, one]):
        empty = replace(by_hand(bonus), multipliers=multipliers)
        _, found = bonus.reward(None, empty, rollout(frames, frames, [0] * 4))
        assert found.owners.tolist() == [23, 0]
        assert bonus.metrics(None, found) == {"hash_states": 1, "hash_collisions": 0.25}


def test_only_the_count_of_the_action_taken_rises_and_one_row_scores_all_actions() -> None:
    bonus = make(ACTION, hash_bits=3, table_bits=3)
    before = by_hand(bonus)
    before = replace(before, counts=before.counts.at[0b101].set(jnp.array([3, 0, 8])))
    one, other = [1.0, -1.0], [-1.0, -1.0]
    found, after = bonus.reward(None, before, rollout([one, one, other], [other] * 3, [2, 1, 0]))
    assert found[:, 0].tolist() == pytest.approx([1 / 3, 1, 1])
    assert after.counts[0b101].tolist() == [3, 1, 9]
    assert after.counts[0b001].tolist() == [1, 0, 0]
    assert int(after.counts.sum()) == 14
    # The state that acts knows the counts, and not who owns a row.
    acting = bonus.acting_state(before)
    assert acting.owners is None
    obs = BonusObs(jnp.array(one), jnp.int32(0), STATS, 5.0)
    assert bonus.scores(None, acting, obs).tolist() == pytest.approx([0.5, 1, 1 / 3])
    metrics = bonus.metrics(None, by_hand(bonus))
    assert metrics == {"action_hash_states": 0, "action_hash_collisions": 0}
    assert not metrics.keys() & make(INTRINSIC).metrics(None, before).keys()


def test_a_cell_is_the_mean_grey_of_an_area_in_a_few_levels() -> None:
    # 3 x 4 pixels in 2 x 2 areas of 1.5 x 2: the middle row belongs to both halves.
    image = jnp.array([[0, 0, 255, 255], [0, 96, 255, 255], [192, 192, 10, 20]], jnp.uint8)
    # Means: (0 + 0 + 0 + 48) / 3 = 16; 255; (48 + 384) / 3 = 144; (255 + 30) / 3 = 95. In 4 levels of 64:
    assert cell(image, 2, 2, 4, 256).tolist() == [0, 3, 2, 1]
    colours = jnp.stack([image // 3, image // 3, image // 3], axis=-1)
    assert cell(colours, 2, 2, 12, 256).tolist() == [0, 3, 2, 1]
    assert cell(jnp.array([[0.0, 0.2], [0.5, 1.0]]), 2, 2, 4, 1).tolist() == [0, 0, 2, 3]


def test_only_8_bit_images_with_more_rows_and_columns_than_a_cell_image_have_cells() -> None:
    assert make(INTRINSIC, EnvSpec("image", (9, 12), (3,), dtype="uint8")).hashes_cells
    assert not make(INTRINSIC, EnvSpec("image", (9, 12), (3,), dtype="float32")).hashes_cells  # of unknown range
    assert not make(INTRINSIC, EnvSpec("image", (7, 7, 3), (3,), dtype="uint8")).hashes_cells
    assert not make(INTRINSIC, EnvSpec("image", (10, 10, 4), (3,), dtype="uint8")).hashes_cells
    assert not make(INTRINSIC, EnvSpec("image", (84, 84), (3,), dtype="uint8"), hash_kind="simhash").hashes_cells
    assert make(INTRINSIC, EnvSpec("image", (10, 10, 4), (3,)), hash_kind="cells").hashes_cells
    assert make(INTRINSIC).uses_obs_stats
    with pytest.raises(UserError, match="--hash-kind simhash"):
        make(INTRINSIC, hash_kind="cells")
