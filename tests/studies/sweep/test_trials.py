"""The trials of a sweep, and their ranking."""

import math

import pytest
from sweeps import SPACE, trial

from action_balance.runs.results import to_csv
from action_balance.studies.sweep.trials import Trial, best, columns, ranked, rows


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
    text = to_csv(columns(SPACE, "episode_return"), rows(trials, SPACE)).decode()
    assert text.splitlines() == [
        "trial,ppo.learning_rate,ppo.epochs,episode_return,rank,status,updates,steps,seconds,reason",
        "0,0.001,2,0.5,1,finished,18,18000,36.0,",
        "1,0.002,2,0.25,2,stopped early,6,6000,12.0,",
        '2,0.003,2,,,invalid,0,0,0.0,"no, not so"',
    ]


@pytest.mark.parametrize(
    "change",
    [{"number": "../../x"}, {"number": True}, {"status": "inf"}, {"values": []}, {"seconds": "x"}, {"more": 1}],
)
def test_a_trial_survives_its_file_and_one_that_nobody_has_stored_is_refused(change: dict[str, object]) -> None:
    stored = trial(3, 0.5, "stopped early", part=1, reason="x")
    assert Trial.from_data(stored.to_data()) == stored
    with pytest.raises((ValueError, TypeError)):
        Trial.from_data(stored.to_data() | change)
