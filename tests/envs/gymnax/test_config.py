from typing import Any

import jax
import jax.numpy as jnp
import jax_cases
import pytest

from action_balance.config.registry import env_config, env_from_function
from action_balance.config.train import TrainConfig
from action_balance.config.trust import is_of_script, leads_to
from action_balance.envs.gymnax.config import NAMES, GymnaxConfig
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


def test_the_specification_of_what_gymnax_has() -> None:
    import gymnax

    assert {*NAMES} <= {*gymnax.registered_envs}
    assert env_config("gymnax:Freeway-MinAtar").spec == EnvSpec("image", (10, 10, 7), (3,), dtype="bool")
    assert env_config("gymnax:CartPole-v1").spec == EnvSpec("vector", (4,), (2,), normalize_obs=True)
    assert env_config("gymnax:Catch-bsuite").spec == EnvSpec("vector", (50,), (3,))
    assert env_config("gymnax:BernoulliBandit-misc").spec.normalize_obs
    torques = EnvSpec("vector", (8,), (), normalize_obs=True, bounds=((-1, 1), (-1, 1)))
    assert env_config("gymnax:Reacher-misc").spec == torques


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gymnax:", "needs the name of an environment, e.g. gymnax:CartPole-v1"),
        ("gymnax:Cartpole-v1", "unknown environment 'gymnax:Cartpole-v1': did you mean gymnax:CartPole-v1"),
        ("gymnax:MNISTBandit-bsuite", "downloads the MNIST data when it is made"),
        ("gymnax:jax_cases:Params", "is a Params, which has no reset and step"),
        ("gymnax:jax_cases:Wrapper", "cannot be made: TypeError"),
        ("gymnax:jax_cases:jnp", "neither a Python class nor a Python function"),
        ("gymnax:__main__:Line", "was made in Python: pass it again"),
    ],
)
def test_a_name_that_leads_to_no_environment_is_one_line(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        _ = env_config(name).spec
    assert "\n" not in str(error.value)


def test_an_environment_without_a_prefix_is_suggested_unless_gymnasium_has_it_too() -> None:
    with pytest.raises(UserError, match="did you mean gymnax:Freeway-MinAtar"):
        env_config("Freeway-MinAtar")
    with pytest.raises(UserError, match="did you mean gym:CartPole-v1"):
        env_config("CartPole-v1")


@pytest.mark.parametrize(
    ("made", "name", "limit"),
    [
        (jax_cases.Line(), "gymnax:<Line>", 4),
        ((jax_cases.Line(), jax_cases.Params(7)), "gymnax:<Line>", 7),
        (jax_cases.Line, "gymnax:jax_cases:Line", 4),
    ],
)
def test_an_environment_from_python_is_used_as_it_is(made: Any, name: str, limit: int) -> None:
    config = env_from_function(made)
    assert (config.name, config.spec.nvec) == (name, (2,))
    assert isinstance(config, GymnaxConfig)
    assert config.make(jax.random.key(0)).episode_steps == limit
    assert is_of_script(name) == (name == "gymnax:<Line>")  # no name leads to an object


def test_a_name_leads_to_a_class_or_a_function_with_arguments() -> None:
    config = GymnaxConfig("gymnax:jax_cases:Line", env_kwargs='{"cells": 1}')
    environment = config.make(jax.random.key(0))
    state, _ = jax.jit(environment.reset)(jax.random.key(0))
    assert bool(jax.jit(environment.step)(state, jnp.array(1), jax.random.key(0))[1].terminated)
    assert GymnaxConfig("gymnax:jax_cases:make_line").make(jax.random.key(0)).episode_steps == 5
    again = GymnaxConfig("gymnax:<Line>").with_function("jax_cases:make_line")
    assert again.make(jax.random.key(0)).episode_steps == 5


def test_a_module_is_imported_only_if_the_user_trusts_the_file() -> None:
    config = TrainConfig(GymnaxConfig("gymnax:jax_cases:Line")).to_dict()
    assert [one.does for one in leads_to(config)] == ["import the module jax_cases"]
    with pytest.raises(UserError, match="import the module jax_cases"):
        TrainConfig.from_dict(config)
    assert TrainConfig.for_display(config).env.name == "gymnax:jax_cases:Line"  # which imports nothing
    assert leads_to(TrainConfig(GymnaxConfig("gymnax:CartPole-v1")).to_dict()) == []
