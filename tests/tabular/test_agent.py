from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import plain_grid
import pytest

from action_balance.envs.grid.dynamics import GridState
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


def test_the_reward_fades_by_the_base_for_every_visit() -> None:
    visits = jnp.array([0, 1, 2, 35])
    expected = [0.1, 0.1 / 1.02, 0.1 / 1.0404, 0.1 / 1.02**35]  # 1.02^35 = 2: after 35 visits half is left
    np.testing.assert_allclose(agent.next_state_bonus(visits, 0.1, PAPER), expected, rtol=1e-6)
    np.testing.assert_allclose(agent.next_state_bonus(visits, 0.1, PAPER)[3], 0.05, rtol=2e-4)


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


@pytest.mark.parametrize("transform", [lambda function: function, jax.jit])
def test_the_policy_weighs_root_of_visits_over_count_and_adds_the_advantage(
    transform: Callable[[Callable[..., jax.Array]], Callable[..., jax.Array]],
) -> None:
    counts, advantage = jnp.array([0, 1, 3, 5]), jnp.array([0.0, -1.0, 2.0, 0.5])
    # 0.5 * sqrt(9) / (1, 2, 4, 6) + A
    logits = transform(agent.policy_logits)(counts, advantage, 0.5)
    np.testing.assert_allclose(logits, [1.5, 0.75 - 1, 0.375 + 2, 0.25 + 0.5], rtol=1e-6)


# Sampling.


def test_a_uniform_number_picks_the_action_whose_share_it_falls_into() -> None:
    logits = jnp.log(jnp.array([0.1, 0.2, 0.3, 0.4]))
    picked = [int(agent.choose(logits, jnp.float32(u))) for u in (0.0, 0.09, 0.11, 0.29, 0.31, 0.59, 0.61, 0.9999)]
    assert picked == [0, 0, 1, 1, 2, 2, 3, 3]


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


def test_random_stays_uniform_and_balance_alone_learns_no_advantage_however_much_they_learn() -> None:
    world = open_world(3)
    for action_coef in (0.0, 1.0):
        run = begin(world, action_coef, 0.0)
        for _ in range(5):
            run, _ = advance(world, run, settings=PAPER)
        assert int(run.tables.counts.sum()) == 5 * 128
        np.testing.assert_array_equal(run.tables.advantage, np.zeros((9, 4)))
        np.testing.assert_array_equal(run.tables.value, np.zeros(9))
        uniform = policy(run.tables, action_coef) == 0.25
        assert uniform.all() if action_coef == 0 else not uniform.any(axis=1).all()


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


@pytest.mark.parametrize(
    "chosen",
    [PAPER, EASY, TabularSettings(128, 0.3, 5.0, 1.5, 0.9, 1.0, 0.7), TabularSettings(128, 4.0, 0.01, 1.0, 1.0, 0.0)],
)
def test_an_update_is_that_of_the_plain_agent_on_any_transitions_and_tables(chosen: TabularSettings) -> None:
    # Not only what a world allows: any cells in any order, on tables that already hold something.
    cells, size = 12, 24
    rng = np.random.default_rng(0)
    plain_settings = plain_grid.Settings(
        0.0, chosen.state_coef, size, chosen.reward_base, chosen.gamma, chosen.gae_lambda, chosen.value_rate
    )
    for _ in range(10):
        batch = [(int(s), int(a), int(r)) for s, a, r in rng.integers(0, [cells, 4, cells], (size, 3))]
        plain = plain_grid.Agent(cells)
        plain.counts = rng.integers(0, 50, (cells, 4)).tolist()
        plain.advantage = rng.normal(size=(cells, 4)).astype(np.float32).tolist()
        plain.value = rng.normal(size=cells).astype(np.float32).tolist()
        before = tables(plain.counts, plain.advantage, plain.value)
        learned = learn_jitted(before, to_batch(batch), chosen.state_coef, chosen)
        plain_grid.learn(plain, batch, plain_settings)
        np.testing.assert_array_equal(learned.counts, plain.counts)
        np.testing.assert_allclose(learned.advantage, plain.advantage, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(learned.value, plain.value, rtol=1e-4, atol=1e-4)


def test_the_world_is_stepped_from_the_state_of_the_run() -> None:
    world = open_world(3)
    run = replace(begin(world, 0.0, 0.0), state=GridState(jnp.int32(4), jnp.int32(199)))
    run, batch = collect(world, run, jnp.full(8, TO_UP, jnp.float32))
    assert list(batch.cell) == [4, 0, 3, 6, 6, 6, 6, 6]
    assert int(run.state.time) == 7
