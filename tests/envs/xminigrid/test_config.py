from typing import Any

import pytest

from action_balance.config.registry import env_config
from action_balance.envs.xminigrid.config import NAMES, OWN, XMiniGridConfig
from action_balance.errors import UserError

DOOR_KEY = "xminigrid:MiniGrid-DoorKey-5x5"
ROOMS = "xminigrid:XLand-MiniGrid-R4-9x9"


def test_all_names_of_the_library_are_known_without_it() -> None:
    from xminigrid.registration import registered_environments

    assert sorted(NAMES) == sorted([*registered_environments(), *OWN])
    assert DOOR_KEY in XMiniGridConfig.names()


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"name": "xminigrid"}, "needs the name of an environment, e.g. xminigrid:MiniGrid-DoorKey-8x8"),
        ({"name": DOOR_KEY, "view_size": 4}, "--view-size must be an odd number, not 4"),
        ({"name": ROOMS, "ruleset": 3}, "--ruleset 3 needs a benchmark"),
        ({"name": DOOR_KEY, "benchmark": "trivial-21k"}, "has its own goal: leave out --benchmark"),
    ],
)
def test_settings_that_do_not_fit_are_one_line(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint) as error:
        env_config(**settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("config", "hint"),
    [
        (XMiniGridConfig("xminigrid:minigrid-doorkey-8x8"), r"did you mean xminigrid:MiniGrid-DoorKey-8x8\?"),
        (XMiniGridConfig(ROOMS, benchmark="trivial"), r"did you mean trivial-21k\?"),
    ],
)
def test_an_unknown_environment_or_benchmark_has_a_suggestion(config: XMiniGridConfig, hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        _ = config.spec


def test_a_task_without_a_goal_is_announced() -> None:
    assert "gives no reward: choose a ruleset with --benchmark" in XMiniGridConfig(ROOMS).describe()
    assert not XMiniGridConfig(ROOMS, benchmark="trivial-21k").describe()
    assert not XMiniGridConfig(DOOR_KEY).describe()


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr("xminigrid.benchmarks.DATA_PATH", str(tmp_path))
    with pytest.raises(UserError, match="nothing is downloaded here: run python -c") as error:
        _ = XMiniGridConfig(ROOMS, benchmark="trivial-21k").spec
    assert "\n" not in str(error.value)
