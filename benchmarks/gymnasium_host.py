"""Speed of training in Gymnasium: ``python benchmarks/gymnasium_host.py [--quick] [--envs N] [--env ID]``.

What is measured, in environment steps per second:

- *Vector environment alone.* Gymnasium's own `SyncVectorEnv` with random actions, without an agent.
- *Stepping.* The same environments behind our contract: a new episode begins within the step that ended one, and every
  observation is checked.
- *Acting only.* The agent chooses actions and records the rollout; nothing is learned.
- *Acting and learning.* Complete training, with lag 0 and lag 1: with the default networks, and with small ones and one
  epoch per rollout, which shows the cost of the host where the update is small.

The vector environment alone is measured in every round of each row, so that other load on the machine affects both; the
ratio is the median of the rounds' ratios. Compiling is not counted.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import gymnasium
import jax
import numpy as np
from common import machine, measure, ratio, table, wide_console
from rich.console import Console

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.device.devices import use_all_cores
from action_balance.engines.factory import make_trainer
from action_balance.engines.host.trainer import HostTrainer
from action_balance.envs.gymnasium.config import GymnasiumConfig

METHODS = ("action-balance-rnd", "rnd", "ppo")
#: Networks and epochs by name.
SIZES = {"default": (NetworkConfig(), 4), "small": (NetworkConfig(hidden=32, bonus_hidden=32, bonus_outputs=16), 1)}


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    env: str
    envs: int
    rollout_steps: int
    rounds: int

    def trainer(self, method: str, size: str, lag: int) -> HostTrainer:
        """A trainer that has started, and does not end during the benchmark."""
        network, epochs = SIZES[size]
        agent = AgentConfig(
            method=method,
            steps=2**31 - 1,
            envs=self.envs,
            algorithm=PPOConfig(rollout_steps=self.rollout_steps, epochs=epochs),
            exploration=ExplorationConfig(warmup_rollouts=1),
            network=network,
            host=HostConfig(lag=lag),
        )
        trainer = make_trainer(TrainConfig(GymnasiumConfig(f"gym:{self.env}"), agent))
        assert isinstance(trainer, HostTrainer)
        trainer.start(trainer.init_state())
        return trainer


def alone(settings: Settings) -> Callable[[], None]:
    """A rollout's steps of the vector environment alone."""
    vector = gymnasium.make_vec(settings.env, settings.envs, vectorization_mode="sync")
    vector.reset(seed=0)
    vector.action_space.seed(0)
    actions = [vector.action_space.sample() for _ in range(settings.rollout_steps)]

    def steps() -> None:
        for chosen in actions:
            vector.step(chosen)

    return steps


def stepping(settings: Settings) -> Callable[[], None]:
    """The same steps behind our contract."""
    environment = GymnasiumConfig(f"gym:{settings.env}").make(settings.envs, 1, (0, 0))
    environment.reset()
    nvec = environment.spec.nvec
    choices = np.array(nvec if len(nvec) > 1 else nvec[0])
    size = (settings.rollout_steps, settings.envs, *choices.shape)
    actions = np.random.default_rng(0).integers(choices, size=size).astype(np.int32)

    def steps() -> None:
        for chosen in actions:
            environment.send(0, chosen)
            environment.receive(0)

    return steps


def acting(trainer: HostTrainer) -> Callable[[], None]:
    """A rollout without learning."""

    def rollout() -> None:
        trainer.end_rollout()
        trainer.begin_rollout()

    return rollout


def benchmark(settings: Settings, methods: list[str], console: Console) -> None:
    """Measure and print all rows."""
    vector = alone(settings)
    title = f"{settings.env}, {settings.envs} environments, rollouts of {settings.rollout_steps} steps"
    shown = table(title, ("", "steps/s", "vector environment alone", "ratio"))

    def row(name: str, work: Callable[[], object]) -> None:
        seconds = measure({"own": work, "alone": vector}, settings.rounds)
        steps = settings.envs * settings.rollout_steps
        rates = [f"{steps / median(each):,.0f}" for each in seconds.values()]
        shown.add_row(name, *rates, f"{ratio(seconds['alone'], seconds['own']):.2f}")

    row("stepping", stepping(settings))
    for method in methods:
        for size in SIZES:
            for lag in (0, 1):
                trainer = settings.trainer(method, size, lag)
                if lag == 0:
                    row(f"{method}, {size}, acting only", acting(trainer))
                row(f"{method}, {size}, learning, lag {lag}", trainer.advance)
                trainer.end_rollout()
                trainer.close()
    console.print(shown)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the speed of training in a Gymnasium environment.")
    parser.add_argument("--quick", action="store_true", help="few rounds of few steps, to check that it works")
    parser.add_argument("--env", default="CartPole-v1", help="id of the environment (default: CartPole-v1)")
    parser.add_argument("--envs", type=int, default=8, help="number of environments (default: 8)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS[:1])
    parser.add_argument("--rounds", type=int, default=15, help="number of rounds (default: 15)")
    flags = parser.parse_args()
    use_all_cores()
    console = wide_console()
    console.print(machine(f"Gymnasium {gymnasium.__version__}", jax.devices()[0].device_kind))
    steps, rounds = (8, 1) if flags.quick else (128, flags.rounds)
    benchmark(Settings(flags.env, flags.envs, steps, rounds), flags.methods, console)


if __name__ == "__main__":
    main()
