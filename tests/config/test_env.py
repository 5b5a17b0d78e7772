"""Families outside of the package: one on the device and one on the host, each in one file."""

import sys
from dataclasses import fields, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from recall_env import RecallConfig

from action_balance.config.env import DeviceEnvConfig, EnvConfig, HostEnvConfig
from action_balance.config.registry import env_class, env_config
from action_balance.config.serialization import field_docs
from action_balance.config.train import TrainConfig
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


def test_a_device_family_of_a_user_is_found_by_its_path_and_made() -> None:
    config = env_config("tiles_family:Tiles", size=10)
    assert isinstance(config, DeviceEnvConfig)
    assert config.spec == EnvSpec("image", (10, 10, 4), (4,), states=100)
    environment = TrainConfig(config).environment(jax.random.key(3))
    state, observation = environment.reset(jax.random.key(0))
    assert observation.shape == config.spec.shape
    assert int(environment.index(observation)) == 0
    _, step = environment.step(state, jnp.int32(1), jax.random.key(1))
    assert int(environment.index(step.next_obs)) == 1
    assert TrainConfig(config).scene() is None


def test_a_host_family_of_a_user_is_found_by_its_path_and_made() -> None:
    config = env_config("dice_family:Dice", dice=4)
    assert isinstance(config, HostEnvConfig)
    assert config.in_process
    assert config.describe() == ""
    together, apart = config.make(4, 1, (7,)), config.make(4, 2, (7,))
    assert together.spec == config.spec == EnvSpec("vector-stack", (1, 4), (4,), normalize_obs=True)
    first = together.reset()
    assert first.shape == (1, 4, *config.spec.frame_shape)
    np.testing.assert_array_equal(apart.reset().reshape(first.shape), first)
    together.send(0, first[0].argmax(axis=1))
    assert together.receive(0).reward.tolist() == [1, 1, 1, 1]


def test_a_family_of_a_user_has_its_settings_and_their_documentation() -> None:
    family = env_class("dice_family:Dice")
    assert [field.name for field in fields(family)] == ["name", "dice", "throws"]
    assert field_docs(family)["throws"] == "Throws of an episode."
    assert "name" in field_docs(family)
    with pytest.raises(UserError, match="a game of dice has no --size: its settings are --dice, --throws"):
        env_config("dice_family:Dice", size=3)
    with pytest.raises(UserError, match="--size must be 2 or more"):
        env_config("tiles_family:Tiles", size=1)


def test_a_family_of_a_user_is_stored_by_its_path_with_its_own_settings() -> None:
    config = TrainConfig(env_config("dice_family:Dice", dice=4))
    data = config.to_dict()
    assert data["env"] == {"name": "dice_family:Dice", "dice": 4, "throws": 5}
    assert TrainConfig.from_dict(data, trust=True) == config


def test_a_family_is_found_in_the_current_folder(
    tmp_path: "pytest.TempPathFactory", monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (
        "from dataclasses import dataclass",
        "from action_balance.config.env import DeviceEnvConfig, HostEnvConfig",
        "@dataclass(frozen=True)",
        "class Here(HostEnvConfig):",
        "    spec = None",
        "    def make(self, envs, groups, seed, threads=0, on_message=None): ...",
        "class Bare(HostEnvConfig):",
        "    more: int = 3",
        "@dataclass(frozen=True)",
        "class WithoutSpec(HostEnvConfig):",
        "    def make(self, envs, groups, seed, threads=0, on_message=None): ...",
        "@dataclass(frozen=True)",
        "class WithoutMake(DeviceEnvConfig):",
        "    more: int = 3",
    )
    folder = str(tmp_path)
    with open(f"{folder}/family_of_this_folder.py", "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    assert env_config("family_of_this_folder:Here").engine == "host"
    with pytest.raises(UserError, match="is not a dataclass"):
        env_config("family_of_this_folder:Bare")
    with pytest.raises(UserError, match="WithoutSpec has no spec, which describes observations"):
        env_config("family_of_this_folder:WithoutSpec")
    with pytest.raises(UserError, match="WithoutMake has no make, which makes the environment: add it"):
        env_config("family_of_this_folder:WithoutMake")


def test_names_are_parts_of_files_and_have_an_article() -> None:
    assert env_config("gym:ALE/Pitfall-v5").slug == "gym-ALE-Pitfall-v5"
    assert env_config("tiles_family:Tiles").slug == "tiles_family-Tiles"
    assert env_class("atari:pitfall").with_article() == "an Atari game"
    assert env_class("open").with_article() == "a grid world"


def test_environments_are_listed_by_family_then_by_name_and_settings() -> None:
    ordered: list[EnvConfig] = [
        env_config("open", size=5),
        env_config("open", size=9, view="coordinates"),
        env_config("open", size=9),
        env_config("goal"),
        env_config("corridor"),
        env_config("deep-sea", size=9),
        env_config("deep-sea"),
        env_config("atari:montezuma_revenge"),
        env_config("atari:venture"),
        env_config("gym:CartPole-v1"),
        env_config("dice_family:Dice"),
        env_config("tiles_family:Tiles"),
    ]
    shuffled = [*ordered[1::2], *ordered[::2]]
    assert sorted(shuffled, key=lambda one: one.sort_key) == ordered


def test_a_device_environment_whose_spec_is_a_stack_returns_single_frames() -> None:
    stacked = RecallConfig("recall", stack=4)
    stacked.check_spec(stacked.spec)
    with pytest.raises(UserError, match=r"observations of shape \(3,\).*frames of shape \(4,\): return single frames"):
        stacked.check_spec(replace(stacked.spec, shape=(2, 4)))
