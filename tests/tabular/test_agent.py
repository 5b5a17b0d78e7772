from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import plain_grid
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from action_balance.envs.grid.dynamics import GridState, reset
from action_balance.envs.grid.maps import open_world
from action_balance.envs.grid.world import GridWorld
from action_balance.tabular import agent
from action_balance.tabular.agent import Batch, Run, Tables
from action_balance.tabular.settings import TabularSettings

LEFT, RIGHT, UP, DOWN = range(4)

#: (s, a, s') in the order in which they happened.
Transitions = Sequence[tuple[int, int, int]]
Learn = Callable[[Tables, Batch, float, TabularSettings], Tables]

PAPER = TabularSettings()

#: Numbers that are easy on paper: gamma * lambda is 0.25, and a reward halves with every visit.
EASY = TabularSettings(
    update_every=4, action_coef=2.0, state_coef=0.8, reward_base=2.0, gamma=0.5, gae_lambda=0.5, value_rate=0.1
)


def to_batch(transitions: Transitions) -> Batch:
    return Batch(*map(jnp.asarray, np.array(transitions, np.int32).T))


def tables(counts: Sequence[Sequence[int]], advantage: Sequence[Sequence[float]], value: Sequence[float]) -> Tables:
    return Tables(jnp.array(counts, jnp.int32), jnp.array(advantage, jnp.float32), jnp.array(value, jnp.float32))


def learn_jitted(before: Tables, batch: Batch, state_coef: float, settings: TabularSettings) -> Tables:
    return jax.jit(agent.learn, static_argnames="settings")(before, batch, state_coef, settings=settings)


def learn_in_a_lane(before: Tables, batch: Batch, state_coef: float, settings: TabularSettings) -> Tables:
    """The second of three lanes; its neighbours learn other things from other tables."""
    before, batch = jax.device_get((before, batch))
    others = [
        (jax.tree.map(lambda table: table + 1, before), jax.tree.map(lambda field: field[::-1], batch), np.float32(3)),
        (jax.tree.map(lambda table: table * 0, before), jax.tree.map(lambda field: field * 0, batch), np.float32(0.5)),
    ]
    lanes = [others[0], (before, batch, np.float32(state_coef)), others[1]]
    stacked = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *lanes)
    learned = jax.jit(jax.vmap(partial(agent.learn, settings=settings)))(*jax.tree.map(jnp.asarray, stacked))
    return jax.tree.map(lambda table: table[1], jax.device_get(learned))


ways = pytest.mark.parametrize("learn", [agent.learn, learn_jitted, learn_in_a_lane])


def policy(learned: Tables, action_coef: float) -> np.ndarray:
    """pi(s, .) of every cell, (S, A)."""
    return np.asarray(all_policies(learned.counts, learned.advantage, action_coef))


@jax.jit
def all_policies(counts: jax.Array, advantage: jax.Array, action_coef: float) -> jax.Array:
    return jax.nn.softmax(jax.vmap(agent.policy_logits, in_axes=(0, 0, None))(counts, advantage, action_coef))


def check(learned: Tables, counts: object, advantage: object, value: object) -> None:
    np.testing.assert_array_equal(learned.counts, counts)
    np.testing.assert_allclose(learned.advantage, np.array(advantage), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(learned.value, np.array(value), rtol=1e-5, atol=1e-7)


# A 2x2 world has the cells  2 3
#                            0 1
# From 0 the agent goes right, left, right, up: the pair (0, right) occurs twice, and so cell 1 is reached twice.
THERE_AND_BACK: Transitions = [(0, RIGHT, 1), (1, LEFT, 0), (0, RIGHT, 1), (1, UP, 3)]


def test_the_four_moves_of_the_hand_computed_batch_are_moves_of_the_world() -> None:
    successor = GridWorld.create(2, 2).successor
    assert [int(successor[cell, action]) for cell, action, _ in THERE_AND_BACK] == [1, 0, 1, 3]


@ways
def test_a_first_update_by_hand(learn: Learn) -> None:
    # Nothing was counted, so every reward is 0.1; every value is 0, so every delta is 0.1 too.
    # A_3 = 0.1
    # A_2 = 0.1 + 0.99 * 0.95 * 0.1      = 0.19405
    # A_1 = 0.1 + 0.9405 * 0.19405       = 0.282504025
    # A_0 = 0.1 + 0.9405 * 0.282504025   = 0.3656950355
    # (0, right) keeps A_0, not A_2. Cell 1 is reached twice: V(1) = 2 * 0.1 * 0.1.
    learned = learn(agent.empty_tables(4), to_batch(THERE_AND_BACK), 0.1, PAPER)
    check(
        learned,
        counts=[[0, 2, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        advantage=[[0, 0.3656950355, 0, 0], [0.282504025, 0, 0.1, 0], [0] * 4, [0] * 4],
        value=[0.01, 0.02, 0, 0.01],
    )
    # Cell 0: sqrt(2) / (1, 3, 1, 1) + (0, 0.3656950, 0, 0) = (1.4142136, 0.8370996, 1.4142136, 1.4142136), of which
    #         the softmax is (1, 0.5615166, 1, 1) / 3.5615166.
    # Cell 1: sqrt(2) / (2, 1, 2, 1) + (0.2825040, 0, 0.1, 0) = (0.9896108, 1.4142136, 0.8071068, 1.4142136), of which
    #         the softmax is (0.6540295, 1, 0.5449252, 1) / 3.1989547.
    expected = [
        [0.2807793, 0.1576622, 0.2807793, 0.2807793],
        [0.2044510, 0.3126021, 0.1703448, 0.3126021],
        [0.25, 0.25, 0.25, 0.25],
        [0.25, 0.25, 0.25, 0.25],
    ]
    np.testing.assert_allclose(policy(learned, 1.0), expected, atol=5e-7)


@ways
def test_a_later_update_by_hand(learn: Learn) -> None:
    before = tables(
        counts=[[0, 0, 1, 0], [1, 0, 1, 0], [0, 3, 0, 0], [0, 0, 0, 0]],
        advantage=[[0, 0, 0.5, 0], [9, 0, 9, 0], [0, 0.7, 0, 0], [0, 0, 0, 0]],
        value=[0.2, 0.4, 0.6, -0.4],
    )
    # Visits before the batch: N(0) = 1, N(1) = 2, N(3) = 0, so r = 0.8 / 2^N = 0.2, 0.4, 0.2, 0.8.
    # delta_0 = 0.2 + 0.5 * V(0) - V(1) = 0.2 + 0.1 - 0.4 = -0.1
    # delta_1 = 0.4 + 0.5 * V(1) - V(0) = 0.4 + 0.2 - 0.2 =  0.4
    # delta_2 = 0.2 + 0.5 * V(3) - V(1) = 0.2 - 0.2 - 0.4 = -0.4
    # delta_3 = 0.8 + 0          - V(3) = 0.8 + 0.4       =  1.2
    # A_3 = 1.2,  A_2 = -0.4 + 0.3 = -0.1,  A_1 = 0.4 - 0.025 = 0.375,  A_0 = -0.1 + 0.09375 = -0.00625
    # V(0) = 0.2 + 0.04,  V(1) = 0.4 + 0.1 * (-0.1 - 0.4),  V(3) = -0.4 + 0.12
    learned = learn(before, to_batch(THERE_AND_BACK), 0.8, EASY)
    check(
        learned,
        counts=[[0, 2, 1, 0], [2, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 0]],
        advantage=[[0, -0.00625, 0.5, 0], [0.375, 0, 1.2, 0], [0, 0.7, 0, 0], [0, 0, 0, 0]],
        value=[0.24, 0.35, 0.6, -0.28],
    )
    # With c_a = 2. Cell 1: 2 * sqrt(4) / (3, 1, 3, 1) + (0.375, 0, 1.2, 0) = (1.7083333, 4, 2.5333333, 4), of which the
    # softmax is (0.1010978, 1, 0.2306932, 1) / 2.3317910.
    # Cell 0: 2 * sqrt(3) / (1, 3, 2, 1) + (0, -0.00625, 0.5, 0) = (3.4641016, 1.1484505, 2.2320508, 3.4641016), of
    # which the softmax is (1, 0.0987019, 0.2916938, 1) / 2.3903957.
    # Cell 2 was not acted from: 2 * sqrt(3) / (1, 4, 1, 1) + (0, 0.7, 0, 0), as before.
    expected = [
        [0.4183408, 0.0412910, 0.1220274, 0.4183408],
        [0.0433563, 0.4288549, 0.0989339, 0.4288549],
    ]
    after = policy(learned, 2.0)
    np.testing.assert_allclose(after[:2], expected, atol=5e-7)
    np.testing.assert_array_equal(after[2:], policy(before, 2.0)[2:])


# Rule 1: the reward of reaching a cell.


def test_the_reward_fades_by_the_base_for_every_visit() -> None:
    visits = jnp.array([0, 1, 2, 35])
    expected = [0.1, 0.1 / 1.02, 0.1 / 1.0404, 0.1 / 1.02**35]  # 1.02^35 = 2: after 35 visits half is left
    np.testing.assert_allclose(agent.next_state_bonus(visits, 0.1, PAPER), expected, rtol=1e-6)
    np.testing.assert_allclose(agent.next_state_bonus(visits, 0.1, PAPER)[3], 0.05, rtol=2e-4)


def test_a_base_of_1_never_fades() -> None:
    unfading = replace(PAPER, reward_base=1.0)
    np.testing.assert_array_equal(agent.next_state_bonus(jnp.array([0, 5, 10**6]), 0.5, unfading), [0.5, 0.5, 0.5])


def test_a_cell_visited_very_often_is_worth_nothing() -> None:
    assert float(agent.next_state_bonus(jnp.array(10**6), 0.1, PAPER)) == 0.0


def test_the_reward_belongs_to_the_cell_reached_and_sums_its_counts_over_actions() -> None:
    before = tables([[50, 50, 50, 50], [1, 2, 3, 4]], [[0] * 4] * 2, [0, 0])
    learned = learn_jitted(before, to_batch([(0, RIGHT, 1)]), 0.1, PAPER)
    np.testing.assert_allclose(learned.advantage[0, RIGHT], 0.1 * 1.02**-10, rtol=1e-6)


def test_rewards_use_the_counts_from_before_the_batch() -> None:
    # 1 is acted from in the batch before it is reached again: its reward does not fade within the batch.
    learned = learn_jitted(
        agent.empty_tables(2),
        to_batch([(0, RIGHT, 1), (1, UP, 1), (1, LEFT, 0), (0, DOWN, 0), (0, RIGHT, 1)]),
        0.1,
        EASY,
    )
    # All values are 0, so every delta is the reward: V(s') gains 0.1 * 0.1 per occurrence.
    np.testing.assert_allclose(learned.value, [0.02, 0.03], rtol=1e-6)


# Rule 2: one-step errors between cells reached.


def test_the_last_transition_of_a_batch_has_no_next_value() -> None:
    before = tables([[0] * 4] * 2, [[0] * 4] * 2, [5.0, 3.0])
    learned = learn_jitted(before, to_batch([(0, RIGHT, 1)]), 0.0, EASY)
    np.testing.assert_allclose(learned.advantage[0, RIGHT], -3.0)  # 0 + 0.5 * 0 - V(1)


def test_the_next_value_is_that_of_the_next_cell_reached() -> None:
    before = tables([[0] * 4] * 3, [[0] * 4] * 3, [5.0, 3.0, 7.0])
    learned = learn_jitted(before, to_batch([(0, RIGHT, 1), (1, RIGHT, 2)]), 0.0, replace(EASY, gae_lambda=0.0))
    np.testing.assert_allclose(learned.advantage[0, RIGHT], 0.5 * 7 - 3)
    np.testing.assert_allclose(learned.advantage[1, RIGHT], -7)


def test_values_in_the_errors_are_those_from_before_the_batch() -> None:
    before = tables([[0] * 4] * 2, [[0] * 4] * 2, [0.0, 10.0])
    learned = learn_jitted(
        before, to_batch([(1, UP, 1), (1, DOWN, 1), (1, RIGHT, 1)]), 0.0, replace(EASY, gae_lambda=0.0)
    )
    np.testing.assert_allclose(learned.advantage[1], [0, -10, -5, -5])


def test_the_end_of_an_episode_inside_a_batch_is_not_noticed() -> None:
    # The second transition reached cell 1, then the episode ended and the next one begins in cell 0: the batch joins
    # them as if nothing had happened.
    before = tables([[0] * 4] * 4, [[0] * 4] * 4, [1.0, 2.0, 4.0, 8.0])
    batch = [(0, UP, 2), (3, DOWN, 1), (0, RIGHT, 1), (1, UP, 3)]
    learned = learn_jitted(before, to_batch(batch), 0.0, EASY)
    # deltas: 0.5 * 2 - 4 = -3, 0.5 * 2 - 2 = -1, 0.5 * 8 - 2 = 2, -8; then A = -8, 2 - 2 = 0, -1 + 0, -3 - 0.25
    np.testing.assert_allclose(learned.advantage[0, UP], -3.25)
    np.testing.assert_allclose(learned.advantage[3, DOWN], -1.0)
    np.testing.assert_allclose(learned.advantage[0, RIGHT], 0.0)
    np.testing.assert_allclose(learned.advantage[1, UP], -8.0)


# Rule 3: advantages.


def test_advantages_decay_by_gamma_times_lambda_from_the_end() -> None:
    learned = learn_jitted(agent.empty_tables(5), to_batch([(s, RIGHT, s + 1) for s in range(4)]), 1.0, PAPER)
    decay = 0.99 * 0.95
    expected = [1 + decay + decay**2 + decay**3, 1 + decay + decay**2, 1 + decay, 1]
    np.testing.assert_allclose(learned.advantage[:4, RIGHT], expected, rtol=1e-6)


# Rule 4: the advantage table.


@ways
def test_the_earliest_occurrence_of_a_pair_stays(learn: Learn) -> None:
    # (1, up) bumps into the upper edge three times, with A_2 = 0.8, A_1 = 0.8 + 0.2 = 1 and A_0 = 0.8 + 0.25 = 1.05.
    learned = learn(agent.empty_tables(2), to_batch([(1, UP, 1)] * 3), 0.8, EASY)
    np.testing.assert_allclose(learned.advantage[1, UP], 1.05, rtol=1e-6)


def test_an_advantage_is_replaced_and_not_added_to() -> None:
    before = tables([[0] * 4] * 2, [[0, 100, 0, 0], [0] * 4], [0, 0])
    learned = learn_jitted(before, to_batch([(0, RIGHT, 1)]), 0.8, EASY)
    np.testing.assert_allclose(learned.advantage[0, RIGHT], 0.8, rtol=1e-6)


def test_advantages_of_pairs_not_in_the_batch_stay() -> None:
    before = tables([[0] * 4] * 2, [[1, 2, 3, 4], [5, 6, 7, 8]], [0, 0])
    learned = learn_jitted(before, to_batch([(0, RIGHT, 1)]), 0.8, EASY)
    np.testing.assert_allclose(learned.advantage, np.array([[1, 0.8, 3, 4], [5, 6, 7, 8]]), rtol=1e-6)


# Rule 5: values and counts.


@ways
def test_values_add_up_over_all_occurrences(learn: Learn) -> None:
    before = tables([[0] * 4] * 2, [[0] * 4] * 2, [0.0, 1.0])
    learned = learn(before, to_batch([(1, UP, 1)] * 3), 0.0, EASY)
    # deltas 0.5 - 1, 0.5 - 1 and -1, all with V(1) = 1: V(1) = 1 + 0.1 * (-0.5 - 0.5 - 1)
    np.testing.assert_allclose(learned.value, [0, 0.8], rtol=1e-6)


def test_the_value_that_learns_is_that_of_the_cell_reached() -> None:
    learned = learn_jitted(agent.empty_tables(3), to_batch([(0, RIGHT, 1)]), 0.8, EASY)
    np.testing.assert_allclose(learned.value, [0, 0.08, 0], rtol=1e-6)


@ways
def test_every_occurrence_of_a_pair_is_counted(learn: Learn) -> None:
    before = tables([[1, 2, 3, 4], [5, 6, 7, 8]], [[0] * 4] * 2, [0, 0])
    learned = learn(before, to_batch([(0, RIGHT, 1), (0, RIGHT, 1), (1, DOWN, 1), (0, RIGHT, 1)]), 0.1, PAPER)
    np.testing.assert_array_equal(learned.counts, [[1, 5, 3, 4], [5, 6, 7, 9]])


# Rule 6: the policy.


@pytest.mark.parametrize("transform", [lambda function: function, jax.jit])
def test_the_policy_weighs_root_of_visits_over_count_and_adds_the_advantage(
    transform: Callable[[Callable[..., jax.Array]], Callable[..., jax.Array]],
) -> None:
    counts, advantage = jnp.array([0, 1, 3, 5]), jnp.array([0.0, -1.0, 2.0, 0.5])
    # 0.5 * sqrt(9) / (1, 2, 4, 6) + A
    logits = transform(agent.policy_logits)(counts, advantage, 0.5)
    np.testing.assert_allclose(logits, [1.5, 0.75 - 1, 0.375 + 2, 0.25 + 0.5], rtol=1e-6)


def test_the_policy_of_a_cell_never_acted_from_is_uniform() -> None:
    # Cell 1 was reached and has a value, but no action has been taken from it yet.
    learned = learn_jitted(agent.empty_tables(2), to_batch([(0, RIGHT, 1)]), 0.8, EASY)
    assert float(learned.value[1]) > 0
    np.testing.assert_array_equal(policy(learned, 1.0)[1], [0.25] * 4)


def test_a_cells_policy_changes_only_when_it_was_acted_from_in_the_batch() -> None:
    first = learn_jitted(agent.empty_tables(3), to_batch([(0, RIGHT, 1), (1, RIGHT, 2)]), 0.8, EASY)
    second = learn_jitted(first, to_batch([(1, LEFT, 0), (1, RIGHT, 2)]), 0.8, EASY)
    before, after = policy(first, 1.0), policy(second, 1.0)
    np.testing.assert_array_equal(after[0], before[0])
    assert (after[1] != before[1]).all()


def test_balance_alone_prefers_the_action_taken_least() -> None:
    weights = policy(tables([[4, 3, 0, 1]], [[0] * 4], [0]), 1.0)[0]
    assert list(np.argsort(weights)) == [0, 1, 3, 2]


# Sampling.


def test_a_uniform_number_picks_the_action_whose_share_it_falls_into() -> None:
    logits = jnp.log(jnp.array([0.1, 0.2, 0.3, 0.4]))
    picked = [int(agent.choose(logits, jnp.float32(u))) for u in (0.0, 0.09, 0.11, 0.29, 0.31, 0.59, 0.61, 0.9999)]
    assert picked == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_uniform_number_on_a_border_belongs_to_the_next_action() -> None:
    picked = [int(agent.choose(jnp.zeros(4), jnp.float32(u))) for u in (0.0, 0.25, 0.5, 0.75)]
    assert picked == [0, 1, 2, 3]


def test_every_uniform_number_picks_an_action_and_large_logits_do_no_harm() -> None:
    nearly_1 = jnp.float32(1 - 2**-24)
    assert int(agent.choose(jnp.array([1000.0, 0.0, 0.0, -1000.0]), nearly_1)) == 0
    assert int(agent.choose(jnp.array([0.0, 0.0, 0.0, 1000.0]), jnp.float32(0.001))) == 3
    assert int(agent.choose(jnp.zeros(4), nearly_1)) == 3


def test_actions_are_drawn_with_the_probabilities_of_the_policy() -> None:
    logits = jnp.array([1.0, 0.0, -1.0, 2.0])
    uniforms = (jnp.arange(100_000) + 0.5) / 100_000
    picked = jax.vmap(agent.choose, in_axes=(None, 0))(logits, uniforms)
    shares = np.bincount(np.asarray(picked), minlength=4) / 100_000
    np.testing.assert_allclose(shares, jax.nn.softmax(logits), atol=2e-5)


# Collecting and learning: one run.

advance = jax.jit(agent.advance, static_argnames="settings")
collect = jax.jit(agent.collect)


def begin(world: GridWorld, action_coef: float, state_coef: float, seed: int = 0) -> Run:
    return agent.begin(world, jax.random.key(seed), jnp.float32(action_coef), jnp.float32(state_coef), world.goals)


def test_a_run_begins_at_the_start_with_empty_tables() -> None:
    run = begin(GridWorld.create(3, 2, start=(1, 1)), 1.0, 0.1)
    check(run.tables, np.zeros((6, 4)), np.zeros((6, 4)), np.zeros(6))
    assert (int(run.state.cell), int(run.state.time), int(run.updates), int(run.steps)) == (4, 0, 0, 0)
    assert not bool(run.reached)


def test_the_agent_learns_every_128_steps_from_exactly_these_128() -> None:
    run = begin(open_world(6), 1.0, 0.1)
    for update in range(1, 4):
        following, batch = advance(open_world(6), run, settings=PAPER)
        assert batch.cell.shape == (128,)
        expected = jax.jit(agent.learn, static_argnames="settings")(run.tables, batch, 0.1, settings=PAPER)
        check(following.tables, expected.counts, expected.advantage, expected.value)
        assert int(following.tables.counts.sum()) == 128 * update
        assert int(following.updates) == update
        assert int(following.steps) == 128 * update
        run = following


def test_all_steps_of_a_batch_are_taken_with_the_policy_from_before_it() -> None:
    world = open_world(6)
    run, _ = advance(world, begin(world, 1.0, 0.5), settings=PAPER)
    uniforms = np.asarray(jax.random.uniform(jax.random.fold_in(run.key, 1), (128,)))
    _, batch = advance(world, run, settings=PAPER)
    shares = policy(run.tables, 1.0)
    expected = [
        plain_grid.draw_action([float(share) for share in shares[cell]], float(uniform))
        for cell, uniform in zip(np.asarray(batch.cell), uniforms, strict=True)
    ]
    assert list(batch.action) == expected


def test_every_method_acts_uniformly_until_it_first_learns_and_differently_after() -> None:
    world = open_world(6)
    firsts, seconds = [], []
    for action_coef, state_coef in [(0.0, 0.0), (1.0, 0.0), (0.0, 0.1), (1.0, 0.1)]:
        run, first = advance(world, begin(world, action_coef, state_coef), settings=PAPER)
        firsts.append(tuple(np.asarray(first.cell).tolist()))
        seconds.append(tuple(np.asarray(advance(world, run, settings=PAPER)[1].cell).tolist()))
    assert len(set(firsts)) == 1
    assert len(set(seconds)) == 4


def test_random_stays_uniform_however_much_it_learns() -> None:
    world = open_world(3)
    run = begin(world, 0.0, 0.0)
    for _ in range(5):
        run, _ = advance(world, run, settings=PAPER)
    assert int(run.tables.counts.sum()) == 5 * 128
    np.testing.assert_array_equal(policy(run.tables, 0.0), np.full((9, 4), 0.25))


def test_balance_alone_learns_no_advantage() -> None:
    world = open_world(3)
    run = begin(world, 1.0, 0.0)
    for _ in range(5):
        run, _ = advance(world, run, settings=PAPER)
    np.testing.assert_array_equal(run.tables.advantage, np.zeros((9, 4)))
    np.testing.assert_array_equal(run.tables.value, np.zeros(9))


def test_rnd_has_no_action_bonus() -> None:
    world = open_world(3)
    run, _ = advance(world, begin(world, 0.0, 0.1), settings=PAPER)
    np.testing.assert_allclose(policy(run.tables, 0.0), jax.nn.softmax(run.tables.advantage), rtol=1e-6)


def test_the_steps_of_a_batch_follow_one_another_and_an_episode_of_200_begins_anew_in_the_second() -> None:
    world = GridWorld.create(6, 6, start=(5, 5))
    run = begin(world, 1.0, 0.1)
    cells: list[int] = []
    reached: list[int] = []
    for _ in range(4):
        run, batch = advance(world, run, settings=PAPER)
        np.testing.assert_array_equal(batch.reached, world.successor[batch.cell, batch.action])
        cells.extend(np.asarray(batch.cell).tolist())
        reached.extend(np.asarray(batch.reached).tolist())
    assert cells[0] == cells[200] == cells[400] == 35
    assert reached[199] != 35
    assert all(cells[t + 1] == reached[t] for t in range(511) if (t + 1) % 200)


# Uniform numbers that pick an action while the policy is uniform.
TO_LEFT, TO_RIGHT, TO_UP, TO_DOWN = 0.1, 0.3, 0.6, 0.9


def test_a_run_ends_with_the_goal_and_counts_the_steps_of_all_its_episodes() -> None:
    # Episodes of three steps in a row of three cells: the goal is not reached in the first, but with the second step
    # of the second. What comes later no longer counts.
    world = GridWorld.create(3, 1, goals=[(2, 0)], episode_steps=3)
    draws = [TO_LEFT, TO_RIGHT, TO_LEFT, TO_RIGHT, TO_RIGHT, TO_RIGHT, TO_RIGHT, TO_UP]
    run, batch = collect(world, begin(world, 1.0, 0.1), jnp.array(draws, jnp.float32))
    assert list(batch.cell[:5]) == [0, 0, 1, 0, 1]
    assert list(batch.reached[:5]) == [0, 1, 0, 1, 2]
    assert bool(run.reached)
    assert int(run.steps) == 5


def test_a_run_without_its_goal_counts_every_step() -> None:
    world = GridWorld.create(3, 1, goals=[(2, 0)], episode_steps=3)
    run, _ = collect(world, begin(world, 1.0, 0.1), jnp.full(8, TO_LEFT, jnp.float32))
    assert not bool(run.reached)
    assert int(run.steps) == 8


def test_a_goal_reached_in_one_batch_stays_reached_in_the_next() -> None:
    world = GridWorld.create(3, 1, goals=[(2, 0)])
    run, _ = collect(world, begin(world, 1.0, 0.1), jnp.full(8, TO_RIGHT, jnp.float32))
    run, _ = collect(world, run, jnp.full(8, TO_LEFT, jnp.float32))
    assert bool(run.reached)
    assert int(run.steps) == 2


def test_the_goals_of_the_run_replace_those_of_the_world() -> None:
    world = GridWorld.create(3, 1, goals=[(2, 0)])
    run = agent.begin(world, jax.random.key(0), jnp.float32(1), jnp.float32(1), np.array([False, True, False]))
    run, batch = collect(world, run, jnp.full(8, TO_RIGHT, jnp.float32))
    assert int(batch.reached[0]) == 1
    assert bool(run.reached)
    assert int(run.steps) == 1


def test_collecting_does_not_learn() -> None:
    world = open_world(3)
    run, _ = collect(world, begin(world, 1.0, 0.1), jnp.full(8, TO_RIGHT, jnp.float32))
    check(run.tables, np.zeros((9, 4)), np.zeros((9, 4)), np.zeros(9))


# Properties. Shapes are few, so that nothing is compiled anew for each example.

BATCH, WIDTH, HEIGHT = 24, 4, 3


@st.composite
def worlds(draw: st.DrawFn) -> GridWorld:
    """A world of 4x3 cells with any walls, goals and time limit."""
    cells = [(x, y) for x in range(WIDTH) for y in range(HEIGHT)]
    start, free, *rest = draw(st.permutations(cells))
    walls = draw(st.sets(st.sampled_from(rest)))
    goals = draw(st.sets(st.sampled_from([free, *rest]), max_size=2)) - walls
    return GridWorld.create(WIDTH, HEIGHT, walls, start, goals, draw(st.integers(1, 40)))


learned_settings = st.sampled_from(
    [
        replace(PAPER, update_every=BATCH),
        replace(EASY, update_every=BATCH),
        TabularSettings(BATCH, 0.3, 5.0, 1.5, 0.9, 1.0, 0.7),
        TabularSettings(BATCH, 4.0, 0.01, 1.0, 1.0, 0.0, 0.01),
    ]
)
coefficient = st.floats(0, 3, width=32)


@settings(max_examples=60, deadline=None)
@given(
    world=worlds(), chosen=learned_settings, action_coef=coefficient, state_coef=coefficient, seed=st.integers(0, 10**6)
)
def test_three_updates_equal_those_of_the_plain_agent(
    world: GridWorld, chosen: TabularSettings, action_coef: float, state_coef: float, seed: int
) -> None:
    run = begin(world, action_coef, state_coef, seed)
    plain = plain_grid.Agent(world.cells)
    plain_settings = plain_grid.Settings(
        action_coef,
        state_coef,
        chosen.update_every,
        chosen.reward_base,
        chosen.gamma,
        chosen.gae_lambda,
        chosen.value_rate,
    )
    for _ in range(3):
        run, batch = advance(world, run, settings=chosen)
        columns = (np.asarray(column).tolist() for column in (batch.cell, batch.action, batch.reached))
        plain_grid.learn(plain, list(zip(*columns, strict=True)), plain_settings)
        np.testing.assert_array_equal(run.tables.counts, plain.counts)
        np.testing.assert_allclose(run.tables.advantage, plain.advantage, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(run.tables.value, plain.value, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(policy(run.tables, action_coef), plain.policy, atol=1e-4)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_one_update_equals_the_plain_one_on_any_transitions_and_tables(data: st.DataObject) -> None:
    # Not only what a world allows: any cells in any order, on tables that already hold something.
    cells = WIDTH * HEIGHT
    cell = st.integers(0, cells - 1)
    batch = data.draw(st.lists(st.tuples(cell, st.integers(0, 3), cell), min_size=BATCH, max_size=BATCH))
    chosen = data.draw(learned_settings)
    state_coef = data.draw(coefficient)
    plain = plain_grid.Agent(cells)
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    plain.counts = rng.integers(0, 50, (cells, 4)).tolist()
    plain.advantage = rng.normal(size=(cells, 4)).astype(np.float32).tolist()
    plain.value = rng.normal(size=cells).astype(np.float32).tolist()
    before = tables(plain.counts, plain.advantage, plain.value)

    learned = learn_jitted(before, to_batch(batch), state_coef, chosen)
    plain_settings = plain_grid.Settings(
        0.0, state_coef, BATCH, chosen.reward_base, chosen.gamma, chosen.gae_lambda, chosen.value_rate
    )
    plain_grid.learn(plain, batch, plain_settings)

    np.testing.assert_array_equal(learned.counts, plain.counts)
    np.testing.assert_allclose(learned.advantage, plain.advantage, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(learned.value, plain.value, rtol=1e-4, atol=1e-4)


@settings(max_examples=60, deadline=None)
@given(world=worlds(), action_coef=coefficient, state_coef=coefficient, seed=st.integers(0, 10**6))
def test_what_holds_for_every_run(world: GridWorld, action_coef: float, state_coef: float, seed: int) -> None:
    run = begin(world, action_coef, state_coef, seed)
    chosen = replace(PAPER, update_every=BATCH)
    acted_from: set[int] = set()
    for update in range(1, 4):
        covered_before = np.asarray(run.tables.counts.sum(axis=1) > 0)
        run, batch = advance(world, run, settings=chosen)
        cells, reached = np.asarray(batch.cell), np.asarray(batch.reached)
        # The agent stands on free cells, never beyond a wall, and goes at most one cell.
        assert not world.walls[cells].any()
        assert not world.walls[reached].any()
        assert (np.abs(cells % WIDTH - reached % WIDTH) + np.abs(cells // WIDTH - reached // WIDTH) <= 1).all()
        # Every step is counted once, coverage never falls, and covered are the cells acted from.
        assert int(run.tables.counts.sum()) == BATCH * update
        covered = np.asarray(run.tables.counts.sum(axis=1) > 0)
        assert (covered >= covered_before).all()
        acted_from.update(cells.tolist())
        assert set(np.flatnonzero(covered).tolist()) == acted_from
        # Probabilities are probabilities, and uniform where the agent never acted.
        shares = policy(run.tables, action_coef)
        assert (shares >= 0).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
        np.testing.assert_array_equal(shares[~covered], 0.25)


def test_the_world_is_stepped_from_the_state_of_the_run() -> None:
    world = open_world(3)
    run = replace(begin(world, 0.0, 0.0), state=GridState(jnp.int32(4), jnp.int32(199)))
    run, batch = collect(world, run, jnp.full(8, TO_UP, jnp.float32))
    assert list(batch.cell) == [4, 0, 3, 6, 6, 6, 6, 6]
    assert int(run.state.time) == 7
    assert int(reset(world).cell) == 0
