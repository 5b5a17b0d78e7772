"""Settings that version 0.1.0 wrote, among them all that are kept in this repository."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from action_balance.config.agent import AgentConfig, BonusConfig
from action_balance.config.env import EnvConfig
from action_balance.config.legacy import upgrade_config, upgrade_env_spec
from action_balance.config.registry import env_config
from action_balance.config.serialization import to_dict
from action_balance.config.train import TrainConfig
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

RESULTS = sorted((Path(__file__).parents[2] / "results").glob("**/config.json"))

#: The settings of every environment in 0.1.0.
ENV: dict[str, Any] = {
    "name": "open",
    "size": None,
    "episode_steps": 200,
    "view": "one-hot",
    "env_kwargs": "",
    "wrapper": [],
    "vectorize": "sync",
    "stack": 1,
    "reward_scale": 1.0,
}
BONUS: dict[str, Any] = {
    "action_coef": 1.0,
    "action_coef_end": None,
    "normalize": "l2",
    "learns_from": "taken",
    "share": 0.25,
    "warmup_rollouts": 50,
    "observation_clip": 5.0,
}
ENTROPY = ("entropy_coef", 0.001)
GROUPS: dict[str, Any] = {"ppo": {}, "net": {}, "image": {}, "host": {}}


def config(env: dict[str, Any], bonus: dict[str, Any] | None = None, method: str = "rnd") -> dict[str, Any]:
    agent = {"method": method, "steps": 150_000, "envs": 8, "bonus": BONUS | (bonus or {}), **GROUPS}
    return {"env": ENV | env, "agent": agent, "seed": 0, "seeds": 1, "checkpoint_every": None}


@pytest.mark.parametrize(
    ("env", "now"),
    [
        ({}, env_config("open")),
        ({"name": "corridor", "size": 5, "view": "coordinates"}, env_config("corridor", size=5, view="coordinates")),
        ({"name": "deep-sea"}, env_config("deep-sea", size=20)),
        ({"name": "deep-sea", "size": 10}, env_config("deep-sea", size=10)),
        ({"name": "atari:pitfall"}, env_config("atari:pitfall")),
        (
            {"name": "gym:A-v0", "env_kwargs": '{"size": 6}', "wrapper": ["a:B"], "stack": 4, "reward_scale": 0.5},
            env_config(
                "gym:A-v0",
                env_kwargs='{"size": 6}',
                wrapper=("a:B",),
                stack=4,
                reward_scale=0.5,
                action_masks="ignore",
                layout="flat",
                max_image_side=0,
            ),
        ),
    ],
)
def test_an_environment_keeps_the_settings_of_its_family(env: dict[str, Any], now: EnvConfig) -> None:
    data = config(env)
    before = copy.deepcopy(data)
    assert TrainConfig.for_display(data).env == now
    assert data == before


def test_settings_of_bonuses_have_moved() -> None:
    agent = TrainConfig.from_dict(config({})).agent
    assert agent == AgentConfig(method="rnd", bonus=BonusConfig(update_proportion=0.25))
    agent = TrainConfig.from_dict(config({}, {"learns_from": "all"}, "action-balance")).agent
    assert (agent.bonus.action_coef, agent.action_coef) == (None, 1)
    agent = TrainConfig.from_dict(config({}, {"learns_from": "all", "action_coef": 2.0}, "action-balance")).agent
    assert agent.action_coef == 2
    assert agent.bonus_settings == {"distillation": {"learns_from": "all"}}


def set_in(group: dict[str, Any]) -> dict[str, Any]:
    """Settings that are set, without the entropy's weight, whose default is now that of the method."""
    return {name: value for name, value in group.items() if value is not None and (name, value) != ENTROPY}


@pytest.mark.parametrize("file", RESULTS, ids=[str(file.parent.relative_to(RESULTS[0].parents[3])) for file in RESULTS])
def test_the_runs_of_the_repository_are_read(file: Path) -> None:
    stored = json.loads(file.read_bytes())
    made = TrainConfig.from_dict(stored["config"])
    now = made.to_dict()
    assert TrainConfig.from_dict(json.loads(json.dumps(now))) == made
    if stored["version"] == 2:
        old = stored["config"]
        newer = {
            "wrapper": tuple(old["env"]["wrapper"]),
            "action_masks": "ignore",
            "layout": "flat",
            "max_image_side": 0,
        }
        assert now["env"].items() <= (old["env"] | newer).items()
        assert now["agent"]["bonus"]["update_proportion"] == old["agent"]["bonus"]["share"]
        for group in ("ppo", "net", "image", "host"):
            defaults = to_dict(AgentConfig())[group]  # of settings that are newer
            assert set_in(now["agent"][group]) == set_in(defaults | old["agent"][group])
        assert made.agent.entropy_coef == old["agent"]["ppo"]["entropy_coef"]
        assert made.agent.action_coef == old["agent"]["bonus"]["action_coef"]
        assert made.agent.epsilon == 0
        assert {name: now[name] for name in ("seed", "seeds", "checkpoint_every")}.items() <= old.items()


def test_defaults_that_were_numbers_before_methods_had_their_own_are_not_given() -> None:
    data = TrainConfig(env_config("deep-sea"), AgentConfig(method="rnd")).to_dict()
    del data["agent"]["ppo"]["epsilon"]
    data["agent"]["ppo"]["entropy_coef"] = 0.001
    data["agent"]["bonus"] |= {"action_coef": 1.0, "normalize": "l2"}
    assert TrainConfig.from_dict(data).agent == AgentConfig(method="rnd")


def test_settings_of_this_version_are_unchanged() -> None:
    data = TrainConfig(env_config("gym:A-v0", stack=2)).to_dict()
    assert upgrade_config(data) is data
    # Those of another family are still unknown.
    data["env"]["view"] = "one-hot"
    with pytest.raises(UserError, match="view"):
        TrainConfig.from_dict({**data, "env": {"name": "deep-sea", "view": "one-hot"}})


@pytest.mark.parametrize(
    "data", [{}, {"env": None, "agent": 3}, {"env": {"name": 3}}, {"env": [], "agent": {"bonus": None}}]
)
def test_damaged_settings_are_left_to_the_checks(data: dict[str, Any]) -> None:
    assert upgrade_config(data) == data
    with pytest.raises(UserError):
        TrainConfig.from_dict(data)


def test_what_an_environment_showed_becomes_a_specification() -> None:
    seen = {"shape": [7], "dtype": "float32", "parts": [["direction", 4], ["place", 3]], "actions": [3, 2]}
    parts = (("direction", 4), ("place", 3))
    expected = EnvSpec("vector-stack", (4, 7), (3, 2), parts=parts, normalize_obs=True)
    assert EnvSpec.from_dict(upgrade_env_spec(seen, config({"name": "gym:A-v0", "stack": 4}))) == expected
    image = {"shape": [84, 84, 3], "dtype": "uint8", "parts": [], "actions": 18}
    expected = EnvSpec("image-stack", (1, 84, 84, 3), (18,), dtype="uint8")
    assert EnvSpec.from_dict(upgrade_env_spec(image, config({"name": "gym:A-v0"}))) == expected


@pytest.mark.parametrize("seen", [None, {}, "(4,)", {"shape": 3, "dtype": "uint8", "parts": [], "actions": 2}])
def test_what_was_not_recorded_is_not_known(seen: Any) -> None:
    assert EnvSpec.from_dict(upgrade_env_spec(seen, config({}))) is None
