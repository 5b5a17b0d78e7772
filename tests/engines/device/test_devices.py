"""Which devices a run uses; the tests have two CPU devices."""

from dataclasses import replace
from typing import Literal

import jax
import pytest

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device.devices import choose_devices, for_resume, splits_environments
from action_balance.errors import UserError

CONFIG = TrainConfig(env_config("deep-sea", size=4), AgentConfig(envs=4, algorithm=PPOConfig(minibatches=2)))


def test_seeds_are_split_where_there_are_enough_and_environments_otherwise() -> None:
    both = jax.devices()[:2]
    cases: list[tuple[int, int | Literal["all"], bool]]
    cases = [(1, 2, True), (1, "all", True), (2, 2, False), (3, 2, False), (1, 1, False)]
    for seeds, devices, expected in cases:
        config = replace(CONFIG, seeds=seeds, devices=devices)
        chosen = choose_devices(config)
        assert chosen == (both[:1] if devices == 1 else both)
        assert splits_environments(config, chosen) == expected
    assert choose_devices(CONFIG) == both  # by default, one seed is rounded as one of several
    assert not splits_environments(CONFIG, both)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (replace(CONFIG, devices=3), "2 devices of this machine: use --devices all, or set JAX_NUM_CPU_DEVICES=3"),
        (
            replace(CONFIG, devices=2, agent=AgentConfig(envs=5, algorithm=PPOConfig(minibatches=1))),
            "5 environments cannot be split over 2 devices: use --envs 6",
        ),
    ],
)
def test_too_many_devices_or_environments_that_they_do_not_divide_are_errors(config: TrainConfig, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose_devices(config)


def test_a_run_is_resumed_on_as_many_devices_as_asked_for_or_as_before_or_as_fit() -> None:
    assert for_resume(replace(CONFIG, devices=1), 2) == (replace(CONFIG, devices=2), [])
    assert for_resume(replace(CONFIG, devices=2), None) == (replace(CONFIG, devices=2), [])
    assert for_resume(replace(CONFIG, devices="all"), None) == (replace(CONFIG, devices="all"), [])
    config, (note,) = for_resume(replace(CONFIG, devices=8), None)
    assert config.devices == 2
    assert note.startswith("the run used 8 devices")
    odd = AgentConfig(envs=3, algorithm=PPOConfig(minibatches=1))
    assert for_resume(replace(CONFIG, devices=3, agent=odd), None)[0].devices == 1  # 2 do not divide 3 environments
