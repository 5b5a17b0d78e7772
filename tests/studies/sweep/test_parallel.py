"""Parallel coordinates."""

import itertools
import math

import pytest
from sweeps import EPOCHS, RATE, SPACE, trial

from action_balance.studies.sweep import parallel
from action_balance.studies.sweep.parallel import BOTTOM, TOP, draw
from action_balance.studies.sweep.space import Choice, Range, Space

MIDDLE = (TOP + BOTTOM) / 2


def heights(path: str) -> list[float]:
    return [float(point.partition(",")[2]) for point in path.removeprefix("M").split("L")]


def test_a_line_crosses_each_axis_at_its_value() -> None:
    trials = [
        trial(0, 1.0, values={RATE: 1e-3, EPOCHS: 2}),
        trial(1, 3.0, values={RATE: 1e-2, EPOCHS: 4}),
        trial(2, 2.0, values={RATE: 1e-4, EPOCHS: 4}),
    ]
    drawing = draw(trials, SPACE, "episode_return")
    assert drawing is not None
    found = {one["number"]: heights(one["path"]) for one in drawing["trials"]}
    assert [found[number][0] for number in range(3)] == pytest.approx([MIDDLE, TOP, BOTTOM])  # logarithmic
    assert [found[number][2] for number in range(3)] == pytest.approx([BOTTOM, TOP, MIDDLE])
    assert [found[number][1] > MIDDLE for number in range(3)] == [True, False, False]  # 4 is above 2
    assert [axis["title"] for axis in drawing["axes"]] == ["learning_rate", "epochs", "episode_return"]
    assert drawing["axes"][0]["x"] < drawing["axes"][1]["x"] < drawing["axes"][2]["x"] < drawing["width"]


def test_colours_follow_the_order_of_scores_and_the_best_is_on_top() -> None:
    trials = [
        trial(0, 5.0),
        trial(1, 100.0),
        trial(2, 4.0, "stopped early", part=3),
        trial(3),
        trial(4, status="failed"),
    ]
    drawing = draw(trials, SPACE, "episode_return")
    assert drawing is not None
    assert [(one["number"], one["level"], one["best"], one["stopped"]) for one in drawing["trials"]] == [
        (2, 0, False, True),
        (0, 50, False, False),
        (1, 100, True, False),
    ]
    assert drawing["trials"][-1]["text"] == "Trial 1: 100 with learning_rate 0.002, epochs 2"
    assert drawing["trials"][0]["text"].endswith("stopped early after 6 updates")


def test_nothing_is_drawn_without_a_score() -> None:
    assert draw([trial(0), trial(1, status="invalid")], SPACE, "episode_return") is None


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (Range("a", 1e-4, 1e-2, log=True), ["0.0001", "0.001", "0.01"]),
        (Range("a", 20.0, 70.0, log=True), ["20", "30", "40", "50", "60", "70"]),
        (Range("a", -30.0, 10.0), ["\u221230", "\u221220", "\u221210", "0", "10"]),
        (Range("a", 0, 5000, whole=True), ["0", "2,000", "4,000"]),
        (Choice("a", (8, 2, 4)), ["8", "2", "4"]),
    ],
)
def test_ticks_are_round_numbers_within_the_range(axis: Range | Choice, labels: list[str]) -> None:
    ticks = parallel._ticks(axis)
    assert [tick["label"] for tick in ticks] == labels
    assert all(TOP <= tick["y"] <= BOTTOM for tick in ticks)


def test_lines_through_the_same_word_are_spread() -> None:
    space = Space((Choice("a", ("x", "y")),))
    drawing = draw([trial(number, 1.0, values={"a": "x"}) for number in range(5)], space, "m")
    assert drawing is not None
    places = sorted(heights(one["path"])[0] for one in drawing["trials"])
    assert min(b - a for a, b in itertools.pairwise(places)) > 1
    assert places[-1] - places[0] < parallel.SPREAD
    assert not any(map(math.isnan, places))
