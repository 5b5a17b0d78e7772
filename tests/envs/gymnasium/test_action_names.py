"""Names of actions: of well-known environments, of those that name them, and of all others."""

from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from action_balance.envs.gymnasium.action_names import action_names


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
    assert action_names(given, (2,), np.asarray(0)) == names


def test_numbers_are_those_of_the_space() -> None:
    assert action_names(env(), (2,), np.asarray(3)) == ("action 3", "action 4")
    assert action_names(env(), (2, 2), np.array([0, 1])) == ("0: choice 0", "0: choice 1", "1: choice 1", "1: choice 2")
