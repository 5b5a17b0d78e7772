import re

import pytest

from action_balance.config.registry import env_config
from action_balance.config.serialization import from_dict
from action_balance.envs.lock.config import LockConfig
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


def test_a_lock_has_6_stages_and_18_actions_unless_told_otherwise() -> None:
    config = env_config("lock")
    assert config == from_dict(LockConfig, {"name": "lock"}) == LockConfig("lock", 6, 18)
    assert config.spec == EnvSpec("vector", (6,), (18,), states=6)
    assert (config.short_name, config.title) == ("lock 6 with 18 actions", "Combination lock 6 with 18 actions")
    assert LockConfig("lock", 1000, 1000).spec == EnvSpec("vector", (1000,), (1000,), states=1000)
    assert LockConfig("my_module:Maze", 4, 3).title == "my_module:Maze 4 with 3 actions"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "--size must be 1 or more, not 0"),
        ({"size": 1001}, "--size must be at most 1000, not 1001"),
        ({"actions": 1}, "--actions must be 2 or more, not 1"),
        ({"actions": 1001}, "--actions must be at most 1000, not 1001"),
    ],
)
def test_a_lock_that_cannot_be_made_is_refused(settings: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        LockConfig("lock", **settings)
