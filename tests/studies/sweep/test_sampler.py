"""Which combination comes next."""

import pytest
from sweeps import EPOCHS, RATE, SPACE, trial

from action_balance.studies.sweep import sampler as module
from action_balance.studies.sweep.sampler import Sampler
from action_balance.studies.sweep.space import Choice, Range, Space

SMALL = Space((Choice("a", (1, 2)), Choice("b", ("x", "y", None))))


def test_the_same_seed_proposes_the_same_values() -> None:
    first, second, other = Sampler(SPACE, 0), Sampler(SPACE, 0), Sampler(SPACE, 1)
    proposed = [[one.ask(number) for number in range(3)] for one in (first, second, other)]
    assert proposed[0] == proposed[1]
    assert proposed[0] != proposed[2]


def test_values_are_in_their_range_and_have_few_digits() -> None:
    for number in range(10):
        values = Sampler(SPACE, number).ask(0)
        assert values is not None
        assert 1e-4 <= values[RATE] <= 1e-2
        assert len(f"{values[RATE]:.3e}".partition("e")[0]) == 5
        assert float(f"{values[RATE]:.4g}") == values[RATE]
        assert values[EPOCHS] in (2, 4)


def test_a_small_space_is_tried_once_and_then_exhausted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REPEATS", 2)
    sampler, tried = Sampler(SMALL, 0), []
    for number in range(6):
        values = sampler.ask(number)
        assert values is not None
        tried.append((values["a"], values["b"]))
        sampler.tell(trial(number, 0.1 * values["a"], values=values))
    assert {*tried} == {(a, b) for a in (1, 2) for b in ("x", "y", None)}
    assert sampler.is_exhausted
    assert sampler.ask(6) is None


def test_trials_that_run_now_are_not_proposed_again() -> None:
    sampler = Sampler(SMALL, 0)
    proposed = [sampler.ask(number) for number in range(6)]
    assert len({str(one) for one in proposed}) == 6


def test_a_range_too_narrow_for_new_numbers_is_exhausted() -> None:
    sampler = Sampler(Space((Range("a", 0.1, 0.1000001),)), 0)
    found = [sampler.ask(number) for number in range(4)]
    assert found[-1] is None


def test_a_sampler_that_continues_knows_what_was_tried() -> None:
    trials = [
        trial(number, 0.5, values={"a": a, "b": b}) for number, (a, b) in enumerate([(1, "x"), (2, "y"), (1, None)])
    ]
    sampler = Sampler(SMALL, 0, trials)
    left = [sampler.ask(number) for number in (3, 4, 5)]
    assert {(one["a"], one["b"]) for one in left if one} == {(1, "y"), (2, "x"), (2, None)}
    assert sampler.ask(6) is None


def test_a_sampler_that_continues_does_not_draw_the_same_numbers_again() -> None:
    first = Sampler(SPACE, 0).ask(0)
    assert first is not None
    continued = Sampler(SPACE, 0, [trial(0, 0.5, values=first)]).ask(1)
    assert continued != first


def test_unfinished_trials_continue_and_their_end_counts() -> None:
    unfinished = trial(0, status="running", part=0, values={"a": 1, "b": "x"})
    sampler = Sampler(SMALL, 0, [unfinished])
    sampler.again(unfinished)
    sampler.tell(trial(0, 0.25, values={"a": 1, "b": "x"}))
    assert sampler._scores[SMALL.key({"a": 1, "b": "x"})] == 0.25


def test_optuna_learns_how_trials_ended() -> None:
    ended = [
        trial(0, 0.5, values={"a": 1, "b": "x"}),
        trial(1, 0.3, "stopped", part=6, values={"a": 2, "b": "x"}),
        trial(2, status="failed", values={"a": 1, "b": "y"}),
        trial(3, status="invalid", values={"a": 2, "b": "y"}),
    ]
    study = Sampler(SMALL, 0, ended)._study
    assert [one.state.name for one in study.trials] == ["COMPLETE", "PRUNED", "FAIL", "FAIL"]
    assert [one.params for one in study.trials] == [one.values for one in ended]
    assert study.trials[0].value == 0.5
    assert study.trials[1].intermediate_values == {6: 0.3}


def test_scores_guide_the_search() -> None:
    space = Space((Range("a", 0.0, 1.0),))
    sampler, late = Sampler(space, 0), []
    for number in range(40):
        values = sampler.ask(number)
        assert values is not None
        sampler.tell(trial(number, -abs(values["a"] - 0.7), values=values))
        late += [values["a"]] if number >= 25 else []
    assert sum(abs(one - 0.7) < 0.15 for one in late) > len(late) / 2  # uniform draws: 30 %
