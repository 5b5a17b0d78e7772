"""The engine of a run: who trains and evaluates its agents. Nothing else asks where environments are."""

from dataclasses import replace
from typing import cast

from action_balance.algorithms.state import TrainedAgent, TrainState
from action_balance.config.env import HostEnvConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.base import Trainer
from action_balance.engines.callbacks import OnMessage
from action_balance.engines.device import evaluate as on_device
from action_balance.engines.device.trainer import DeviceTrainer
from action_balance.engines.evaluate import ActionMode, Evaluation, OnEpisodes
from action_balance.engines.host import evaluate as on_host
from action_balance.engines.host.trainer import HostTrainer
from action_balance.engines.memory_needs import check_agents, check_training
from action_balance.envs.host_base import HostEnvironment
from action_balance.envs.spec import EnvSpec


def make_trainer(
    config: TrainConfig,
    on_message: OnMessage = lambda _: None,
    trained_on: EnvSpec | None = None,
    trains: bool = True,
) -> Trainer:
    """Make the trainer of a run; environments on the host are not started yet."""
    if not trains:  # a checkpoint is the same on any number of devices
        config = replace(config, devices=None)
    spec = config.env.spec
    spec.check_unchanged(trained_on, config.env.name)
    config.env.check_spec(spec)
    config.check_spec(spec)
    (check_training if trains else check_agents)(config, spec)
    if text := config.env.describe():
        on_message(text)
    return DeviceTrainer(config) if config.env.engine == "device" else _host_trainer(config, on_message)


def _host_trainer(config: TrainConfig, on_message: OnMessage) -> Trainer:
    env, agent = cast(HostEnvConfig, config.env), config.with_defaults().agent

    def make(seed: int, update: int) -> HostEnvironment:
        return env.make(agent.envs, agent.groups, (seed, update), agent.host.threads, on_message)

    in_thread = env.in_process and agent.groups == 1
    return HostTrainer(agent, env.spec, make, config.seed, config.seeds, in_thread)


def state_shapes(config: TrainConfig, spec: EnvSpec) -> TrainState:
    """The shapes of the state of a run, for whoever reads a checkpoint; environments on the host are not made."""
    if config.env.engine == "device":
        return make_trainer(config, trains=False).state_shapes()

    def nothing(*_: int) -> HostEnvironment:
        raise AssertionError("nothing is played")

    config.check_spec(spec)
    check_agents(config, spec)
    return HostTrainer(config.with_defaults().agent, spec, nothing, config.seed, config.seeds).state_shapes()


def most_episodes(config: TrainConfig) -> int:
    """The most episodes of an agent that can be evaluated, because of the memory that they need."""
    engine = on_device.most_episodes if config.env.engine == "device" else on_host.most_episodes
    return engine(config)


def evaluate_run(
    config: TrainConfig,
    states: TrainState | TrainedAgent,
    episodes: int,
    seed: int,
    report: OnEpisodes = lambda _: None,
    on_message: OnMessage = lambda _: None,
    record: bool = False,
) -> dict[ActionMode, Evaluation]:
    """Play full episodes with every agent of a run, without learning."""
    if config.env.engine == "device":  # a replay needs no record of it
        return on_device.evaluate(config, states, episodes, seed, report)
    return on_host.evaluate(config, states, episodes, seed, report, on_message, record)
