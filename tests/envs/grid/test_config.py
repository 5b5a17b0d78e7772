from typing import Any

import jax
import numpy as np
import pytest

from action_balance.envs.grid.config import GridConfig
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


@pytest.mark.parametrize(
    ("config", "width", "height"),
    [
        (GridConfig("open"), 40, 40),
        (GridConfig("goal", 10), 10, 10),
        (GridConfig("corridor"), 31, 11),
        (GridConfig("corridor", 5), 19, 5),
    ],
)
def test_the_size_is_that_of_the_square_or_of_a_room(config: GridConfig, width: int, height: int) -> None:
    environment = config.make(jax.random.key(0))
    assert isinstance(environment, GridEnvironment)
    assert (environment.world.width, environment.world.height) == (width, height)
    assert config.spec == EnvSpec("vector", (width + height,), (4,), states=width * height)


def test_a_default_size_is_comparable_with_the_same_size() -> None:
    assert GridConfig("corridor").comparable() == GridConfig("corridor", 11)
    assert GridConfig("corridor").short_name == GridConfig("corridor", 11).short_name == "corridor 11"


def test_the_map_is_the_world_itself() -> None:
    config = GridConfig("corridor", 3)
    scene = config.scene(config.make(jax.random.key(0)))
    visits = np.arange(scene.world.cells)
    np.testing.assert_array_equal(scene.as_drawn(visits), visits)
    assert scene.actions == ("left", "right", "up", "down")
    assert scene.order[5].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"name": "opne"}, "did you mean open"),
        ({"name": "open", "size": 0}, "--size must be 1 or more"),
        ({"name": "open", "size": 1}, "nothing to explore"),
        ({"name": "open", "size": 1001}, "--size must be at most 1000"),
        ({"name": "open", "episode_steps": 0}, "--episode-steps must be 1 or more"),
        ({"name": "goal", "episode_steps": 31}, "32 steps away, more than the 31 of an episode"),
        ({"name": "open", "view": "one"}, "unknown --view"),
    ],
)
def test_a_world_that_cannot_be_is_a_clear_error(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        GridConfig(**settings)
