"""Pictures of states that were chosen by hand: a picture is 600 x 400 pixels."""

import math
from types import SimpleNamespace

import numpy as np

from action_balance.envs.gymnax.drawing import DRAWINGS
from action_balance.envs.picture import AGENT, GOAL, PAPER, WALL


def test_the_rod_of_the_pendulum_is_upright_at_zero_and_turns_anticlockwise() -> None:
    upright, left = (DRAWINGS["Pendulum-v1"](SimpleNamespace(theta=angle)) for angle in (0.0, math.pi / 2))
    above, beside = (200 - 100, 300), (200, 300 - 100)
    assert [tuple(upright[place]) for place in (above, beside)] == [AGENT, PAPER]
    assert [tuple(left[place]) for place in (above, beside)] == [PAPER, AGENT]


def test_the_flag_of_the_continuous_mountain_car_stands_where_its_task_ends() -> None:
    plain, continuous = (
        DRAWINGS[name](SimpleNamespace(position=-0.5)) for name in ("MountainCar-v0", "MountainCarContinuous-v0")
    )
    # 300 pixels per unit, of which the middle is at -0.3, and 20 pixels above the hill.
    for picture, goal in ((plain, 0.5), (continuous, 0.45)):
        row, column = 200 - 0.45 * math.sin(3 * goal) * 300 - 20, 300 + (goal + 0.3) * 300
        assert tuple(picture[round(row), round(column)]) == GOAL


def test_each_link_of_the_reacher_has_its_angle_from_the_horizontal() -> None:
    state = SimpleNamespace(angles=np.array([0.0, math.pi / 2]), goal_xy=np.array([-1.0, 0.0]))
    picture, link = DRAWINGS["Reacher-misc"](state), 92  # pixels
    assert tuple(picture[200, 300 + link // 2]) == GOAL
    assert tuple(picture[200 - link // 2, 300 + link]) == AGENT
    assert tuple(picture[200, 300 - link]) == WALL
