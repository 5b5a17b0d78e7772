"""Early stopping, also after an interrupted sweep."""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from action_balance.studies.sweep.ledger import Trial

if TYPE_CHECKING:
    from action_balance.studies.sweep.halving import Halving


def halving(trials: Sequence[Trial] = ()) -> "Halving":
    from action_balance.studies.sweep.halving import Halving

    return Halving(trials)


def added(scheduler: "Halving", number: int) -> Any:
    one = SimpleNamespace(trial_id=f"t{number}", config={"number": number})
    scheduler.on_trial_add(None, one)
    return one


def decide(scheduler: "Halving", one: Any, part: int, score: float) -> str:
    return scheduler.on_trial_result(None, one, {"part": part, "score": score})


def rungs(scheduler: "Halving") -> dict[int, list[float]]:
    return {int(part): sorted(scores.values()) for part, scores in scheduler._brackets[0]._rungs}


def test_a_trial_continues_if_it_is_among_the_best_third_of_a_rung() -> None:
    scheduler = halving()
    trials = [added(scheduler, number) for number in range(4)]
    assert decide(scheduler, trials[0], 1, 0.0) == "CONTINUE"  # before the first rung
    assert decide(scheduler, trials[0], 2, 0.5) == "CONTINUE"  # nobody to compare with
    assert decide(scheduler, trials[1], 2, 0.4) == "STOP"
    assert decide(scheduler, trials[2], 2, 0.9) == "CONTINUE"
    # of 0.4, 0.5 and 0.9, two thirds of the way is a third of the way from 0.5 to 0.9
    assert decide(scheduler, trials[3], 2, 0.63) == "STOP"
    assert decide(scheduler, trials[2], 6, 0.1) == "CONTINUE"  # the first one to reach the second rung
    assert rungs(scheduler) == {18: [], 6: [0.1], 2: [0.4, 0.5, 0.63, 0.9]}


def test_equal_scores_continue() -> None:
    scheduler = halving()
    for number in range(5):
        assert decide(scheduler, added(scheduler, number), 2, 0.0) == "CONTINUE"


def test_a_trial_without_a_score_continues_and_is_not_compared() -> None:
    scheduler = halving()
    assert decide(scheduler, added(scheduler, 0), 2, math.nan) == "CONTINUE"
    one = added(scheduler, 1)
    scheduler.on_trial_complete(None, one, {"status": "failed"})
    assert rungs(scheduler) == {18: [], 6: [], 2: []}


def test_rungs_hold_the_scores_of_earlier_processes() -> None:
    trials = [
        Trial(0, {}, "finished", 0.9, ((1, 0.1), (2, 0.5), (6, 0.7), (18, 0.9))),
        Trial(1, {}, "stopped", 0.4, ((1, 0.3), (2, 0.4))),
        Trial(2, {}, "failed"),
        Trial(3, {}, "running", 0.6, ((1, 0.5), (2, 0.6))),
    ]
    scheduler = halving(trials)
    assert rungs(scheduler) == {18: [], 6: [0.7], 2: [0.4, 0.5]}
    continued = added(scheduler, 3)
    assert rungs(scheduler)[2] == [0.4, 0.5, 0.6]
    assert decide(scheduler, continued, 3, 0.0) == "CONTINUE"  # it has passed that rung
    assert decide(scheduler, continued, 6, 0.6) == "STOP"
    assert decide(scheduler, added(scheduler, 4), 2, 0.52) == "STOP"  # the best third begins above 0.53


def test_a_trial_that_reports_again_after_a_crash_counts_once() -> None:
    scheduler = halving()
    one = added(scheduler, 0)
    decide(scheduler, one, 2, 0.5)
    scheduler.on_trial_add(None, one)
    assert decide(scheduler, one, 2, 0.5) == "CONTINUE"
    assert rungs(scheduler)[2] == [0.5]


@pytest.mark.parametrize("part", [18, 19])
def test_all_trials_end_with_the_last_part(part: int) -> None:
    scheduler = halving()
    assert decide(scheduler, added(scheduler, 0), part, 0.5) == "STOP"


def test_a_trial_is_compared_only_when_it_passes_a_rung() -> None:
    scheduler = halving()
    for number, score in enumerate((0.1, 0.2)):
        assert decide(scheduler, added(scheduler, number), 2, score) == "CONTINUE"
    late = added(scheduler, 2)
    assert [decide(scheduler, late, part, math.nan) for part in (2, 6)] == ["CONTINUE", "CONTINUE"]
    assert [decide(scheduler, late, part, 0.9) for part in (7, 8, 9)] == 3 * ["CONTINUE"]
    assert rungs(scheduler) == {2: [0.1, 0.2], 6: [], 18: []}


def test_a_trial_that_is_stopped_early_is_named_before_it_stops() -> None:
    from action_balance.studies.sweep.halving import Halving

    named: list[int] = []
    scheduler = Halving((), named.append)
    for number, score in enumerate((0.5, 0.9, 0.8)):
        decide(scheduler, added(scheduler, number), 2, score)
    assert decide(scheduler, added(scheduler, 3), 2, 0.1) == "STOP"
    assert named == [3]
