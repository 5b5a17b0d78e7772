"""Speed of training on Atari: ``python benchmarks/atari.py [--quick] [--envs N ...] [--game GAME]``.

What is measured, in agent steps per second (each of four emulator frames):

- *Emulator alone.* ale-py's vector environment with all environments in one batch and random actions, without an agent.
- *Acting only.* The agent chooses actions and records the rollout; nothing is learned.
- *Acting and learning.* Complete training, with lag 1 and lag 0. The emulator alone is measured in every round as well,
  so that other load on the machine affects both; the ratio is the median of the rounds' ratios.
- *Parts of an update.* Every program that the device runs for an update, timed separately, and how often an update
  calls it.
- *Memory.* Peak memory of the device, where it is known, and of the host.

Rows are printed on stderr as soon as they are measured; tables follow for each number of environments. The environments
have been stepped for a while before they are measured, and compiling is not counted. On a CPU the networks are small,
unless ``--full`` is given.
"""

import argparse
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from common import machine, measure, ratio, table, wide_console
from rich.console import Console

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.engines.device.devices import use_all_cores
from action_balance.engines.host.trainer import HostTrainer
from action_balance.envs.atari.emulator import Atari
from action_balance.errors import UserError

METHODS = ("rnd", "action-balance-rnd", "action-balance-rnd-channel")
SMALL = NetworkConfig(channels=8, features=64, trunk=64, bonus_features=64)
#: Timed calls of each part of an update.
CALLS = 7


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    game: str
    envs: int
    network: NetworkConfig
    groups: int | None
    rollout_steps: int
    rounds: int

    def agent(self, method: str, lag: int) -> AgentConfig:
        """An agent whose training does not end during the benchmark."""
        return AgentConfig(
            method=method,
            steps=2**31 - 1,
            envs=self.envs,
            algorithm=PPOConfig(rollout_steps=self.rollout_steps, learning_rate=1e-4),
            exploration=ExplorationConfig(update_proportion=0.25, warmup_rollouts=1),
            network=self.network,
            host=HostConfig(groups=self.groups, lag=lag),
        )


class Emulator:
    """The emulator alone."""

    def __init__(self, settings: Settings) -> None:
        self.steps = settings.rollout_steps
        self.environment = Atari(settings.game, settings.envs)
        self.environment.reset()
        self.generator = np.random.default_rng(0)

    def __call__(self) -> None:
        """Take as many steps as a rollout has."""
        environment = self.environment
        actions = self.generator.integers(environment.spec.nvec[0], size=(self.steps, environment.envs_per_group))
        for chosen in actions.astype(np.int32):
            environment.send(0, chosen)
            environment.receive(0)


class Agent:
    """Training with emulators that are already running."""

    def __init__(self, settings: Settings, method: str, lag: int, emulators: Atari) -> None:
        self.trainer = HostTrainer(settings.agent(method, lag), emulators.spec, lambda *_: emulators)
        self.trainer.start(self.trainer.init_state())

    def act(self) -> None:
        """A rollout without learning."""
        self.trainer.end_rollout()
        self.trainer.begin_rollout()

    def learn(self) -> None:
        """A rollout and an update."""
        self.trainer.advance()

    def stop(self) -> None:
        """End the rollout, so that another agent can use the emulators."""
        self.trainer.end_rollout()


class Row(NamedTuple):
    """Seconds of a rollout in each round, and those of the emulator alone."""

    own: list[float]
    emulator: list[float]

    def cells(self, settings: Settings) -> list[str]:
        """Steps per second, those of the emulator, and their ratio."""
        steps = settings.envs * settings.rollout_steps
        return [*(f"{steps / median(seconds):,.0f}" for seconds in self), f"{ratio(self.emulator, self.own):.2f}"]


def benchmark(settings: Settings, methods: Sequence[str], console: Console) -> None:
    """Measure and print the rows of one number of environments."""
    emulator = Emulator(settings)
    groups = settings.agent("rnd", 0).groups
    emulators = Atari(settings.game, settings.envs, groups)
    rows: dict[str, Row] = {}
    by_part = {}
    for method in methods:
        for lag in (1, 0):
            agent = Agent(settings, method, lag, emulators)
            work: dict[str, Callable[[], None]] = {f"{method}, acting only": agent.act} if lag else {}
            seconds = measure({"": emulator, **work, f"{method}, lag {lag}": agent.learn}, settings.rounds)
            alone = seconds.pop("")
            for name, own in seconds.items():
                rows[name] = Row(own, alone)
                rate, emulator_rate, share = rows[name].cells(settings)
                line = f"{rate} steps/s, emulator {emulator_rate}, ratio {share}"
                print(f"{settings.envs} environments, {name}: {line}", file=sys.stderr)
            agent.stop()
            by_part[method] = parts(agent.trainer)
    show_rows(settings, groups, rows, console)
    for method, times in by_part.items():
        show_parts(method, times, console)
    stats = jax.devices()[0].memory_stats() or {}
    device = f"device {stats['peak_bytes_in_use'] / 2**30:.2f} GiB; " if stats else ""
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    console.print(f"peak memory: {device}host {host:.2f} GiB\n")
    emulator.environment.close()
    emulators.close()


def show_rows(settings: Settings, groups: int, rows: Mapping[str, Row], console: Console) -> None:
    """A table of speeds, and their ratios to the emulator's."""
    title = f"{settings.game}, {settings.envs} environments in {groups} groups, {settings.network.precision}"
    shown = table(title, ("", "steps/s", "emulator alone", "ratio"))
    for name, row in rows.items():
        shown.add_row(name, *row.cells(settings))
    console.print(shown)


def parts(trainer: HostTrainer) -> dict[str, tuple[float, int]]:
    """The programs of an update: seconds per call, and number of calls."""
    actor, compiled = trainer.actors[0], trainer.compiled
    over = actor.rollout
    frame, _, _ = actor.newest[0]
    given = (actor.state, over.actor, tuple(over.buffers), over.reward, over.terminated, over.truncated)
    prepared = compiled.prepare(*given)
    batch, learner = prepared.batch, prepared.learner
    if learner is None:
        return {}
    # The programs reuse the memory of what they change.
    copies = [jax.tree.map(jnp.copy, (learner.params, prepared.accumulator, learner.optimizer)) for _ in range(2)]
    policy, stats, coef = actor.state.params.policy, over.actor.obs_stats, over.actor.coef
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        "decide": (
            _chained(lambda buffer: over.decide(buffer, frame, None, None)[0], actor.buffers[0]),
            len(actor.groups) * actor.steps,
        ),
        "evaluate actions, with lag 1": (
            lambda: compiled.evaluate_actions(policy, over.buffers[0], stats, coef, None, np.int32(0)),
            compiled.action_evaluations,
        ),
        "prepare": (lambda: compiled.prepare(*given), 1),
        "part of a minibatch": (
            _chained(partial(compiled.accumulate, learner.params, learner.bonus_states, batch), copies[0][1]),
            compiled.minibatches * (compiled.parts - 1),
        ),
        "last part of a minibatch, and Adam": (
            _chained(lambda carry: compiled.apply(carry[0], learner.bonus_states, batch, *carry[1:]), copies[1]),
            compiled.minibatches,
        ),
        "finish": (lambda: compiled.finish(prepared._replace(batch=None), coef), 1),
    }
    seconds = measure({name: call for name, (call, count) in calls.items() if count}, CALLS)
    return {name: (median(seconds[name]), calls[name][1]) for name in seconds}


def _chained(program: Callable[[Any], Any], carry: Any) -> Callable[[], Any]:
    """Call a program on its own result, because it reuses the memory of its argument."""

    def call() -> Any:
        nonlocal carry
        carry = program(carry)
        return carry

    return call


def show_parts(method: str, times: Mapping[str, tuple[float, int]], console: Console) -> None:
    """A table of the device's time."""
    shown = table(f"{method}: parts of an update, timed separately", ("", "ms", "calls", "total ms"))
    for name, (seconds, calls) in times.items():
        shown.add_row(name, f"{1000 * seconds:.2f}", f"{calls}", f"{1000 * seconds * calls:,.0f}")
    shown.add_row("total", "", "", f"{sum(1000 * seconds * calls for seconds, calls in times.values()):,.0f}")
    console.print(shown)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the speed of training on Atari.")
    parser.add_argument("--quick", action="store_true", help="few rounds of few steps, to check that it works")
    parser.add_argument("--full", action="store_true", help="full-size networks also on a CPU")
    parser.add_argument(
        "--envs", type=int, nargs="+", help="numbers of environments (default: 128 and 32; on a CPU: 8)"
    )
    parser.add_argument("--groups", type=int, help="groups of environments")
    parser.add_argument(
        "--precision", choices=("float32", "bfloat16"), help="of convolutions (default: float32; on a GPU: bfloat16)"
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--rounds", type=int, default=7, help="number of rounds (default: 7)")
    parser.add_argument("--game", default="montezuma_revenge")
    flags = parser.parse_args()
    if flags.rounds < 1 or min(flags.envs or [1]) < 1:
        parser.error("--rounds and --envs must be 1 or more")
    use_all_cores()
    gpu = jax.default_backend() != "cpu"
    console = wide_console()
    console.print(machine(f"ale-py {version('ale-py')}", jax.devices()[0].device_kind))
    network = NetworkConfig() if gpu or flags.full else SMALL
    network = replace(network, precision=flags.precision or ("bfloat16" if gpu else "float32"))
    for envs in flags.envs or ((128, 32) if gpu else (8,)):
        steps, rounds = (8, 1) if flags.quick else (128 if gpu else 32, flags.rounds)
        try:
            benchmark(Settings(flags.game, envs, network, flags.groups, steps, rounds), flags.methods, console)
        except UserError as error:
            parser.error(str(error))


if __name__ == "__main__":
    main()
