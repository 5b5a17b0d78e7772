"""Settings of a sweep, and when its trials are compared."""

import pytest
from sweeps import BASE, settings

from action_balance.errors import UserError
from action_balance.studies.sweep.settings import SearchConfig, rungs
from action_balance.studies.sweep.space import Space


def test_a_trial_is_compared_after_a_ninth_and_a_third_of_its_updates() -> None:
    assert rungs(36) == {4: 1, 12: 3}
    assert rungs(1000) == {112: 1, 334: 3}
    assert rungs(3) == {1: 3}
    assert rungs(1) == {}


def test_fresh_seeds_follow_those_of_the_search() -> None:
    fresh = settings(final_seeds=7).fresh
    assert (fresh.seed, fresh.seeds) == (5, 7)
    assert fresh.agent == BASE.agent


def test_a_sweep_needs_a_setting_that_varies() -> None:
    with pytest.raises(UserError, match="--set NAME=VALUES"):
        settings(Space(()))


def test_a_metric_must_exist() -> None:
    with pytest.raises(UserError, match="did you mean episode_return"):
        settings(metric="episode_retur")
    assert settings(metric="states").search.metric == "states"


def test_a_sweep_is_continued_with_another_number_of_trials_but_with_the_same_metric() -> None:
    same = settings().to_data()
    assert settings(trials=99, finalists=9).to_data() == same
    assert settings(metric="states").to_data() != same
    assert settings(early_stopping=False).to_data() != same
    assert settings(final_seeds=3).to_data() != same


def test_numbers_are_at_least_one() -> None:
    with pytest.raises(UserError, match="--final-seeds must be 1 or more"):
        SearchConfig(final_seeds=0)
