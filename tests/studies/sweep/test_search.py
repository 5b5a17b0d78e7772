"""What a search decides, with trials that nobody trains."""

import math
from typing import Any

import pytest
from sweeps import BASE, EPOCHS, RATE, SPACE, ledger, settings, trial

from action_balance.studies.sweep.ledger import Ledger, Trial
from action_balance.studies.sweep.search import Search
from action_balance.studies.sweep.space import Choice, Space


class Events:
    """Remembers what happened."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Any]] = []

    def say(self, line: str) -> None:
        self.found.append(("say", line))

    def started(self, one: Trial) -> None:
        self.found.append(("started", one.number))

    def lost(self, one: Trial) -> None:
        self.found.append(("lost", one.number))

    def reported(self, one: Trial) -> None:
        self.found.append(("reported", one.points[-1]))

    def ended(self, one: Trial) -> None:
        self.found.append((one.status, one.number))


class Switch:
    """Whether the user wants to stop."""

    def __init__(self) -> None:
        self.on = False

    def __call__(self) -> bool:
        return self.on


def report(part: int, score: float, status: str = "running", **more: Any) -> dict[str, Any]:
    numbers = {"updates": part, "steps": 1000 * part, "seconds": 2.0 * part}
    return {"part": part, "score": score, "status": status, **numbers, **more}


def search(
    found: Ledger | None = None, space: Space = SPACE, stop: Switch | None = None, **more: Any
) -> tuple[Search, Ledger, Events]:
    book, events = found or ledger(), Events()
    return Search(settings(space, **more), book, events, stop or Switch()), book, events


def test_a_trial_is_in_the_ledger_before_it_is_trained_and_its_end_as_well() -> None:
    found, book, events = search(trials=1)
    one = found.next_trial()
    assert one is not None
    assert book.trials == [one]
    assert one.status == "running"
    found.started(0)
    for part, score in ((1, math.nan), (2, 0.5)):
        found.reported(0, report(part, score))
    found.reported(0, report(2, 0.5))  # again, after a crash
    found.reported(0, report(18, 0.75, "finished"))
    found.ended(0, report(18, 0.75, "finished"))
    ended = book.trials[0]
    assert (ended.status, ended.score, ended.updates, ended.steps, ended.seconds) == (
        "finished",
        0.75,
        18,
        18_000,
        36.0,
    )
    assert [part for part, _ in ended.points] == [1, 2, 18]
    assert found.next_trial() is None
    assert [what for what, _ in events.found] == ["started", "reported", "reported", "reported", "finished"]


def test_a_trial_that_does_not_continue_was_stopped_early() -> None:
    found, book, _ = search(trials=2)
    found.next_trial()
    found.started(0)
    found.reported(0, report(2, 0.1))
    found.ended(0, report(2, 0.1))
    assert (book.trials[0].status, book.trials[0].part) == ("stopped", 2)
    assert found.running == set()


def test_a_trial_that_stops_with_the_sweep_continues_later() -> None:
    stop = Switch()
    found, book, _ = search(trials=2, stop=stop)
    found.next_trial()
    found.started(0)
    found.reported(0, report(2, 0.1))
    stop.on = True
    assert found.next_trial() is None
    found.ended(0, report(2, 0.1))
    assert book.trials[0].status == "running"
    assert len(book.trials) == 1


def test_trials_that_have_not_ended_come_first_with_their_values() -> None:
    crashed = trial(1, 0.2, "crashed", part=4, reason="its process crashed too often")
    book = ledger(trial(0, 0.5), crashed, trial(2, status="running", part=0))
    found, _, _ = search(book, trials=4)
    continued = [found.next_trial(), found.next_trial()]
    assert [(one.number, one.status, one.values) for one in continued if one] == [
        (1, "running", crashed.values),
        (2, "running", book.trials[2].values),
    ]
    assert book.trials[1].points == crashed.points
    fresh = found.next_trial()
    assert fresh is not None
    assert fresh.number == 3
    assert found.next_trial() is None


def test_an_invalid_combination_is_recorded_and_the_next_one_is_tried() -> None:
    space = Space((Choice("ppo.minibatches", (3, 5)), Choice("envs", (9, 10))))
    found, book, events = search(space=space, trials=20)
    valid = 0
    while found.next_trial():
        valid += 1
    assert valid == 2
    statuses = {(one.values["ppo.minibatches"], one.values["envs"]): one.status for one in book.trials}
    assert statuses == {(3, 9): "running", (5, 10): "running", (3, 10): "invalid", (5, 9): "invalid"}
    assert any("3 minibatches do not divide 10 environments" in one.reason for one in book.trials)
    assert events.found[-1] == ("say", "all 4 combinations of the values were tried")


def test_a_failed_trial_does_not_end_the_search_unless_all_fail() -> None:
    found, book, _ = search(trials=9)
    for number in range(2):
        found.next_trial()
        found.ended(number, {"status": "failed", "reason": "no space left"})
    assert not found.is_stopping
    found.next_trial()
    found.crashed(2, "its process crashed too often")
    assert found.is_stopping
    assert found.next_trial() is None
    assert found.problem == "its process crashed too often"
    found.forget_failures()
    assert [one.status for one in book.trials] == ["running"] * 3
    assert not found.is_stopping


def test_a_trial_that_ends_because_all_others_fail_was_not_stopped_early() -> None:
    found, book, _ = search(trials=9)
    for _ in range(4):
        found.next_trial()
    found.started(3)
    for number in range(3):
        found.ended(number, {"status": "failed", "reason": "no such metric"})
    found.ended(3, {"status": "running", "done": True})
    assert book.trials[3].status == "running"
    assert found.problem == "no such metric"


def test_failures_among_others_do_not_end_the_search() -> None:
    book = ledger(trial(0, 0.5), *(trial(number, status="failed", reason="nan") for number in range(1, 8)))
    found, _, _ = search(book, trials=9)
    assert not found.is_stopping
    assert found.next_trial() is not None


@pytest.mark.parametrize("trials", [1, 2])
def test_a_lost_process_is_reported(trials: int) -> None:
    found, _, events = search(trials=trials)
    found.next_trial()
    found.started(0)
    found.lost(0)
    assert found.running == set()
    assert events.found[-1] == ("lost", 0)


def test_trials_vary_what_they_are_to_vary() -> None:
    found, _, _ = search(trials=1)
    one = found.next_trial()
    assert one is not None
    config = SPACE.apply(BASE, one.values)
    assert (config.agent.ppo.learning_rate, config.agent.ppo.epochs) == (one.values[RATE], one.values[EPOCHS])


def test_failures_do_not_end_a_search_in_which_another_trial_is_under_way() -> None:
    found, book, _ = search(trials=9)
    for number in range(4):
        assert found.next_trial() is not None
        found.started(number)
    found.reported(3, report(2, 0.1))
    for number in range(3):
        found.ended(number, {"status": "failed", "reason": "not enough memory"})
    assert (found.problem, found.is_stopping) == ("", False)
    again, _, _ = search(Ledger(lambda: None, book.trials), trials=9)
    first = again.next_trial()
    assert first is not None
    assert first.number == 3  # the one that is known to work
