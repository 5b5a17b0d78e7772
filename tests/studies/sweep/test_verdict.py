"""What a sweep has found, in words."""

from sweeps import EPOCHS, RATE, SPACE

from action_balance.studies.sweep.space import Choice, Space
from action_balance.studies.sweep.trials import Final
from action_balance.studies.sweep.verdict import chosen, sentences, short_names, values_text

BASE = Final("baseline", {}, scores=(1.0, 1.1, 0.9, 1.0, 1.0))
VALUES = {RATE: 0.00123456, EPOCHS: 4}


def final(*scores: float, search: float = 3.0, name: str = "trial-0002") -> Final:
    return Final(name, VALUES, 2, search, scores)


def verdict(*finals: Final) -> str:
    return " ".join(sentences(finals, SPACE, "episode_return"))


def test_the_settings_that_the_search_prefers_are_judged_even_if_fresh_seeds_prefer_others() -> None:
    first, second = final(2.0, 2.1, 1.9, 2.0, 2.0), final(5.0, 5.1, 4.9, 5.0, 5.0, search=2.9, name="trial-0009")
    assert chosen([BASE, second, first]) is first
    text = verdict(BASE, first, second)
    assert "learning_rate 0.001235, epochs 4 (trial 2)" in text
    assert "With 5 fresh seeds" in text
    assert "2.00 [" in text
    assert "5.0" not in text
    assert "The difference is significant (95 % interval 0." in text


def test_worse_and_equal_settings_are_called_so() -> None:
    assert "significant: they are worse" in verdict(BASE, final(0.1, 0.2, 0.1, 0.2, 0.1))
    assert "not significant" in verdict(BASE, final(0.0, 2.0, 1.0, 0.5, 1.5))


def test_few_seeds_give_no_verdict() -> None:
    text = verdict(Final("baseline", {}, scores=(1.0, 2.0)), final(3.0, 4.0))
    assert "may be due to chance: 2 seeds are too few" in text
    assert "range 3.00 to 4.00" in text


def test_unfinished_sweeps_say_so() -> None:
    assert "no best settings" in verdict()
    assert "scores of the fresh seeds are not known yet" in verdict(BASE, final())


def test_no_change_can_be_best() -> None:
    base = Final("baseline", {}, 4, 9.0, (1.0,) * 5)
    assert "prefers the settings without any change" in verdict(base, final(2.0, 2.0, 2.0, 2.0, 2.0))


def test_names_are_short_unless_two_settings_share_one() -> None:
    space = Space((Choice("algorithm.clip", (1, 2)), Choice("a.size", (1, 2)), Choice("b.size", (1, 2))))
    assert short_names(space) == {"algorithm.clip": "clip", "a.size": "a.size", "b.size": "b.size"}
    assert values_text({"algorithm.clip": 1, "b.size": 2}, space) == "clip 1, b.size 2"
