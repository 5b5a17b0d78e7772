import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.learner import init_agent
from action_balance.bonuses.base import ACTION, BonusObs
from action_balance.bonuses.distillation import Distillation
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.deep_sea.environment import DeepSea
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.studies import counting
from action_balance.studies.bonuses.settings import Setup
from action_balance.studies.counting import BINS

KEY = jax.random.key(0)


def test_an_exact_bonus_has_the_true_counts() -> None:
    counts = np.array([1, 3, 8, 100])
    found = counting.estimated_counts(1 / np.sqrt(1 + counts), counts, "count")
    np.testing.assert_allclose(found, counts, rtol=1e-9)


def test_a_bonus_that_was_never_reduced_counts_as_one_half() -> None:
    np.testing.assert_allclose(counting.estimated_counts(np.ones(2), np.array([1, 50]), "hash"), [0.5, 0.5])


def test_a_bonus_without_a_scale_is_scaled_so_that_the_median_ratio_is_1() -> None:
    # 7 / sqrt(N) is right but for its scale; 1 / N overstates large counts.
    counts = np.array([4, 16, 64])
    np.testing.assert_allclose(counting.estimated_counts(7 / np.sqrt(counts), counts, "rnd"), counts, rtol=1e-9)
    # 1 / bonus^2 = 16, 256, 4096; over the counts: 4, 16, 64, of which the median is 16.
    np.testing.assert_allclose(counting.estimated_counts(1 / counts, counts, "icm"), [1, 16, 256], rtol=1e-9)


def test_ratios_are_geometric_means_of_bins_that_double() -> None:
    counts = np.array([1, 2, 3, 4, 7, 8])
    logs, number = counting.log_ratios(counts * np.array([2, 4, 1, 1, 0.25, 8]), counts)
    np.testing.assert_allclose(logs[:4], [1, 1, -1, 3])
    assert np.isnan(logs[4:]).all()
    assert number.tolist() == [1, 2, 2, 1] + [0] * (BINS - 4)


def test_rank_correlations_are_spearmans_of_minus_the_count() -> None:
    counts = np.array([[1, 2, 3], [1, 2, 3], [1, 2, 3], [2, 2, 2]])
    bonus = np.array([[9.0, 5, 1], [1, 5, 9], [5, 9, 1], [1, 2, 3]])
    # Third: ranks 2, 3, 1 against 3, 2, 1, rho = 1 - 6 * (1 + 1) / (3 * 8) = 0.5.
    found = counting.rank_correlation(bonus, counts)
    np.testing.assert_allclose(found, [1, -1, 0.5, np.nan])
    assert float(counting.rank_correlation(np.ones(3), np.arange(3))) == 0  # says nothing


def test_pairs_are_compared_in_states_that_were_left_and_ratios_only_where_visited() -> None:
    counts = np.array([[3, 0], [1, 7], [0, 0]])
    bonus = np.array([[0.5, 1.0], [1 / np.sqrt(2), 1 / np.sqrt(8)], [0.3, 0.1]])
    rank, within, logs, number = counting.compare_agent(bonus, counts, np.ones(3, bool), "count")
    assert (rank, within) == (1, 1)
    assert number.sum() == 3
    np.testing.assert_allclose(logs[:3], [0, 0, 0], atol=1e-9)
    wrong = counting.compare_agent(bonus[:, ::-1], counts, np.array([True, False, True]), "count")
    assert (wrong[0], wrong[1], wrong[3].sum()) == (-1, -1, 1)


def test_states_are_compared_once_they_were_reached() -> None:
    rank, within, _, number = counting.compare_agent(
        np.array([0.1, 0.2, 0.9, 0.5]), np.array([9, 4, 0, 1]), np.array([True, True, True, False]), "rnd"
    )
    assert (rank, number.sum()) == (1, 2)
    assert np.isnan(within)
    empty = counting.compare_agent(np.ones(2), np.zeros(2, int), np.ones(2, bool), "rnd")
    assert np.isnan(empty[0])
    assert empty[3].sum() == 0


def test_the_first_cell_of_a_sea_is_never_reached() -> None:
    sea = DeepSea(3, jax.random.key(0))
    assert counting.comparable_states(sea).tolist() == [False, False, False, True, True, False, True, True, True]
    assert sea.reachable()[0]


@pytest.mark.parametrize(("name", "size"), [("deep-sea", 3), ("corridor", 3)])
def test_observations_and_successors_are_those_of_the_environment(name: str, size: int) -> None:
    environment = TrainConfig(env_config(name, size=size)).environment(jax.random.key(0))
    observed = counting.observe_all(environment, jax.random.key(1))
    states = environment.spec.states
    np.testing.assert_array_equal(jax.vmap(environment.index)(observed), np.arange(states))
    reached, numbers = counting.successors(environment, jax.random.key(1))
    if isinstance(environment, DeepSea):
        right = np.asarray(environment.right_is)
        # From the upper left corner, right leads to cell 4 of 9 and left to cell 3; from the last row, to the end.
        assert [int(numbers[0, right[0]]), int(numbers[0, 1 - right[0]])] == [4, 3]
        assert not np.asarray(reached[8]).any()
    else:
        assert isinstance(environment, GridEnvironment)
        np.testing.assert_array_equal(numbers, environment.world.successor)


def test_bonuses_of_states_transitions_and_pairs_are_what_the_agent_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TrainConfig(env_config("deep-sea", size=3), Setup("rnd", "distillation").agent(1024, 8, "study"))
    algorithm = make_algorithm(config.agent, config.env.spec)
    stats = RunningMeanStd(jnp.float32(50), jnp.full(9, 0.1), jnp.full(9, 5.0))
    agent = init_agent(algorithm, stats, KEY)
    environment = config.environment(KEY)
    observed = counting.observe_all(environment, KEY)
    rnd = Distillation(agent.bonus_states["intrinsic"], agent.params.bonuses["intrinsic"])
    expected = [float(rnd.error(stats.normalize(one, 5.0))) for one in observed]
    of_states = counting.state_bonuses(config)(agent, KEY)
    np.testing.assert_allclose(of_states, expected, rtol=1e-5)  # 9 states do not divide 8 environments

    pairs = counting.pair_bonuses(config)(agent, KEY)
    obs = BonusObs(observed[4], jnp.int32(4), stats, 5.0)
    bonus = algorithm.action_bonus
    assert bonus is not None
    scores = bonus.scores(agent.params.bonuses[ACTION], agent.bonus_states[ACTION], obs)
    np.testing.assert_allclose(pairs[4], scores, rtol=1e-5)

    # RND pays for what a transition leads to; the end is another observation than the first cell.
    monkeypatch.setattr(counting, "OF_TRANSITIONS", ("rnd",))
    of_transitions = counting.state_bonuses(config)(agent, KEY)
    numbers = np.asarray(counting.successors(environment, KEY)[1])
    np.testing.assert_allclose(of_transitions[:6], np.asarray(of_states)[numbers[:6]], rtol=1e-5)
    assert np.ptp(of_transitions[6:]) < 1e-6
