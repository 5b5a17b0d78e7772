"""The journal: which combination comes next, which trials are stopped early, and what is read back."""

import math
from pathlib import Path

import pytest
from optuna.trial import FrozenTrial, TrialState, create_trial
from sweeps import EPOCHS, RATE, SPACE, settings

from action_balance.studies.sweep import journal as module
from action_balance.studies.sweep.journal import Journal, mend, propose
from action_balance.studies.sweep.space import Choice, Range, Space

SMALL = Space((Choice("a", (1, 2)), Choice("b", ("x", "y", None))))


def proposed(space: Space, count: int, seed: int = 0) -> list[dict[str, object] | None]:
    """Proposals one after the other, while none of them has ended."""
    found: list[dict[str, object] | None] = []
    for _ in range(count):
        found.append(propose(space, seed, [running(space, one) for one in found if one]))
    return found


def running(space: Space, values: dict[str, object], score: float | None = None) -> FrozenTrial:
    state = TrialState.RUNNING if score is None else TrialState.COMPLETE
    return create_trial(state=state, value=score, params=values, distributions=module._distributions(space))


def begun(path: Path, trials: int, early_stopping: bool = True) -> Journal:
    book = Journal(path / "journal.jsonl", early_stopping)
    for number in range(trials):
        book.add(SPACE, {RATE: 0.001 * (number + 1), EPOCHS: 2})
    return book


def measured(score: float, updates: int = 2) -> tuple[float, int, float]:
    return score, updates, 2.0 * updates


def test_the_same_seed_proposes_the_same_values_in_range_and_with_few_digits() -> None:
    first = proposed(SPACE, 4)
    assert first == proposed(SPACE, 4) != proposed(SPACE, 4, seed=1)
    assert len({str(one) for one in first}) == 4
    for values in first:
        assert values is not None
        rate = values[RATE]
        assert isinstance(rate, float)
        assert 1e-4 <= rate <= 1e-2
        assert float(f"{rate:.4g}") == rate
        assert values[EPOCHS] in (2, 4)


def test_a_small_space_is_tried_once_and_then_exhausted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPEATS", 2)
    found = proposed(SMALL, 7)
    assert {(one["a"], one["b"]) for one in found if one} == {(a, b) for a in (1, 2) for b in ("x", "y", None)}
    assert found[-1] is None
    assert proposed(Space((Range("a", 0.1, 0.1000001),)), 4)[-1] is None  # no more numbers with few digits


def test_scores_guide_the_search() -> None:
    space, trials, late = Space((Range("a", 0.0, 1.0),)), list[FrozenTrial](), 0
    for number in range(40):
        values = propose(space, 0, trials)
        assert values is not None
        trials.append(running(space, values, -abs(values["a"] - 0.7)))
        late += number >= 25 and abs(values["a"] - 0.7) < 0.15
    assert late > 15 / 2  # uniform draws: 30 %


def test_a_trial_continues_if_it_is_among_the_best_third_of_those_that_have_come_as_far(tmp_path: Path) -> None:
    book = begun(tmp_path, 7)
    scores = (0.5, 0.4, 0.9, 0.63, 0.9, 0.8, 0.7)
    stopped = [book.stops_early(number, 1, *measured(score)) for number, score in enumerate(scores)]
    # Of up to five trials, one continues; of six or seven, two do, and an equal score is as good.
    assert stopped == [False, True, False, True, False, True, True]
    assert not book.stops_early(0, 3, *measured(0.1))  # the first to come that far
    assert book.stops_early(2, 3, *measured(0.05))
    assert [one.status for one in book.trials(settings())].count("stopped early") == 5


def test_equal_scores_continue_and_a_score_that_is_reported_again_after_a_crash_counts_once(tmp_path: Path) -> None:
    book = begun(tmp_path, 5)
    assert not any(book.stops_early(number, 1, *measured(0.0)) for number in (0, 1, 1, 2, 3, 4, 4))
    assert [one.score for one in book.trials(settings())] == [0.0] * 5


def test_another_process_reads_what_one_has_written(tmp_path: Path) -> None:
    book, other = begun(tmp_path, 3), Journal(tmp_path / "journal.jsonl", True)
    other.add(SPACE, {RATE: 0.01, EPOCHS: 4}, invalid="9 does not divide 10")
    other.stops_early(0, 1, *measured(0.5))
    other.finish(0, *measured(0.75, 18))
    other.fail(1, "not a number")
    other.fail(1, "again, by a process that was slow")
    found = book.trials(settings())
    assert [(one.number, one.status, one.reason) for one in found] == [
        (0, "finished", ""),
        (1, "failed", "not a number"),
        (2, "running", ""),
        (3, "invalid", "9 does not divide 10"),
    ]
    first = found[0]
    assert (first.score, first.part, first.updates, first.steps, first.seconds) == (0.75, 9, 18, 18_000, 36.0)
    assert (first.values, math.isnan(found[2].score)) == ({RATE: 0.001, EPOCHS: 2}, True)
    assert [book.has_ended(number) for number in range(4)] == [True, True, False, True]


def test_trials_of_another_sweep_are_refused(tmp_path: Path) -> None:
    book = begun(tmp_path, 1)
    with pytest.raises(ValueError, match="another sweep"):
        book.trials(settings(Space((Choice(EPOCHS, (2, 4)),))))


def test_a_line_that_was_not_completed_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    begun(tmp_path, 2)
    before = path.read_bytes()
    path.write_bytes(before + b'{"op_code":4,"work')
    mend(path)
    assert path.read_bytes() == before
    assert len(begun(tmp_path, 1).frozen()) == 3
