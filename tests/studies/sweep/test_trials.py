"""The trials of a sweep, and their ranking."""

import math

import numpy as np
from sweeps import BASE, EPOCHS, RATE, SPACE, settings, trial

from action_balance.runs.results import to_csv
from action_balance.studies.statistics import difference
from action_balance.studies.sweep.trials import Final, Trial, best, choose_finals, ranked, table


def test_finished_trials_are_ranked_by_their_score_and_others_by_how_far_they_came() -> None:
    trials = [
        trial(0, 0.5),
        trial(1, 0.9, "stopped early", part=1),
        trial(2, 0.7),
        trial(3, 0.1, "stopped early", part=3),
        trial(4, 0.95, "stopped early", part=1),
        trial(5, 0.7),
        trial(6, math.nan),
        trial(7, 0.99, "running", part=1),
        trial(8, 1.0, "failed"),
    ]
    assert [one.number for one in ranked(trials)] == [2, 5, 0, 3, 4, 1]
    assert [one.number for one in best(trials, 2)] == [2, 5]
    assert [one.number for one in best(trials, 9)] == [2, 5, 0]


def test_the_table_has_every_trial_with_its_values_and_rank() -> None:
    trials = [
        trial(0, 0.5),
        trial(1, 0.25, "stopped early", part=3),
        trial(2, status="invalid", part=0, reason="no, not so"),
    ]
    text = to_csv(*table(trials, SPACE, "episode_return")).decode()
    assert text.splitlines() == [
        "trial,algorithm.learning_rate,algorithm.epochs,episode_return,rank,status,updates,steps,seconds,reason",
        "0,0.001,2,0.5,1,finished,18,18000,36.0,",
        "1,0.002,2,0.25,2,stopped early,6,6000,12.0,",
        '2,0.003,2,,,invalid,0,0,0.0,"no, not so"',
    ]


def test_a_trial_survives_its_file() -> None:
    stored = trial(3, 0.5, "stopped early", part=1, reason="x")
    assert Trial.from_data(stored.to_data()) == stored


def test_the_best_finished_trials_are_chosen_beside_no_change() -> None:
    trials = [trial(0, 0.5), trial(1, 0.9, "stopped early", part=2), trial(2, 0.7), trial(3, 0.6)]
    finals = choose_finals(settings(finalists=2), trials)
    assert [(one.name, one.trial, one.search_score) for one in finals[1:]] == [
        ("trial-0002", 2, 0.7),
        ("trial-0003", 3, 0.6),
    ]
    assert (finals[0].name, finals[0].trial, finals[0].values) == ("baseline", None, {})


def test_a_trial_without_any_change_is_not_trained_twice() -> None:
    start = BASE.agent.algorithm
    same = trial(1, 0.9, values={RATE: start.learning_rate, EPOCHS: start.epochs})
    finals = choose_finals(settings(finalists=2), [trial(0, 0.5), same])
    assert [(one.name, one.trial) for one in finals] == [("baseline", 1), ("trial-0000", 0)]
    assert finals[0].search_score == 0.9


def test_means_and_differences_are_those_of_the_fresh_seeds() -> None:
    base, other = Final("baseline", {}, scores=(1.0, 2.0, 3.0, 4.0, 5.0)), Final("trial-0000", {}, 0, 9.0, (5.0,) * 5)
    assert base.mean.value == 3.0
    expected = difference(np.array(other.scores), np.array(base.scores))
    assert other.more_than(base) == expected
    assert expected.value == 2.0
    assert expected.low > 0


def test_a_final_survives_its_file() -> None:
    final = Final("trial-0000", {RATE: 0.002, EPOCHS: 4}, 0, 0.5, (1.0, 2.0))
    assert Final.from_data(final.to_data()) == final
    assert {*final.values} == {*SPACE.names}
