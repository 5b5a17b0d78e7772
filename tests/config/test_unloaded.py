"""Runs of families that are not imported: what is known of them is shown and compared."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.config.unloaded import UnloadedEnvConfig
from action_balance.errors import UserError
from action_balance.studies.labels import name_runs


def stored(name: str, **settings: Any) -> dict[str, Any]:
    """The config of a run, as its file has it."""
    data = TrainConfig(env_config("open")).to_dict()
    return json.loads(json.dumps({**data, "env": {"name": name, **settings}}))


def test_a_family_of_a_user_is_plain_data() -> None:
    config = TrainConfig.for_display(stored("stranger:Maze", size=3, walls=[1, [2]], name_of={"a": "b"}))
    assert isinstance(config.env, UnloadedEnvConfig)
    assert config.env.settings == {"size": 3, "walls": (1, (2,)), "name_of": {"a": "b"}}
    assert (config.env.title, config.env.slug) == ("stranger:Maze", "stranger-Maze")
    assert config.scene() is None
    assert config == replace(config)
    assert hash(config) == hash(replace(config))
    with pytest.raises(UserError, match="was not created by a function"):
        config.env.with_function(lambda: None)


def test_built_in_families_are_themselves() -> None:
    for env in (env_config("open", size=3), env_config("gym:stranger:make", wrapper=("stranger:Wrap",))):
        config = TrainConfig(env)
        assert TrainConfig.for_display(json.loads(json.dumps(config.to_dict()))) == config


def test_runs_are_named_by_the_settings_that_differ_whatever_their_types() -> None:
    configs = [TrainConfig.for_display(stored("stranger:Maze", size=size)) for size in (3, "large", None, [1])]
    names = name_runs(configs)
    assert [one.environment for one in names] == [
        "stranger:Maze, size 3",
        "stranger:Maze, size large",
        "stranger:Maze, size none",
        "stranger:Maze, size (1,)",
    ]
    assert len(sorted(one.order for one in names)) == 4
    assert asdict(configs[0].env)["settings"] == {"size": 3}


@pytest.mark.parametrize("name", ["opne", "", 3, None])
def test_what_is_no_family_is_an_error_as_before(name: Any) -> None:
    with pytest.raises(UserError):
        TrainConfig.for_display(stored(name))
