import numpy as np
from matplotlib.colors import to_rgba

from action_balance.envs.grid.world import GridWorld
from action_balance.plots.heatmaps import HEAT, WALL, heatmaps, one_row

#: A row of start, free cell, wall and goal.
WORLD = GridWorld.create(4, 1, walls=[(2, 0)], goals=[(3, 0)])


def test_cells_are_coloured_by_their_visits_on_one_scale() -> None:
    visits = [np.array([100.0, 1, 0, 0]), np.array([10.0, 0, 0, 0])]
    figure = heatmaps("title", WORLD, {"row": visits}, ["one", "other"])
    first, second = (np.asarray(axes.get_images()[0].get_array())[0] for axes in figure.axes[:2])
    assert first[0].tolist() == list(HEAT(1.0))
    assert first[1].tolist() == list(HEAT(0.0))
    assert second[0].tolist() == list(HEAT(0.5))  # halfway between 1 and 100 on a logarithmic scale
    assert first[2].tolist() == list(to_rgba(WALL))
    assert first[3].tolist() == [0, 0, 0, 0]  # never visited


def test_the_scale_can_be_that_of_some_cells() -> None:
    visits = np.array([1000.0, 10, 0, 1])
    scaled = np.array([False, True, False, True])
    (axes, _) = heatmaps("title", WORLD, {"": [visits]}, ["one"], scaled).axes
    colours = np.asarray(axes.get_images()[0].get_array())[0]
    assert colours[0].tolist() == colours[1].tolist() == list(HEAT(1.0))


def test_start_and_goal_are_marked() -> None:
    axes = one_row("title", WORLD, {"one": np.ones(4)}, "visits").axes[0]
    assert [np.asarray(line.get_xydata()).tolist() for line in axes.get_lines()] == [[[0, 0]], [[3, 0]]]
