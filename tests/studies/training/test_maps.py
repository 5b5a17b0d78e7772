"""Where agents acted, as the page plays it."""

from pathlib import Path

from watched_runs import STEPS

from action_balance.packing import unpacked
from action_balance.studies.training import maps as view_maps
from action_balance.studies.training.data import Watched


def test_visits_are_drawn_where_the_diver_is_and_by_what_actions_do(runs: list[Path]) -> None:
    (found,) = view_maps.players([Watched.open(runs[0])])
    assert (found["width"], found["height"], found["start"], found["goals"]) == (3, 3, 6, [2])
    assert found["walls"] == [5, 7, 8]  # what lies above the diagonal
    assert found["mean"]["moments"] == {"p0": [STEPS, 2 * STEPS, 3 * STEPS, 4 * STEPS]}
    total = unpacked(found["mean"]["counts"]["p0"]).reshape(4, 9, 2)
    assert (total == total[0]).all()  # as much more at every moment
    # state 0 is the top left cell, 6; its actions were counted 0 and 1, whichever of them is right
    assert sorted(total[0, 6].tolist()) == [0, 1]
    assert sorted(total[0, 0].tolist()) == [12, 13]  # state 6, the lower left
