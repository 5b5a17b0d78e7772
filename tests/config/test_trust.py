"""What a config leads to: code of others is named before it is imported, and allowed by the user only."""

import json
from typing import Any

import pytest

from action_balance.config.trust import OF_GYMNASIUM, check_trusted, is_of_script, is_standard, leads_to
from action_balance.errors import UserError


def gym(name: str = "gym:CartPole-v1", wrapper: Any = (), **kwargs: Any) -> dict[str, Any]:
    return {"env": {"name": name, "wrapper": list(wrapper), "env_kwargs": json.dumps(kwargs) if kwargs else ""}}


@pytest.mark.parametrize(
    "config",
    [
        {"env": {"name": "open", "size": 3}, "agent": {"method": "rnd", "intrinsic": "count", "action_bonus": None}},
        {"env": {"name": "atari:pitfall"}},
        gym("gym:CartPole-v1"),
        gym("gym:ALE/Pitfall-v5", ["gymnasium.wrappers:AtariPreprocessing"], frameskip=1, obs_type="rgb"),
        gym("gym:MiniGrid-DoorKey-8x8-v0", ["minigrid.wrappers:ImgObsWrapper"], size=6, render_mode="rgb_array"),
        gym("gym:FrozenLake-v1", map_name="4x4", desc=["SFFF", "FHFH"], success_rate=1.5e-3, none=None),
        gym(a="1.5", b="1.5e3", c="human", d="CliffWalking-v1", e="v1.0", f="Reach the goal. Then stop."),
        gym("gym:__main__:make"),  # which leads nowhere
        {},
        {"env": None, "agent": [1]},
        {"env": {"name": 3}, "agent": {"intrinsic": 3}},
        {"env": {"name": "gym:A-v0", "wrapper": 3, "env_kwargs": "{"}},  # damaged, which other checks report
        {"env": {"name": "gym:A-v0", "env_kwargs": "[" * 100_000}},
    ],
)
def test_what_is_built_in_or_registered_leads_nowhere(config: dict[str, Any]) -> None:
    assert leads_to(config) == []
    check_trusted(config)


@pytest.mark.parametrize(
    ("config", "setting", "does"),
    [
        (gym("gym:os:system", command="touch owned"), "env.name", "import the module os"),
        (gym("gym:a.b:Env-v0"), "env.name", "import the module a.b"),
        (gym("gym:a:b:c"), "env.name", "import the module a:b"),
        ({"env": {"name": "stranger:Family"}}, "env.family", "import the module stranger"),
        ({"env": {"name": "gymx:CartPole-v1"}}, "env.family", "import the module gymx"),
        (gym(wrapper=["stranger:Wrap"]), "env.wrapper", "import the module stranger"),
        (gym(wrapper=["gymnasium.wrappers.x:Wrap"]), "env.wrapper", "import the module gymnasium.wrappers.x"),
        (gym(wrapper=["gymnasium.wrappers:A", "os:system"]), "env.wrapper", "import the module os"),
        ({"agent": {"intrinsic": "stranger:Bonus"}}, "agent.intrinsic", "import the module stranger"),
        ({"agent": {"action_bonus": "stranger:Bonus"}}, "agent.action_bonus", "import the module stranger"),
        *(
            (gym("gym:Ant-v5", **kwargs), "env.env_kwargs", "open a file or import a module")
            for kwargs in (
                {"xml_file": "~/ant.xml"},
                {"xml_file": "ant.xml"},
                {"xml_file": "my ant 2.xml.gz "},
                {"xml_file": ".\\ant"},
                {"env_id": "stranger:Env-v0"},
                {"maker": "os.system"},
                {"nested": {"deep": [[1, {"x": "stranger.code:Class"}]]}},
            )
        ),
    ],
)
def test_a_module_is_named_before_it_is_imported(config: dict[str, Any], setting: str, does: str) -> None:
    (found,) = leads_to(config)
    assert found.setting == setting
    assert does in found.does
    with pytest.raises(UserError, match=r"--trust \(in Python: trust=True\)") as error:
        check_trusted(config)
    assert found.name in str(error.value)
    assert does in str(error.value)
    assert "command line" not in str(error.value)


def test_what_the_user_has_typed_is_the_users_own() -> None:
    config = gym("gym:mine:make", ["mine:Wrap"]) | {"agent": {"intrinsic": "mine:Bonus"}}
    with pytest.raises(UserError, match=r"the environment gym:mine:make, .* or give the environment on the command"):
        check_trusted(config, typing=True)
    with pytest.raises(UserError, match=r"--wrapper mine:Wrap, .* or give --wrapper on the command line"):
        check_trusted(config, ["gym:mine:make"], typing=True)
    with pytest.raises(UserError, match=r"the bonus mine:Bonus, .* or give --intrinsic on the command line"):
        check_trusted(config, OF_GYMNASIUM, typing=True)
    check_trusted(config, [*OF_GYMNASIUM, "agent.intrinsic"])
    check_trusted(config, ["gym:mine:make", "mine:Wrap", "mine:Bonus"])


def test_python_itself_has_no_environments() -> None:
    assert all(map(is_standard, ("os", "os.path", "sys", "builtins", "subprocess", "importlib.util", "_thread")))
    assert not any(map(is_standard, ("numpy", "my_module", "__main__", "osx")))


def test_a_function_of_a_script_has_a_name_that_leads_nowhere() -> None:
    assert is_of_script("gym:__main__:make")
    assert is_of_script("gym:my_module:test.<locals>.<lambda>")
    assert not is_of_script("gym:my_module:make")
