"""The panel: bars as long as the numbers that they show."""

from dataclasses import replace

import numpy as np
import pytest

from action_balance.films.panel import NARROW, OUT, ROWS, TALLEST, WIDTH, Panel, Story
from action_balance.films.pixels import BETA, BONUS, PI, rgb

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
