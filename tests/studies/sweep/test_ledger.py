"""The trials of a sweep, and their ranking."""

import math
from pathlib import Path

import pytest
from sweeps import BASE, EPOCHS, RATE, SPACE, ledger, trial, write_run

from action_balance.runs.results import to_csv
from action_balance.studies.sweep.ledger import STOPPED_EARLY, Trial, best, columns, ranked, recovered, rows


def test_finished_trials_are_ranked_by_their_score_and_others_by_how_far_they_came() -> None:
    trials = [
        trial(0, 0.5),
        trial(1, 0.9, "stopped", part=2),
        trial(2, 0.7),
        trial(3, 0.1, "stopped", part=6),
        trial(4, 0.95, "stopped", part=2),
        trial(5, 0.7),
        trial(6, math.nan),
        trial(7, 0.99, "running", part=3),
        trial(8, 1.0, "failed"),
    ]
    assert [one.number for one in ranked(trials)] == [2, 5, 0, 3, 4, 1]
    assert [one.number for one in best(trials, 2)] == [2, 5]
    assert [one.number for one in best(trials, 9)] == [2, 5, 0]


def test_the_table_has_every_trial_with_its_values_and_rank() -> None:
    trials = [trial(0, 0.5), trial(1, 0.25, "stopped", part=6), trial(2, status="invalid", part=0, reason="no, not so")]
    text = to_csv(columns(SPACE, "episode_return"), rows(trials, SPACE)).decode()
    assert text.splitlines() == [
        "trial,ppo.learning_rate,ppo.epochs,episode_return,rank,status,updates,steps,seconds,reason",
        "0,0.001,2,0.5,1,finished,18,18000,36.0,",
        "1,0.002,2,0.25,2,stopped early,6,6000,12.0,",
        '2,0.003,2,,,invalid,0,0,0.0,"no, not so"',
    ]


@pytest.mark.parametrize(
    "one", [trial(3, 0.5), trial(0, status="running", part=0), trial(1, status="failed", reason="x")]
)
def test_a_trial_survives_its_file(one: Trial) -> None:
    again = Trial.from_data(one.to_data())
    assert again.to_data() == one.to_data()
    assert (again.points, again.values) == (one.points, one.values)


def test_trials_are_kept_when_they_change_but_not_for_each_report() -> None:
    kept: list[list[str]] = []
    found = ledger()
    found.keep = lambda: kept.append([one.status for one in found.trials])
    found.add({RATE: 0.1, EPOCHS: 2})
    found.note(0, score=0.5)
    found.change(0, status="finished")
    assert kept == [["running"], ["finished"]]
    assert found.trials[0].score == 0.5
    assert found.best is found.trials[0]


def test_a_trial_whose_process_was_killed_continues_with_the_scores_of_its_run(tmp_path: Path) -> None:
    write_run(tmp_path / "a", BASE, [[1.0, 2.0], [3.0, 4.0]], "interrupted")
    found = recovered(trial(0, status="crashed", part=0), tmp_path / "a", BASE, "episode_return")
    assert (found.status, found.points, found.score, found.updates) == ("running", ((1, 2.0), (2, 3.0)), 3.0, 2)


def test_a_trial_whose_end_nobody_saw_has_ended(tmp_path: Path) -> None:
    write_run(tmp_path / "a", BASE, [[1.0] * 18, [2.0] * 18])
    found = recovered(trial(0, status="running", part=0), tmp_path / "a", BASE, "episode_return")
    assert (found.status, found.score, found.part) == ("finished", 1.5, 18)
    write_run(tmp_path / "b", BASE, [[1.0] * 2, [2.0] * 2], "interrupted", {STOPPED_EARLY: True})
    found = recovered(trial(0, status="running", part=0), tmp_path / "b", BASE, "episode_return")
    assert (found.status, found.score, found.part) == ("stopped", 1.5, 2)


def test_a_trial_without_a_run_begins_again_and_one_that_has_ended_stays_as_it_is(tmp_path: Path) -> None:
    lost = recovered(trial(0, 0.5, "running", part=4), tmp_path / "none", BASE, "episode_return")
    assert (lost.status, lost.points, lost.updates) == ("running", (), 0)
    ended = trial(1, 0.5)
    assert recovered(ended, tmp_path / "none", BASE, "episode_return") is ended


@pytest.mark.parametrize(
    "change",
    [
        {"number": "../../x"},
        {"number": -1},
        {"number": True},
        {"status": "inf"},
        {"values": []},
        {"points": "x"},
        {"seconds": "nan"},
        {"updates": 1.5},
        {"reason": 3},
        {"more": 1},
    ],
)
def test_a_trial_that_nobody_has_stored_is_refused(change: dict[str, object]) -> None:
    data = Trial(3, {"ppo.epochs": 4}).to_data()
    assert Trial.from_data(data).values == {"ppo.epochs": 4}
    with pytest.raises((ValueError, TypeError)):
        Trial.from_data(data | change)
