"""The panel: bars as long as the numbers that they show, and marks where they are."""

from dataclasses import replace

import numpy as np
import pytest

from action_balance.films.panel import BARS, DOUBLE, NARROW, OUT, ROWS, TALLEST, WIDTH, Numbers, Panel, Story
from action_balance.films.pixels import BETA, BONUS, PI, blend, rgb
from action_balance.plots.drawing import INK

# A half, a quarter and two eighths; beta has them from the bottom up.
SHARES = np.array([[0.5, 0.25, 0.125, 0.125]] * 2)
BALANCED = Story(
    method="action-balance-rnd",
    title="title",
    actions=("left", "right", "up", "down"),
    taken=np.array([1, 2]),
    pi=SHARES,
    beta=SHARES[:, ::-1],
    bonus=np.array([[0.3, -0.1, -0.1, -0.1], [0, 0, 0, 0]]),
    verdict="game over",
)
NUMBERS = (("step", "0"), ("score", "12"))


def lengths(panel: np.ndarray, colour: str) -> list[int]:
    """Pixels of a colour in the longest line of each action's row."""
    rows = panel[ROWS:].reshape(4, TALLEST, WIDTH + 2 * OUT, 3)
    return [int((row == rgb(colour)).all(axis=-1).sum(axis=1).max()) for row in rows]


def test_bars_of_both_policies_are_as_long_as_their_probabilities() -> None:
    panel = Panel(BALANCED).draw(0, NUMBERS)
    whole = NARROW - 124  # pixels for the largest probability, 50 %
    assert lengths(panel, PI) == [whole, whole // 2, whole // 4, whole // 4]
    assert lengths(panel, BETA) == lengths(panel, PI)[::-1]


def test_bars_of_the_bonus_show_its_distance_from_the_mean() -> None:
    panel = Panel(BALANCED)
    # A bar has 53 pixels for 0.5.
    assert lengths(panel.draw(0, NUMBERS), BONUS) == [32, 11, 11, 11]
    assert lengths(panel.draw(1, NUMBERS), BONUS) == [0] * 4


def test_without_an_action_bonus_there_is_only_pi_with_wide_bars() -> None:
    panel = Panel(replace(BALANCED, beta=None, bonus=None)).draw(0, NUMBERS)
    assert lengths(panel, PI) == [236, 118, 59, 59]
    assert lengths(panel, BETA) == lengths(panel, BONUS) == [0] * 4


@pytest.mark.parametrize(("step", "taken"), [(0, 1), (1, 2)])
def test_the_row_of_the_action_taken_is_coloured(step: int, taken: int) -> None:
    edge = Panel(BALANCED).draw(step, NUMBERS)[ROWS:, : OUT - 4].reshape(4, TALLEST, OUT - 4, 3)[:, 6:-6]
    assert [bool((row < 245).any()) for row in edge] == [row == taken for row in range(4)]


def test_of_an_action_with_components_a_row_of_each_is_coloured() -> None:
    story = replace(BALANCED, taken=np.array([[0, 3], [1, 2]]))
    edge = Panel(story).draw(0, NUMBERS)[ROWS:, : OUT - 4].reshape(4, TALLEST, OUT - 4, 3)[:, 6:-6]
    assert [bool((row < 245).any()) for row in edge] == [True, False, False, True]


# A track has 234 pixels for numbers from 0 to 10.
ARM = Numbers(
    names=("arm",),
    span=np.array([[0, 10.0]]),
    spread=np.array([[[2.0], [5], [8]]]),
    taken=np.array([[7.0]]),
    candidates=np.array([[[-5.0], [5], [10]]]),
    weights=np.array([[0.25, 0.25, 0.5]]),
)
NOTHING = np.zeros((1, 0))
CONTINUOUS = replace(BALANCED, actions=(), taken=NOTHING.astype(int), pi=NOTHING, beta=None, bonus=None, numbers=ARM)


def track(story: Story, height: int) -> np.ndarray:
    """The track of a number after all choices, where the agent chooses."""
    upper = ROWS + TALLEST * len(story.actions)
    return Panel(story).draw(0, NUMBERS)[upper : upper + height, OUT + BARS[0] : OUT + BARS[1]]


def columns(picture: np.ndarray, colour: object) -> list[int]:
    return np.flatnonzero((picture == colour).all(axis=-1).any(axis=0)).tolist()


def test_a_track_shows_mean_and_standard_deviation_of_pi_and_the_number_of_the_action() -> None:
    for height, numbers in ((DOUBLE, ARM), (TALLEST, replace(ARM, candidates=None, weights=None))):
        found = track(replace(CONTINUOUS, numbers=numbers), height)
        band = columns(found, blend(PI, 0.4))
        assert (band[0], band[-1]) == (47, 188)  # 2 of 10, and 8 of 10
        assert columns(found, rgb(PI)) == [117, 118]
        dot = columns(found, rgb(INK))
        assert (dot[0] + dot[-1]) // 2 == 165


def test_candidates_are_as_high_as_their_weights_under_beta() -> None:
    found = (track(CONTINUOUS, DOUBLE) == blend(BETA, 0.75)).all(axis=-1)
    assert np.flatnonzero(found.any(axis=0)).tolist() == [0, 1, 117, 118, 234, 235]
    floor = 52
    assert [floor - int(np.flatnonzero(found[:, column])[0]) for column in (0, 117, 234)] == [13, 13, 26]


def test_numbers_have_rows_after_those_of_choices() -> None:
    story = replace(BALANCED, taken=np.array([1]), pi=SHARES[:1], beta=None, bonus=None, numbers=ARM)
    assert lengths(Panel(story).draw(0, NUMBERS)[: ROWS + 4 * TALLEST], PI) == [236, 118, 59, 59]
    assert columns(track(story, TALLEST), rgb(PI)) == [117, 118]
