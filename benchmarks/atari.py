"""Speed of training on Atari: ``python benchmarks/atari.py [--quick] [--envs N ...] [--game GAME]``.

What is measured, and how, in agent steps a second (four emulator frames each):

- *Emulator alone.* ale-py's vector environment with all environments in one batch and random actions: no agent.
- *Acting only.* The agent decides and records; nothing is learned.
- *Acting and learning.* All of training, with lag 1 and lag 0. The emulator alone is measured in every round beside
  it, so that other work on the machine falls on both; the ratio is the median of the rounds' ratios.
- *An update by part.* Every program that the device runs for an update, alone, and how often an update calls it.
- *Memory.* The most that the device has held, where it tells, and the host.

Rows are told on stderr as soon as they are there; tables follow for each number of environments. Environments have
played for a while before they are measured, and compiling is not counted. On a CPU the networks are small, unless
``--full`` is given.
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
from common import machine, table, timed, wide_console
from rich.console import Console

from action_balance.config.agent import BonusConfig, Config, HostConfig, ImageConfig, PPOConfig
from action_balance.engines.device.seeds import use_all_cores
from action_balance.engines.host.trainer import HostTrainer
from action_balance.envs.atari.emulator import Atari
from action_balance.errors import UserError

METHODS = ("rnd", "action-balance-rnd", "action-balance-rnd-channel")
SMALL = ImageConfig(channels=8, features=64, trunk=64, bonus_features=64)
#: What is asked of a method by the number of environments: its share of the emulator's speed.
TARGETS = {(128, "rnd"): 0.9, (128, "action-balance-rnd-channel"): 0.85, (32, "action-balance-rnd-channel"): 0.75}


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    game: str
    envs: int
    image: ImageConfig
    groups: int | None
    rollout_steps: int
    rounds: int

    def agent(self, method: str, lag: int) -> Config:
        """Long enough never to end."""
        return Config(
            method=method,
            steps=2**31 - 1,
            envs=self.envs,
            ppo=PPOConfig(rollout_steps=self.rollout_steps, learning_rate=1e-4),
            bonus=BonusConfig(share=0.25, warmup_rollouts=1),
            image=self.image,
            host=HostConfig(groups=self.groups, lag=lag),
        )

    @property
    def steps(self) -> int:
        """Of a rollout of all environments."""
        return self.envs * self.rollout_steps


class Emulator:
    """The emulator alone."""

    def __init__(self, settings: Settings) -> None:
        self.steps = settings.rollout_steps
        self.environment = Atari(settings.game, settings.envs)
        self.environment.reset()
        self.luck = np.random.default_rng(0)

    def __call__(self) -> None:
        """One rollout's worth of steps."""
        environment = self.environment
        actions = self.luck.integers(environment.spec.nvec[0], size=(self.steps, environment.envs_per_group))
        for chosen in actions.astype(np.int32):
            environment.send(0, chosen)
            environment.receive(0)


class Agent:
    """Training, on emulators that others have used before."""

    def __init__(self, settings: Settings, method: str, lag: int, emulators: Atari) -> None:
        config = settings.agent(method, lag)

        def make(*_: int) -> Atari:
            return emulators

        self.trainer = HostTrainer(config, emulators.spec.shape, emulators.spec.nvec[0], make)
        self.trainer.start(self.trainer.begin())

    def act(self) -> None:
        """A rollout that nobody learns from."""
        self.trainer.end_rollout()
        self.trainer.begin_rollout()

    def learn(self) -> None:
        """A rollout and an update."""
        self.trainer.advance()

    def stop(self) -> None:
        """Leave the emulators to others."""
        self.trainer.end_rollout()


class Rows(NamedTuple):
    """Seconds of the rounds of a row, and those of the emulator alone beside them."""

    own: list[float]
    emulator: list[float]


def measure(settings: Settings, methods: Sequence[str], console: Console) -> None:
    """The rows of one number of environments."""
    emulator = Emulator(settings)
    groups = settings.agent("rnd", 0).groups
    emulators = Atari(settings.game, settings.envs, groups)
    rows: dict[str, Rows] = {}
    by_part = {}
    for method in methods:
        for lag in (1, 0):
            agent = Agent(settings, method, lag, emulators)
            work = {f"{method}, lag {lag}": agent.learn}
            work = {f"{method}, acting only": agent.act, **work} if lag else work
            for name, found in in_turns(work, emulator, settings.rounds).items():
                rows[name] = found
                rate, alone, ratio = numbers(settings, found)
                line = f"{rate} steps/s, emulator {alone}, ratio {ratio}"
                print(f"{settings.envs} environments, {name}: {line}", file=sys.stderr)
            agent.stop()
            by_part[method] = parts(agent.trainer)
    show_rows(settings, groups, rows, console)
    for method, times in by_part.items():
        show_parts(method, times, console)
    told = jax.devices()[0].memory_stats() or {}
    device = f"device {told['peak_bytes_in_use'] / 2**30:.2f} GiB at most; " if told else ""
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    console.print(f"memory: {device}host {host:.2f} GiB at most\n")
    emulator.environment.close()
    emulators.close()


def in_turns(work: Mapping[str, Callable[[], None]], emulator: Callable[[], None], rounds: int) -> dict[str, Rows]:
    """Each kind of work and the emulator alone, in every round; the first two rounds compile and fill what waits."""
    found = {name: Rows([], []) for name in work}
    for turn in range(rounds + 2):
        alone = timed(emulator)[0] if turn > 1 else 0.0
        for name, one in work.items():
            seconds = timed(one)[0]
            if turn > 1:
                found[name].own.append(seconds)
                found[name].emulator.append(alone)
    return found


def show_rows(settings: Settings, groups: int, rows: Mapping[str, Rows], console: Console) -> None:
    """Speeds, and their ratios to the emulator's."""
    title = f"{settings.game}, {settings.envs} environments in {groups} groups, {settings.image.precision}"
    shown = table(title, ("", "steps/s", "emulator beside it", "ratio", "asked for"))
    for name, row in rows.items():
        asked = TARGETS.get((settings.envs, name.removesuffix(", lag 1")), "")
        shown.add_row(name, *numbers(settings, row), str(asked))
    console.print(shown)


def numbers(settings: Settings, row: Rows) -> list[str]:
    """Steps in a second, those of the emulator, and the share."""
    share = median(alone / own for own, alone in zip(row.own, row.emulator, strict=True))
    return [*(f"{settings.steps / median(seconds):,.0f}" for seconds in row), f"{share:.2f}"]


def parts(trainer: HostTrainer) -> dict[str, tuple[float, int]]:
    """The programs of an update: seconds of a call, and calls."""
    player, programs = trainer.players[0], trainer.programs
    over = player.rollout
    frame, _ = player.newest[0]
    given = (player.state, over.actor, tuple(over.whole), over.reward, over.terminated, over.truncated)
    state, made, lesson, learning, gathered, packed_learner = programs.prepare(*given)
    if packed_learner is None:
        return {}
    recordings, gathereds = ([_copy(tree) for _ in range(9)] for tree in (player.recordings[0], gathered))
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        "decide": (
            lambda: over.decide(recordings.pop(), frame, None)[1],
            len(player.groups) * player.steps,
        ),
        "appraise, with lag 1": (
            lambda: programs.evaluate_actions(
                player.state.params.policy, over.whole[0], over.actor.observations, over.actor.coef, np.int32(0)
            ),
            programs.action_evaluations,
        ),
        "prepare": (lambda: programs.prepare(*given), 1),
        f"part of a minibatch, 1 of {programs.parts}": (
            lambda: programs.gather(packed_learner.params, packed_learner.target_params, lesson, gathereds.pop()),
            programs.minibatches * programs.parts,
        ),
        "finish": (
            lambda: programs.finish(state, made, learning, gathered, packed_learner, over.actor.coef, np.int32(-1)),
            1,
        ),
    }
    jax.block_until_ready((recordings, gathereds))
    times = {}
    for name, (one, count) in calls.items():
        taken = [timed(partial(_done, one))[0] for _ in range(8)]
        times[name] = (median(taken[1:]), count)
    return times


def _done(one: Callable[[], Any]) -> None:
    jax.block_until_ready(one())


def _copy(tree: Any) -> Any:
    return jax.tree.map(jnp.copy, tree)


def show_parts(method: str, times: Mapping[str, tuple[float, int]], console: Console) -> None:
    """Where the device's time goes."""
    shown = table(f"{method}: an update by part, each alone", ("", "ms", "calls", "ms in all"))
    for name, (seconds, calls) in times.items():
        shown.add_row(name, f"{1000 * seconds:.2f}", f"{calls}", f"{1000 * seconds * calls:,.0f}")
    shown.add_row("all", "", "", f"{sum(1000 * seconds * calls for seconds, calls in times.values()):,.0f}")
    console.print(shown)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Speed of training on Atari on this machine.")
    parser.add_argument("--quick", action="store_true", help="few rounds of few steps, to see that it runs")
    parser.add_argument("--full", action="store_true", help="full-size networks also on a CPU")
    parser.add_argument("--envs", type=int, nargs="+", help="numbers of environments; usual: 128 and 32, or 8 on a CPU")
    parser.add_argument("--groups", type=int, help="groups of environments")
    parser.add_argument(
        "--precision", choices=("float32", "bfloat16"), help="of convolutions; usual: bfloat16 on a GPU"
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--rounds", type=int, default=7, help="times that every row is measured")
    parser.add_argument("--game", default="montezuma_revenge")
    asked = parser.parse_args()
    if asked.rounds < 1 or min(asked.envs or [1]) < 1:
        parser.error("--rounds and --envs: 1 or more")
    use_all_cores()
    gpu = jax.default_backend() != "cpu"
    console = wide_console()
    console.print(machine(f"ale-py {version('ale-py')}", jax.devices()[0].device_kind))
    image = ImageConfig() if gpu or asked.full else SMALL
    image = replace(image, precision=asked.precision or ("bfloat16" if gpu else "float32"))
    for envs in asked.envs or ((128, 32) if gpu else (8,)):
        steps, rounds = (8, 1) if asked.quick else (128 if gpu else 32, asked.rounds)
        try:
            measure(Settings(asked.game, envs, image, asked.groups, steps, rounds), asked.methods, console)
        except UserError as error:
            parser.error(str(error))


if __name__ == "__main__":
    main()
