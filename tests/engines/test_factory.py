"""Which engine trains and evaluates a run."""

from dataclasses import dataclass, replace

import jax
import pytest

from action_balance.config.agent import AgentConfig
from action_balance.config.algorithm import MinibatchOf
from action_balance.config.env import HostEnvConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.base import Trainer
from action_balance.engines.device.trainer import DeviceTrainer
from action_balance.engines.factory import make_trainer, most_episodes
from action_balance.engines.host.trainer import HostTrainer
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

TINY = AgentConfig(network=NetworkConfig(hidden=4, bonus_hidden=4, bonus_outputs=2))


def test_the_environment_chooses_the_engine_and_reports_what_is_observed() -> None:
    messages: list[str] = []
    assert isinstance(make_trainer(TrainConfig(env_config("deep-sea", size=4), TINY), messages.append), DeviceTrainer)
    assert messages == []
    trainer = make_trainer(TrainConfig(env_config("gym:CartPole-v1"), TINY), messages.append)
    assert isinstance(trainer, HostTrainer)
    assert isinstance(trainer, Trainer)
    assert trainer.spec.shape == (1, 4)
    assert messages == ["observations: vectors of 4 numbers: observation 0-3"]


@pytest.mark.parametrize("of", ["environments", "samples"])
@pytest.mark.parametrize("name", ["deep-sea", "gym:CartPole-v1"])
def test_shapes_of_states_have_a_row_for_each_seed(name: str, of: MinibatchOf) -> None:
    agent = replace(TINY, algorithm=replace(TINY.algorithm, minibatch_of=of))
    shapes = make_trainer(TrainConfig(env_config(name), agent, seeds=3)).state_shapes()
    assert {leaf.shape[0] for leaf in jax.tree.leaves(shapes)} == {3}


def test_agents_of_another_environment_are_refused() -> None:
    config = TrainConfig(env_config("deep-sea", size=4), TINY)
    with pytest.raises(UserError, match="deep-sea has changed"):
        make_trainer(config, trained_on=replace(config.env.spec, shape=(25,)))
    make_trainer(config, trained_on=config.env.spec)


def test_settings_that_do_not_fit_the_environment_are_refused() -> None:
    agent = AgentConfig(method="action-balance-rnd-channel")
    with pytest.raises(UserError, match="images"):
        make_trainer(TrainConfig(env_config("gym:CartPole-v1"), agent))


@dataclass(frozen=True)
class VectorOnHost(HostEnvConfig):
    """Observations on the host are always stacks."""

    spec = EnvSpec("vector", (3,), (2,))


def test_a_spec_without_stacks_is_refused_on_the_host() -> None:
    with pytest.raises(UserError, match=r"steps on the host.* is vector: make it vector-stack of shape \(1, 3\)"):
        make_trainer(TrainConfig(VectorOnHost("my:Own"), TINY))


def test_the_most_episodes_are_those_that_fit_into_memory() -> None:
    sea = TrainConfig(env_config("deep-sea", size=4))  # 4 steps, 16 numbers observed, row and column
    most = most_episodes(sea)
    each = 3 * 4 + 4 * 16 + 2 * 2
    assert most * each <= 100_000_000 < (most + 1) * each
    assert most_episodes(TrainConfig(env_config("atari:pitfall"))) == 128
    assert most_episodes(TrainConfig(env_config("gym:CartPole-v1"))) > 1_000_000
