from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from atari_records import SMALL, record

from action_balance.errors import UserError
from action_balance.studies.atari.records import common_settings, recent_mean
from action_balance.studies.atari.training import method_name, run_name


def test_the_moving_mean_weighs_updates_with_their_episodes() -> None:
    episodes, returns = np.array([1, 3, 0, 4]), np.array([10.0, 2.0, nan, 0.5])
    found = recent_mean(episodes, returns, count=100)
    # 10; (10 + 3 x 2) / 4; the same; (10 + 6 + 2) / 8
    np.testing.assert_allclose(found, [10, 4, 4, 2.25])


def test_the_oldest_update_of_the_moving_mean_weighs_with_what_is_missing() -> None:
    episodes, returns = np.array([4, 2, 3]), np.array([1.0, 7.0, 3.0])
    # the last 4 episodes: 4 x 1; 2 of the first and 2 x 7; 1 x 7 and 3 x 3
    np.testing.assert_allclose(recent_mean(episodes, returns, count=4), [1, 4, 4])


def test_the_moving_mean_is_unknown_before_an_episode_has_ended() -> None:
    found = recent_mean(np.array([0, 0, 2]), np.array([nan, nan, 3.0]))
    assert np.isnan(found[:2]).all()
    assert found[2] == 3


def test_the_moving_mean_of_one_large_update_is_its_own() -> None:
    np.testing.assert_allclose(recent_mean(np.array([500, 500]), np.array([1.0, 2.0])), [1, 2])


def test_a_rate_and_a_best_episode_are_of_the_whole_run() -> None:
    run = record("rnd", 0, [1, 9, 4])
    assert run.steps_per_second == 3 * 512 / 2
    assert run.best_return == 9
    assert run.final_return == 4


def test_runs_of_one_study_have_the_same_settings() -> None:
    ours = record("rnd", 0, [1.0])
    balanced = record("action-balance-rnd", 0, [1.0])
    assert common_settings([ours, balanced])["steps"] == SMALL.steps
    longer = record("rnd", 1, [1.0], training=replace(SMALL, steps=9 * 512, channels=8))
    with pytest.raises(UserError, match=r"gravitar-rnd-0 and gravitar-rnd-1 differ in channels, steps"):
        common_settings([ours, longer])


def test_a_run_that_never_ended_an_episode_has_no_best() -> None:
    run = record("rnd", 0, [nan], episodes=np.zeros(1))
    assert np.isnan([run.best_return, run.final_return]).all()
    assert inf > run.steps_per_second > 0


def test_a_run_is_named_after_game_method_and_seed() -> None:
    assert run_name(SMALL.run("pitfall", "action-balance-rnd-channel", 3)) == "pitfall-action-balance-rnd-channel-3"
    assert method_name(SMALL.agent("action-balance-rnd", "raw")) == "action-balance-rnd-raw"
    assert method_name(SMALL.agent("action-balance-rnd")) == "action-balance-rnd"
