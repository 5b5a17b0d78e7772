import json
from typing import Any

import gym_cases
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from action_balance.config.registry import env_config, env_from_function
from action_balance.config.serialization import from_dict
from action_balance.config.train import TrainConfig
from action_balance.envs.gymnasium.config import GymnasiumConfig
from action_balance.envs.kwargs import parse_kwargs
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.interop.inputs import Spaces


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"wrapper": ("nope",)}, "is not MODULE:NAME"),
        ({"env_kwargs": '{"size": 3}'}, "cannot be created: TypeError: .* unexpected keyword argument 'size'"),
        ({"env_kwargs": "[3]"}, "not a JSON object"),
        ({"vectorize": "own", "wrapper": ("gymnasium.wrappers:FlattenObservation",)}, "leave out --vectorize own"),
        ({"vectorize": "other"}, "unknown --vectorize"),
        ({"reward_scale": 0.0}, "--reward-scale must be above 0"),
        ({"size": 4}, "has no --size: its settings are --env-kwargs"),
    ],
)
def test_wrong_settings_of_an_environment_are_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        env_config("gym:CartPole-v1", **settings).spec  # noqa: B018


def test_arguments_are_words_or_json_or_a_dictionary() -> None:
    arguments: Any = {"size": 3, "a": [1]}
    assert GymnasiumConfig("gym:A-v0", env_kwargs=arguments).env_kwargs == '{"a": [1], "size": 3}'
    assert parse_kwargs([]) == ""
    assert parse_kwargs(["size=6", "map_name=8x8", "slow=True", "x=1.5"]) == (
        '{"map_name": "8x8", "size": 6, "slow": true, "x": 1.5}'
    )
    assert parse_kwargs(['{"a": [1, 2]}', "b=null"]) == '{"a": [1, 2], "b": null}'
    with pytest.raises(UserError, match="neither KEY=VALUE nor a JSON object"):
        parse_kwargs(["size"])


def test_a_function_is_named_by_its_module_and_is_no_setting() -> None:
    config = GymnasiumConfig.from_function(gym_cases.Counter, stack=2)
    assert config.name == "gym:gym_cases:Counter"
    assert config == GymnasiumConfig("gym:gym_cases:Counter", stack=2)
    assert config.spec == EnvSpec("vector-stack", (2, 3), (2,), parts=(("", 3),), normalize_obs=True)
    other = GymnasiumConfig("gym:no_module:Nothing").with_function(gym_cases.Counter)
    assert other.spec.shape == (1, 3)


def test_the_bounds_of_continuous_actions_are_a_part_of_the_specification() -> None:
    pendulum = GymnasiumConfig("gym:Pendulum-v1")
    assert (pendulum.spec.nvec, pendulum.spec.bounds) == ((), ((-2, 2),))
    saved = json.loads(json.dumps(pendulum.spaces(), allow_nan=False))
    assert saved["parts"] == [
        {"path": [], "shape": [1], "dtype": "float32", "starts": [], "counts": [], "bounds": [[-2, 2]]}
    ]
    assert from_dict(Spaces, saved) == Spaces.of(spaces.Box(-np.inf, np.inf, (3,)), spaces.Box(-2, 2, (1,)))


def test_who_steps_it_does_not_matter_to_a_comparison() -> None:
    first, second = (GymnasiumConfig("gym:A-v0", vectorize=how) for how in ("sync", "async"))
    assert first.in_process
    assert not second.in_process
    assert first.comparable() == second.comparable()
    assert GymnasiumConfig("gym:A-v0", stack=2).comparable() != first.comparable()


def test_an_environment_in_place_of_a_function_is_one_line() -> None:
    several = "single environment, a Counter, but training creates several: pass a function .* lambda: Counter\\(\\)"
    with pytest.raises(UserError, match=several):
        env_from_function(gymnasium.wrappers.TimeLimit(gym_cases.Counter(), 5))
    with pytest.raises(UserError, match=several):
        GymnasiumConfig("gym:x").with_function(gym_cases.Counter())  # type: ignore[arg-type]  # that is the test
    with pytest.raises(UserError, match="3 is neither a name nor a function"):
        env_from_function(3)


def test_a_function_that_returns_the_same_environment_twice_is_one_line() -> None:
    one = gym_cases.Counter()
    with pytest.raises(UserError, match="returned the same environment twice: create a new one in each call"):
        env_from_function(lambda: one).make(2, 2, (0,))  # type: ignore[attr-defined]  # of the family


def test_a_function_takes_the_place_of_the_name_in_the_settings_of_a_run() -> None:
    data = TrainConfig(GymnasiumConfig("gym:__main__:make", stack=2)).to_dict()
    for env in (gym_cases.Counter, "gym_cases:Counter"):
        made = TrainConfig.of_run(data, env=env).env
        assert (made.name, made.spec.shape) == ("gym:__main__:make", (2, 3))
    with pytest.raises(UserError, match="corridor was not created by a function"):
        TrainConfig.of_run(TrainConfig(env_config("corridor")).to_dict(), env=gym_cases.Counter)
