"""The best settings with fresh seeds."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sweeps import BASE, EPOCHS, RATE, SPACE, settings, trial, write_run

from action_balance.errors import UserError
from action_balance.studies.statistics import difference
from action_balance.studies.sweep.final import Final, choose_finals, read_scores
from action_balance.studies.sweep.folder import FINAL


def test_the_best_finished_trials_are_chosen_beside_no_change() -> None:
    trials = [trial(0, 0.5), trial(1, 0.9, "stopped early", part=2), trial(2, 0.7), trial(3, 0.6)]
    finals = choose_finals(settings(finalists=2), trials)
    assert [(one.name, one.trial, one.search_score) for one in finals[1:]] == [
        ("trial-0002", 2, 0.7),
        ("trial-0003", 3, 0.6),
    ]
    assert (finals[0].name, finals[0].trial, finals[0].values) == ("baseline", None, {})


def test_a_trial_without_any_change_is_not_trained_twice() -> None:
    ppo = BASE.agent.ppo
    same = trial(1, 0.9, values={RATE: ppo.learning_rate, EPOCHS: ppo.epochs})
    finals = choose_finals(settings(finalists=2), [trial(0, 0.5), same])
    assert [(one.name, one.trial) for one in finals] == [("baseline", 1), ("trial-0000", 0)]
    assert finals[0].search_score == 0.9


def test_scores_are_read_from_finished_runs_only(tmp_path: Path) -> None:
    plan = settings(final_seeds=2)
    final = Final("baseline", {}, scores=(9.0,))
    assert read_scores(final, plan, tmp_path).scores == ()
    write_run(tmp_path / FINAL / "baseline", plan.fresh, [[1.0] * 18, [3.0] * 18], "interrupted")
    assert read_scores(final, plan, tmp_path).scores == ()
    write_run(tmp_path / FINAL / "trial-0001", plan.fresh, [[1.0] * 18, [3.0] * 18])
    assert read_scores(replace(final, name="trial-0001"), plan, tmp_path).scores == (1.0, 3.0)


def test_a_run_with_other_settings_is_not_taken_for_a_final_one(tmp_path: Path) -> None:
    plan = settings(final_seeds=2)
    write_run(tmp_path / FINAL / "baseline", replace(plan.fresh, seed=77), [[1.0] * 18, [3.0] * 18])
    with pytest.raises(UserError, match="different settings"):
        read_scores(Final("baseline", {}), plan, tmp_path)


def test_means_and_differences_are_those_of_the_fresh_seeds() -> None:
    base, other = Final("baseline", {}, scores=(1.0, 2.0, 3.0, 4.0, 5.0)), Final("trial-0000", {}, 0, 9.0, (5.0,) * 5)
    assert base.mean.value == 3.0
    expected = difference(np.array(other.scores), np.array(base.scores))
    assert other.more_than(base) == expected
    assert expected.value == 2.0
    assert expected.low > 0


def test_without_all_scores_there_is_no_mean() -> None:
    unknown = Final("baseline", {}, scores=(1.0, math.nan))
    assert math.isnan(unknown.mean.value)
    assert math.isnan(unknown.more_than(Final("x", {}, scores=(1.0,))).value)


def test_a_final_survives_its_file() -> None:
    final = Final("trial-0000", {RATE: 0.002, EPOCHS: 4}, 0, 0.5, (1.0, 2.0))
    assert Final.from_data(final.to_data()) == final
    assert {*final.values} == {*SPACE.names}
