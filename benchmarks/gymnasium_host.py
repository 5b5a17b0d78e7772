"""Speed of training in Gymnasium: ``python benchmarks/gymnasium_host.py [--quick] [--envs N] [--env ID]``.

What is measured, and how, in environment steps a second:

- *Vector environment alone.* Gymnasium's own `SyncVectorEnv` of all environments with random actions: no agent.
- *Stepping.* The same behind our contract: episodes that ended are begun at once, and every observation is checked.
- *Acting only.* The agent decides and records; nothing is learned.
- *Acting and learning.* All of training, with lag 0 and lag 1: with the usual networks, and with small ones and one
  pass over a rollout, which shows what is left of the host's share where the update is small.

The vector environment alone is measured in every round beside each row, so that other work on the machine falls on
both; the ratio is the median of the rounds' ratios. Compiling is not counted.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import gymnasium
import jax
import numpy as np
from common import machine, table, timed, wide_console
from rich.console import Console

from action_balance.config.agent import BonusConfig, Config, HostConfig, NetConfig, PPOConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.device.seeds import use_all_cores
from action_balance.engines.host.trainer import HostTrainer
from action_balance.engines.loop import trainer
from action_balance.envs.gymnasium.config import GymnasiumConfig

METHODS = ("action-balance-rnd", "rnd", "ppo")
#: Networks and passes by name.
SIZES = {"usual": (NetConfig(), 4), "small": (NetConfig(hidden=32, bonus_hidden=32, bonus_outputs=16), 1)}
#: What is asked for: a share of the vector environment's speed.
TARGET = 0.5


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    env: str
    envs: int
    rollout_steps: int
    rounds: int

    def trainer(self, method: str, size: str, lag: int) -> HostTrainer:
        """Begun, and long enough never to end."""
        net, epochs = SIZES[size]
        agent = Config(
            method=method,
            steps=2**31 - 1,
            envs=self.envs,
            ppo=PPOConfig(rollout_steps=self.rollout_steps, epochs=epochs),
            bonus=BonusConfig(warmup_rollouts=1),
            net=net,
            host=HostConfig(lag=lag),
        )
        made = trainer(TrainConfig(GymnasiumConfig(f"gym:{self.env}"), agent))
        if not isinstance(made, HostTrainer):
            raise TypeError("a Gymnasium environment runs on the host")
        made.start(made.begin())
        return made


def alone(settings: Settings) -> Callable[[], None]:
    """The vector environment alone, for one rollout's worth of steps."""
    vector = gymnasium.make_vec(settings.env, settings.envs, vectorization_mode="sync")
    vector.reset(seed=0)
    vector.action_space.seed(0)
    actions = [vector.action_space.sample() for _ in range(settings.rollout_steps)]

    def steps() -> None:
        for chosen in actions:
            vector.step(chosen)

    return steps


def stepping(settings: Settings) -> Callable[[], None]:
    """The same behind our contract."""
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


def acting(run: HostTrainer) -> Callable[[], None]:
    """A rollout that nobody learns from."""

    def rollout() -> None:
        run.end_rollout()
        run.begin_rollout()

    return rollout


def measure(settings: Settings, methods: list[str], console: Console) -> None:
    """All rows."""
    vector = alone(settings)
    title = f"{settings.env}, {settings.envs} environments, {settings.rollout_steps} steps of each in a rollout"
    shown = table(title, ("", "steps/s", "vector alone beside it", "ratio", "asked for"))

    def row(name: str, work: Callable[[], object], asked: str = "") -> None:
        own, beside = [], []
        for turn in range(settings.rounds + 2):  # the first two compile, and fill what waits
            seconds, other = timed(work)[0], timed(vector)[0]
            if turn > 1:
                own.append(seconds)
                beside.append(other)
        steps = settings.envs * settings.rollout_steps
        ratio = median(b / a for a, b in zip(own, beside, strict=True))
        shown.add_row(name, f"{steps / median(own):,.0f}", f"{steps / median(beside):,.0f}", f"{ratio:.2f}", asked)

    row("stepping", stepping(settings))
    for method in methods:
        for size in SIZES:
            for lag in (0, 1):
                run = settings.trainer(method, size, lag)
                if lag == 0:
                    row(f"{method}, {size}, acting only", acting(run))
                row(f"{method}, {size}, learning, lag {lag}", run.advance, f"{TARGET}")
                run.end_rollout()
                run.close()
    console.print(shown)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Speed of training in a Gymnasium environment on this machine.")
    parser.add_argument("--quick", action="store_true", help="few rounds of few steps, to see that it runs")
    parser.add_argument("--env", default="CartPole-v1", help="id of the environment")
    parser.add_argument("--envs", type=int, default=8, help="number of environments")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS[:1])
    parser.add_argument("--rounds", type=int, default=15, help="times that every row is measured")
    asked = parser.parse_args()
    use_all_cores()
    console = wide_console()
    console.print(machine(f"Gymnasium {gymnasium.__version__}", jax.devices()[0].device_kind))
    steps, rounds = (8, 1) if asked.quick else (128, asked.rounds)
    measure(Settings(asked.env, asked.envs, steps, rounds), asked.methods, console)


if __name__ == "__main__":
    main()
