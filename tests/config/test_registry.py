import sys
from typing import Any

import gym_cases
import pytest

from action_balance.config.env import EnvConfig
from action_balance.config.families import FAMILIES, built_in, is_own
from action_balance.config.registry import (
    env_class,
    env_config,
    env_from_function,
    families,
    known_names,
    load_library,
    load_module,
    load_object,
)
from action_balance.envs.atari.config import AtariConfig
from action_balance.envs.craftax.config import CraftaxConfig
from action_balance.envs.deep_sea.config import DeepSeaConfig
from action_balance.envs.grid.config import GridConfig
from action_balance.envs.gymnasium.config import GymnasiumConfig
from action_balance.envs.gymnax.config import GymnaxConfig
from action_balance.envs.lock.config import LockConfig
from action_balance.envs.navix.config import NavixConfig
from action_balance.envs.xminigrid.config import XMiniGridConfig
from action_balance.errors import UserError


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("open", GridConfig),
        ("deep-sea", DeepSeaConfig),
        ("lock", LockConfig),
        ("atari:pitfall", AtariConfig),
        ("gym:CartPole-v1", GymnasiumConfig),
        ("gym:my_module:make", GymnasiumConfig),
        ("navix:Navix-DoorKey-8x8-v0", NavixConfig),
        ("xminigrid:MiniGrid-DoorKey-8x8", XMiniGridConfig),
    ],
)
def test_a_name_or_its_prefix_leads_to_a_family(name: str, family: type[EnvConfig]) -> None:
    assert env_class(name) is family
    assert type(env_config(name)) is family


def test_other_names_with_a_colon_are_of_users() -> None:
    assert [built_in(name) for name in ("opn", "my_module:Maze", "gymx:A-v0")] == [None] * 3
    names = ("opn", "opn:", "my_module:Maze", "gymx:A-v0", "", "gym:a:b", "atari")
    assert [name for name in names if is_own(name)] == ["my_module:Maze", "gymx:A-v0"]


def test_families_are_listed_once_and_in_order() -> None:
    assert families() == [
        *(GridConfig, DeepSeaConfig, LockConfig, AtariConfig, GymnasiumConfig),
        *(GymnaxConfig, CraftaxConfig, NavixConfig, XMiniGridConfig),
    ]
    assert known_names()[:5] == ["open", "goal", "corridor", "deep-sea", "lock"]
    assert "atari:montezuma_revenge" in known_names()
    assert all(family.forms for family in families())
    assert {load_object(path) for path in FAMILIES.values()} == {*families()}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("opne", r"did you mean open\?"),
        ("deepsea", r"did you mean deep-sea\?"),
        ("montezuma_revenge", r"did you mean atari:montezuma_revenge\?"),
        ("CartPole-v1", r"did you mean gym:CartPole-v1\?"),
        ("Navix-DoorKey-8x8-v0", r"did you mean navix:Navix-DoorKey-8x8-v0\?"),
        ("MiniGrid-DoorKey-8x8", r"did you mean xminigrid:MiniGrid-DoorKey-8x8\?"),
        ("atari", "needs a game, e.g. atari:pitfall"),
        ("gym:", "needs the id of an environment, e.g. gym:CartPole-v1"),
        ("xyzzy", "choose from open, goal"),
        ("no_such_module:Maze", "needs the module no_such_module, which is not installed"),
        ("tiles_family:Tile", r"tiles_family has no Tile: did you mean Tiles\?"),
        ("tiles_family:Board", "is not an environment family: inherit from DeviceEnvConfig or HostEnvConfig"),
    ],
)
def test_an_unknown_name_is_one_line_with_a_suggestion(name: str, hint: str) -> None:
    with pytest.raises(UserError, match=hint) as error:
        env_config(name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "settings", "hint"),
    [
        ("open", {"stack": 2}, "a grid world has no --stack: its settings are --size, --episode-steps, --view"),
        ("deep-sea", {"view": "one-hot"}, "a deep sea has no --view: its settings are --size"),
        ("atari:pitfall", {"size": 3}, "an Atari game has no --size: leave it out"),
        ("gym:CartPole-v1", {"episode_steps": 3}, "has no --episode-steps: its settings are --env-kwargs"),
    ],
)
def test_settings_of_another_family_are_unknown(name: str, settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        env_config(name, **settings)


def test_a_module_that_fails_is_reported_with_the_line(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_family.py").write_text("x = 1\nraise ValueError('no paper')\n")
    (tmp_path / "needy_family.py").write_text("import not_there_at_all\n")
    (tmp_path / "ending_family.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"cannot be imported: ValueError: no paper \(broken_family.py, line 2\)"):
        env_config("broken_family:Maze")
    with pytest.raises(UserError, match=r"needy_family cannot be imported: .*not_there_at_all"):
        env_config("needy_family:Maze")
    with pytest.raises(UserError, match=r"cannot be imported: SystemExit: 3 \(ending_family.py, line 2\)"):
        env_config("ending_family:Maze")


@pytest.mark.parametrize("name", ["os:system", "builtins:eval", "importlib.util:find_spec", "this:s", "antigravity:x"])
def test_modules_of_python_itself_are_not_even_imported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.import_module", lambda _: pytest.fail("imported"))
    with pytest.raises(UserError, match="is part of Python: name your own module"):
        load_object(name)


@pytest.mark.parametrize("name", [".family:Maze", "a..b:Maze", "a b:Maze", "../a:Maze", "a\n:Maze", "a.:Maze"])
def test_what_cannot_be_a_module_is_not_looked_for(name: str) -> None:
    with pytest.raises(UserError, match="is not a module name"):
        load_object(name)


def test_a_module_of_the_current_folder_never_takes_the_place_of_a_library(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here_family", "shtab", "gymnasium", "far_library"):
        (tmp_path / f"{name}.py").write_text(f"owned = {name!r}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("here_family", "shtab", "far_library"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    # A library is not looked for in this folder, and an installed module does not need it.
    with pytest.raises(UserError, match="needs the module far_library, which is not installed: pip install far"):
        load_library("far_library", "it", "far")
    assert not hasattr(load_module("shtab", "it"), "owned")
    assert str(tmp_path) not in sys.path
    # A module of the user is, and the folder comes last.
    assert load_module("here_family", "it").owned == "here_family"
    assert sys.path[-1] == str(tmp_path)
    monkeypatch.delitem(sys.modules, "shtab")
    assert not hasattr(load_module("shtab", "it"), "owned")


def test_a_missing_import_is_not_taken_for_the_module_that_begins_like_it(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mazes_family.py").write_text("import mazes\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"mazes_family cannot be imported: .*No module named 'mazes'"):
        env_config("mazes_family:Maze")
    with pytest.raises(UserError, match=r"needs the module mazes\.small, which is not installed"):
        env_config("mazes.small:Maze")


def test_a_function_makes_an_environment_of_one_family() -> None:
    made = env_from_function(gym_cases.Counter, stack=2)
    assert made == env_config("gym:gym_cases:Counter", stack=2)
    with pytest.raises(UserError, match="open was not created by a function: leave out env"):
        env_config("open").with_function(gym_cases.Counter)


def test_an_object_is_named_by_its_module_and_a_colon() -> None:
    assert load_object("numpy.random:Generator").__name__ == "Generator"
    for path in ("numpy", "numpy:", ":random"):
        with pytest.raises(UserError, match="is not MODULE:NAME"):
            load_object(path)
