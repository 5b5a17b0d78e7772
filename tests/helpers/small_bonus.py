"""Small bonuses of `action_balance.interop`: few shapes and one width, so that tests share compiled programs."""

from typing import Any

import numpy as np

from action_balance import RND, ActionBalance

SHAPE, ACTIONS, WIDTH = (3,), 4, 16
RATE = 3e-3
RANDOM = np.random.default_rng(0)
OBS = RANDOM.normal(2.0, 3.0, (8, *SHAPE)).astype(np.float32)
TAKEN = np.array([0, 1, 2, 3, 0, 1, 2, 3])


def make(**settings: Any) -> ActionBalance:
    """An action balance that has learned nothing."""
    return ActionBalance.create(SHAPE, ACTIONS, **{"learning_rate": RATE, "width": WIDTH, **settings})


def make_rnd(environments: int = 2, **settings: Any) -> RND:
    """An RND that has learned nothing."""
    return RND.create(SHAPE, environments=environments, **{"learning_rate": RATE, "width": WIDTH, **settings})
