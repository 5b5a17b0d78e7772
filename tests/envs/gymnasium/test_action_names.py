"""Names of actions: of well-known environments, of those that name them, and of all others."""

from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import pytest
from gymnasium import spaces

from action_balance.envs.gymnasium.action_names import action_names
from action_balance.envs.gymnasium.choices import Choices


def env(ident: str = "", **attributes: Any) -> Any:
    return SimpleNamespace(spec=SimpleNamespace(id=ident), unwrapped=SimpleNamespace(**attributes))


class Moves(IntEnum):
    pick_up = 0
    DROP = 1


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (env("CartPole-v1"), ("left", "right")),
        (env("own_package:CartPole-v2"), ("left", "right")),
        (env("Own-v0"), ("action 0", "action 1")),
        (env(actions=Moves), ("pick up", "drop")),
        (env(get_action_meanings=lambda: ["NOOP", "UPFIRE"]), ("noop", "upfire")),
        (env("Acrobot-v1"), ("action 0", "action 1")),  # with another number of actions
        (SimpleNamespace(unwrapped=SimpleNamespace(actions=[1, 2])), ("action 0", "action 1")),
    ],
)
def test_one_component(given: Any, names: tuple[str, ...]) -> None:
    assert action_names(given, Choices.of(spaces.Discrete(2))) == names


def test_numbers_are_those_of_the_space() -> None:
    one, two = Choices.of(spaces.Discrete(2, start=3)), Choices.of(spaces.MultiDiscrete([2, 2], start=[0, 1]))
    assert action_names(env(), one) == ("action 3", "action 4")
    assert action_names(env(), two) == ("0: choice 0", "0: choice 1", "1: choice 1", "1: choice 2")


@pytest.mark.parametrize(
    ("ident", "space", "names"),
    [
        ("Pendulum-v1", spaces.Box(-2, 2, (1,)), ("torque",)),
        ("LunarLander-v3", spaces.Box(-1, 1, (2,)), ("main engine", "side engines")),
        ("Hopper-v5", spaces.Box(-1, 1, (2,)), ("action 0", "action 1")),  # with another number of them
        (
            "Own-v0",
            spaces.Dict(go=spaces.Discrete(2, start=1), turn=spaces.Box(-1, 1, (2,))),
            ("0: choice 1", "0: choice 2", "turn 0", "turn 1"),
        ),
    ],
)
def test_continuous_numbers_follow_the_choices(ident: str, space: Any, names: tuple[str, ...]) -> None:
    assert action_names(env(ident), Choices.of(space)) == names
