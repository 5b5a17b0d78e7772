from math import nan, sqrt

import numpy as np
import pytest
from atari_records import record

from action_balance.studies.atari import analysis as atari
from action_balance.studies.atari.analysis import Condition, conditions
from action_balance.studies.atari.training import AtariTraining
from action_balance.studies.paper import TABLE_2


def test_a_method_in_a_game_is_the_mean_of_its_finished_runs_with_students_interval() -> None:
    runs = [record("rnd", seed, [seed, 100 * seed]) for seed in (1, 2, 3, 4, 5)]
    (one,) = conditions([*runs, record("rnd", 6, [70], "interrupted")])
    # of 100 to 500: standard deviation 100 sqrt 2.5, divided by sqrt 5, times t(4; 0.975) = 2.776445
    assert one.final is not None
    assert one.final.value == 300
    assert one.final.low == pytest.approx(300 - 196.324, abs=0.01)
    assert one.final.high == pytest.approx(300 + 196.324, abs=0.01)
    assert one.so_far == 70
    assert one.so_far_steps == (512, 512)
    np.testing.assert_allclose(one.curve.mean, [3, 300])
    np.testing.assert_allclose(one.curve.steps, [512, 1024])
    np.testing.assert_allclose(one.curve.high - one.curve.mean, [1.96324, 196.324], rtol=1e-5)


def test_one_run_has_no_interval_and_an_unfinished_one_no_final_return() -> None:
    (one,) = conditions([record("rnd", 0, [1, 5])])
    assert one.final is not None
    assert one.final.value == 5
    assert np.isnan([one.final.low, one.final.high]).all()
    (one,) = conditions([record("rnd", 0, [1, 5], "interrupted"), record("rnd", 1, [3], "running")])
    assert one.final is None
    assert one.so_far == 4
    assert one.so_far_steps == (512, 1024)
    np.testing.assert_allclose(one.curve.mean, [2])  # as far as both go


def test_a_curve_begins_when_all_runs_have_ended_an_episode() -> None:
    late = record("rnd", 1, [nan, 6], episodes=np.array([0.0, 100.0]))
    (one,) = conditions([record("rnd", 0, [1, 2]), late])
    np.testing.assert_allclose(one.curve.steps, [1024])
    np.testing.assert_allclose(one.curve.mean, [4])


def test_conditions_are_in_the_order_of_the_papers_table() -> None:
    runs = [record("action-balance-rnd", 0, [1.0]), record("rnd", 0, [1.0]), record("rnd", 0, [1.0], game="pong")]
    runs.append(record("rnd", 0, [1.0], game="montezuma_revenge"))
    found = [(one.game, one.method) for one in conditions(runs)]
    expected = [("montezuma_revenge", "rnd"), ("gravitar", "rnd"), ("gravitar", "action-balance-rnd"), ("pong", "rnd")]
    assert found == expected


def test_a_difference_of_methods_needs_a_finished_run_of_both() -> None:
    ours, other = conditions([record("rnd", 0, [1, 10]), record("action-balance-rnd", 0, [1, 30])])[::-1]
    more = atari.difference(ours, other)
    assert more is not None
    assert more.value == 20
    assert np.isnan(more.low)
    assert atari.difference(ours, Condition("gravitar", "rnd", (record("rnd", 0, [1], "interrupted"),))) is None


def test_only_runs_as_long_as_the_papers_are_compared_with_it() -> None:
    papers = TABLE_2["gravitar"]["rnd"]
    whole = [record("rnd", seed, [papers + 10.0 * (seed - 2)], training=AtariTraining()) for seed in range(5)]
    (one,) = conditions(whole)
    verdict = one.agreement()
    assert verdict is not None
    assert verdict.agrees
    assert verdict.z == pytest.approx(0)
    far = papers + 1000
    (one,) = conditions([record("rnd", seed, [far + 10.0 * (seed - 2)], training=AtariTraining()) for seed in range(5)])
    verdict = one.agreement()
    assert verdict is not None
    assert verdict.z == pytest.approx(1000 / (sqrt(250) * sqrt(1 / 5 + 1 / 5)))
    assert not verdict.agrees
    (one,) = conditions([record("rnd", seed, [1.0 * seed]) for seed in range(3)])
    assert one.agreement() is None
    (one,) = conditions([record("rnd", seed, [0.0], training=AtariTraining()) for seed in range(5)])
    assert one.agreement() is None  # without any noise every difference would be too large


def test_precision_and_lag_do_not_make_a_run_incomparable() -> None:
    assert atari.as_in_paper(AtariTraining(precision="bfloat16", lag=1).agent("rnd"))
    assert atari.as_in_paper(AtariTraining().agent("action-balance-rnd", "raw"))
    for other in (AtariTraining(steps=41_000_000), AtariTraining(channels=16), AtariTraining(envs=64)):
        assert not atari.as_in_paper(other.agent("rnd"))
