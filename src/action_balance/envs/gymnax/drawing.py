"""Pictures of gymnax's classic control and its Reacher, and what actions do in words."""

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from action_balance.envs.gymnasium.action_names import known_names
from action_balance.envs.picture import AGENT, GOAL, PAPER, TRAIL, WALL

#: Pixels of a picture, and by how much larger it is drawn before it is made smaller, for soft edges.
WIDTH, HEIGHT, FINE = 600, 400, 2

#: The actions of MinAtar, by their numbers; a game has some of them.
_MINATAR = ("nothing", "left", "up", "right", "down", "fire")

Point = tuple[float, float]


class _Canvas:
    """A picture with the origin in its middle, y upwards, and a scale of so many pixels for each unit."""

    def __init__(self, scale: float, middle: Point = (WIDTH / 2, HEIGHT / 2)) -> None:
        self._scale, self._middle = scale * FINE, middle
        self._image = Image.new("RGB", (WIDTH * FINE, HEIGHT * FINE), PAPER)
        self._draw = ImageDraw.Draw(self._image)

    def _at(self, point: Point) -> Point:
        x, y = self._middle
        return x * FINE + point[0] * self._scale, y * FINE - point[1] * self._scale

    def line(self, points: list[Point], colour: tuple[int, int, int], width: int) -> None:
        self._draw.line([self._at(one) for one in points], colour, width * FINE, joint="curve")

    def dot(self, point: Point, colour: tuple[int, int, int], radius: int) -> None:
        (x, y), size = self._at(point), radius * FINE
        self._draw.ellipse((x - size, y - size, x + size, y + size), colour)

    def box(self, point: Point, colour: tuple[int, int, int], width: int, height: int) -> None:
        (x, y), half, tall = self._at(point), width * FINE / 2, height * FINE / 2
        self._draw.rounded_rectangle((x - half, y - tall, x + half, y + tall), 4 * FINE, colour)

    def picture(self) -> UInt8[np.ndarray, "H W 3"]:
        return np.array(self._image.resize((WIDTH, HEIGHT), Image.Resampling.BOX))


def _cart_pole(state: Any) -> UInt8[np.ndarray, "H W 3"]:
    x, angle = float(state.x), float(state.theta)
    canvas = _Canvas(110, (WIDTH / 2, 280))
    canvas.line([(-2.4, 0), (2.4, 0)], WALL, 3)
    canvas.box((x, 0), GOAL, 80, 44)
    tip = (x + 1.6 * math.sin(angle), 1.6 * math.cos(angle))
    canvas.line([(x, 0.1), tip], AGENT, 12)
    canvas.dot((x, 0.1), TRAIL, 9)
    return canvas.picture()


def _mountain_car(state: Any, goal: float = 0.5) -> UInt8[np.ndarray, "H W 3"]:
    def hill(x: float) -> Point:
        return x + 0.3, 0.45 * math.sin(3 * x)  # the valley, at -0.5, is near the middle

    canvas, x = _Canvas(300), float(state.position)
    canvas.line([hill(place) for place in np.linspace(-1.2, 0.6, 100).tolist()], WALL, 4)
    (flag_x, flag_y), (car_x, car_y) = hill(goal), hill(x)
    canvas.line([(flag_x, flag_y), (flag_x, flag_y + 0.16)], GOAL, 4)
    canvas.box((flag_x + 0.04, flag_y + 0.14), AGENT, 24, 14)
    canvas.dot((car_x, car_y + 0.05), TRAIL, 13)
    return canvas.picture()


def _acrobot(state: Any) -> UInt8[np.ndarray, "H W 3"]:
    first = float(state.joint_angle1)
    second = first + float(state.joint_angle2)
    elbow = (math.sin(first), -math.cos(first))
    tip = (elbow[0] + math.sin(second), elbow[1] - math.cos(second))
    canvas = _Canvas(85)
    canvas.line([(-3, 1), (3, 1)], WALL, 3)  # the height to reach
    canvas.line([(0, 0), elbow], GOAL, 12)
    canvas.line([elbow, tip], AGENT, 12)
    for joint in ((0.0, 0.0), elbow):
        canvas.dot(joint, TRAIL, 9)
    return canvas.picture()


def _pendulum(state: Any) -> UInt8[np.ndarray, "H W 3"]:
    angle, canvas = float(state.theta), _Canvas(150)
    canvas.line([(0, 0), (-math.sin(angle), math.cos(angle))], AGENT, 16)  # anticlockwise from upright
    canvas.dot((0, 0), TRAIL, 9)
    return canvas.picture()


def _reacher(state: Any) -> UInt8[np.ndarray, "H W 3"]:
    angles = np.asarray(state.angles)  # each from the x axis, not from the link before
    ends = [np.zeros(2), *np.cumsum([np.cos(angles), np.sin(angles)], axis=1).T]
    joints: list[Point] = [(float(x), float(y)) for x, y in ends]
    canvas, (goal_x, goal_y) = _Canvas(185 / len(angles)), np.asarray(state.goal_xy).tolist()
    canvas.dot((goal_x, goal_y), WALL, 12)
    for number, link in enumerate(itertools.pairwise(joints)):
        canvas.line(list(link), AGENT if number == len(angles) - 1 else GOAL, 12)
    for joint in joints[:-1]:
        canvas.dot(joint, TRAIL, 9)
    return canvas.picture()


#: What draws a state, by the name of the environment; observations of the others are drawn.
DRAWINGS: dict[str, Callable[[Any], UInt8[np.ndarray, "H W 3"]]] = {
    "CartPole-v1": _cart_pole,
    "MountainCar-v0": _mountain_car,
    "Acrobot-v1": _acrobot,
    "Pendulum-v1": _pendulum,
    "MountainCarContinuous-v0": partial(_mountain_car, goal=0.45),
    "Reacher-misc": _reacher,
}


def action_names(name: str, env: Any) -> tuple[str, ...] | None:
    if name.endswith("-MinAtar") and hasattr(env, "action_set"):
        return tuple(_MINATAR[int(one)] for one in env.action_set)
    return known_names(name) or known_names(name, continuous=True)
