"""Gymnasium environments by name: what is wrong with one is reported before a run begins."""

from typing import Any

import gymnasium
import pytest

from action_balance.envs.gymnasium import make as gym_make
from action_balance.envs.gymnasium.make import find, load_maker
from action_balance.errors import UserError


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gym:gym_cases:OldStep", "old Gym interface"),
        (
            "gym:gym_cases:NoOptions",
            "unexpected keyword argument 'options'.*: add the arguments seed and opt",
        ),
        ("gym:gym_cases:Sequences", "observations in Sequence"),
        ("gym:gym_cases:NaN", "an observation has NaN"),
        ("gym:gym_cases:Outside", "it has 1.5 at index \\(2,\\), but the space is from 0 to 1"),
        ("gym:gym_cases:NoEnvironment", "is not a gymnasium.Env"),
        ("gym:gym_cases:LARGE", "is neither a Python class nor a Python function"),
        ("gym:gym_cases:kill", "is neither a Python class nor a Python function"),
        ("gym:gym_cases:call", "is subprocess.call of Python itself"),
        ("gym:os:system", "names the module os, which is part of Python"),
        ("gym:sys:exit", "names the module sys, which is part of Python"),
        ("gym:gym_cases:ends", "cannot be created: SystemExit: 3"),
        ("gym:gym_cases:EndsInStep", "failed when it was tested: SystemExit: 4"),
        ("gym:gym_cases:EndsInClose", "cannot be created: SystemExit: 5"),
        ("gym:gym_cases:NotThere-v0", "cannot be created: ModuleNotFoundError: No module named 'not_there'"),
        ("gym:gym_cases:qqqq", "gym_cases neither registers it nor has a function of that name"),
        ("gym:not_there:Env-v0", "needs the module not_there, which is not installed"),
        ("gym:__main__:make", "is a function defined in a script"),
        ("gym:CartPol-v1", "did you mean gym:CartPole-v1\\?"),
        (
            "gym:Nothing/Like-this-v3",
            "no installed package has registered it: install its package, or write gym:MODULE",
        ),
    ],
)
def test_a_wrong_environment_is_one_line(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        find(name.removeprefix("gym:"), {}, (), "sync")


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        ("gym_cases", "is not MODULE:NAME"),
        ("gym_cases:nothing", "gym_cases has no nothing"),
        ("gym_cases:Counter", "is not a gymnasium.Wrapper: let its class inherit from it"),
        ("gym_cases:call", "is subprocess.call of Python itself"),
        ("os:system", "names the module os, which is part of Python"),
        ("gym_cases:ends", "cannot be created: SystemExit: 3"),
    ],
)
def test_a_wrapper_that_is_none_is_one_line(wrapper: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        find("CartPole-v1", {}, (wrapper,), "sync")


def test_functions_may_be_decorated_and_have_arguments() -> None:
    for name in ("cached", "partly"):
        assert find(f"gym_cases:{name}", {}, (), "sync").choices.nvec == (2,)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gym_make.PACKAGES, "Far/", ("far_away", "far-away"))
    with pytest.raises(UserError, match="needs the module far_away, which is not installed: pip install far-away"):
        find("Far/Off-v0", {}, (), "sync")


def test_an_own_vector_environment_that_begins_late_is_refused() -> None:
    with pytest.raises(UserError, match="starts episodes one step late"):
        find("CartPole-v1", {}, (), "own")
    taxi = next(one for one in gymnasium.registry if one.startswith("Taxi-v"))
    with pytest.raises(UserError, match="has no vector environment of its own"):
        find(taxi, {}, (), "own")
    with pytest.raises(
        UserError, match="a function or a class, which creates one environment at a time: use --vectorize sync"
    ):
        find("gym_cases:Counter", {}, (), "own")


def test_wrappers_are_applied_in_order() -> None:
    names = ("gymnasium.wrappers:FlattenObservation", "gymnasium.wrappers:RecordEpisodeStatistics")
    made: Any = find("CartPole-v1", {}, names, "sync").make()
    assert [type(made).__name__, type(made.env).__name__] == ["RecordEpisodeStatistics", "FlattenObservation"]


def test_a_function_is_loaded_by_its_name() -> None:
    assert load_maker("gym_cases:Counter") is load_maker("gym:gym_cases:Counter")
    for name, message in (
        ("Counter", "is not MODULE:NAME"),
        ("gym_cases:nothing", "gym_cases has no nothing"),
        ("gym_cases:system", "is neither a Python class nor a Python function"),
        ("gym_cases:NoEnvironment", "is not a gymnasium.Env"),
    ):
        with pytest.raises(UserError, match=message):
            load_maker(name)
