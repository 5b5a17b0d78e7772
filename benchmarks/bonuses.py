"""Cost of every bonus on this machine: ``python benchmarks/bonuses.py [--quick]``.

What is measured:

- *All actions.* The scores of 18 actions compared with one, for every action bonus, of vectors (the open 40x40 grid)
  and of images (84x84 pixels), many states per call, on one core or on the GPU. An environment has at least two
  actions, so the cost of one is extrapolated: that of two, less a sixteenth of what 16 further actions cost.
- *Training.* Environment steps per second of every next-state bonus, and of RND with every action bonus, with default
  settings, including rollout, update and metrics: in an open grid, whose observations are vectors of 100 numbers, and
  for images of 84x84 pixels, which are noise. The comparison is with RND alone.
- *Memory* of a bonus, for one seed: its parameters, the optimiser's two averages of them, and its state.

The rows of a table are measured in turn, one block of calls per round, so that other load on the machine affects all of
them. Each number is the median over the rounds; ratios are taken within a round first.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from agent import AGENT, Effort, Program, compiled, count_seeds, measured, training
from common import machine, measure, ratio, table, wide_console
from jaxtyping import Array
from rich.console import Console

from action_balance.bonuses.base import ACTION, INTRINSIC, BonusObs, make_bonus
from action_balance.config.agent import AgentConfig
from action_balance.config.env import DeviceEnvConfig, EnvConfig
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES, NONE
from action_balance.config.train import TrainConfig
from action_balance.core.running_stats import RunningMeanStd
from action_balance.engines.device.devices import use_all_cores
from action_balance.envs.base import Step
from action_balance.envs.grid.config import GridConfig
from action_balance.envs.spec import EnvSpec

#: Numbers of actions whose scores are compared.
TWO, ALL = 2, 18

#: Bonuses that are measured in any case, and what they are compared with.
COUNTERS, BASELINE = ("hash", "coin-flip"), ("rnd", NONE)

#: Observations that are scored: of the open grid and of Atari, and how many per call.
OBSERVATIONS = {
    "vector": (EnvSpec("vector", (80,), (TWO,)), 1_024),
    "image": (EnvSpec("image", (84, 84), (TWO,), dtype="uint8"), 256),
}

#: The world whose observations are vectors, and the seeds that are trained with images: their networks are large.
VECTORS, IMAGE_SEEDS = GridConfig("open", size=50), 1


class NoiseEnvironment(eqx.Module):
    """Observations are images of noise; nothing else happens."""

    spec: ClassVar[EnvSpec] = EnvSpec("image", (84, 84), (4,), dtype="uint8")
    episode_steps: ClassVar[int] = 2**31 - 1

    def reachable(self) -> np.ndarray:
        """No states are enumerated."""
        return np.zeros(0, bool)

    def index(self, observation: Array) -> Array:
        """States have no numbers."""
        del observation
        return jnp.zeros((), jnp.int32)

    def reset(self, key: Array) -> tuple[Array, Array]:
        """An image."""
        return jnp.zeros(()), jax.random.bits(key, self.spec.shape, jnp.uint8)

    def step(self, state: Array, action: Array, key: Array) -> tuple[Array, Step]:
        """The next image."""
        del action
        _, image = self.reset(key)
        never = jnp.zeros((), bool)
        return state, Step(image, image, jnp.zeros(()), never, never)


@dataclass(frozen=True)
class NoiseConfig(DeviceEnvConfig):
    """Images of noise."""

    label: ClassVar[str] = "noise"

    def make(self, key: Array) -> NoiseEnvironment:
        """The environment."""
        del key
        return NoiseEnvironment()


def one_action(two: Sequence[float], everything: Sequence[float]) -> list[float]:
    """Seconds of the score of one action in every round, from those of 2 and of 18."""
    return [few - (many - few) / (ALL - TWO) for few, many in zip(two, everything, strict=True)]


def mebibytes(tree: Any) -> float:
    """Memory of all arrays of a tree."""
    return float(sum(leaf.nbytes for leaf in jax.tree.leaves(tree)) / 2**20)


def scoring(name: str, spec: EnvSpec, states: int) -> Callable[[], Array]:
    """A compiled call that scores all actions of random observations with a fresh bonus."""
    bonus = make_bonus(name, ACTION, AgentConfig(method="ppo", action_bonus=name), spec)
    assert bonus is not None
    shape = (states, *spec.frame_shape)
    key = jax.random.key(0)
    frames = jax.random.randint(key, shape, 0, 256, jnp.uint8) if spec.is_image else jax.random.normal(key, shape)
    stats = RunningMeanStd.empty(spec.frame_shape).update(frames)
    params, state = bonus.init(key, stats)

    def score(params: Any, state: Any, frame: Array) -> Array:
        return bonus.scores(params, state, BonusObs(frame, jnp.int32(0), stats, AGENT.exploration.observation_clip))

    scores = compiled(jax.vmap(score, in_axes=(None, None, 0)))
    return partial(scores, params, bonus.acting_state(state), frames)


def show_scores(console: Console, names: Sequence[str], effort: Effort) -> None:
    """A table of the scores of all actions, compared with one."""
    calls = {
        (name, kind, actions): scoring(name, replace(spec, nvec=(actions,)), states)
        for name in names
        for kind, (spec, states) in OBSERVATIONS.items()
        for actions in (TWO, ALL)
    }
    seconds = measure(calls, effort.rounds, effort.block_seconds)
    shown = table(
        f"Scores of {ALL} actions, compared with one",
        ["action bonus", "observation", "states", "2 actions, ms", "18 actions, ms", "times one action"],
    )
    for name in names:
        for kind, (_, states) in OBSERVATIONS.items():
            two, everything = (seconds[name, kind, actions] for actions in (TWO, ALL))
            cells = [f"{1e3 * median(one):.3f}" for one in (two, everything)]
            times = ratio(everything, one_action(two, everything))
            shown.add_row(name, kind, f"{states:,}", *cells, f"{times:.2f}")
    console.print(shown)


def configure(env: EnvConfig, intrinsic: str, action_bonus: str, seeds: int) -> TrainConfig:
    """A run with two bonuses that does not end during the benchmark."""
    agent = replace(AGENT, method="ppo", intrinsic=intrinsic, action_bonus=action_bonus, steps=2**31 - 1)
    return TrainConfig(env, agent, seeds=seeds)


def bonus_memory(program: Program) -> float:
    """MiB of the bonuses of one seed: parameters, Adam's averages of them, and states."""
    state = program.state
    trained = mebibytes(state.params.bonuses)
    return (3 * trained + mebibytes(state.bonus_states)) / len(state.updates)


def show_training(
    console: Console, what: str, env: EnvConfig, pairs: Sequence[tuple[str, str]], seeds: int, effort: Effort
) -> None:
    """A table of training with each pair of bonuses, compared with RND."""
    made = {f"{one} + {other}": training(configure(env, one, other, seeds)) for one, other in pairs}
    rows = measured(made, effort)
    reference = rows[" + ".join(BASELINE)]
    shown = table(
        f"Training with {count_seeds(seeds)}, {what}",
        ["next-state bonus + action bonus", "compile s", "ms/update", "steps/s", "time, RND = 1", "memory, MiB"],
    )
    for name, row in rows.items():
        shown.add_row(name, *row.cells(), f"{ratio(row.seconds, reference.seconds):.2f}", f"{bonus_memory(row):.2f}")
    console.print(shown)


def main() -> None:
    """Measure and print everything."""
    use_all_cores()
    parser = argparse.ArgumentParser(description="Measure the cost of the bonuses.")
    parser.add_argument("--quick", action="store_true", help="fewer bonuses and rounds, to check that it works")
    flags = parser.parse_args()
    jax.config.update("jax_compilation_cache_dir", None)  # measure compiling, not reading a cache
    effort = Effort(method_seeds=2, rounds=2, block_seconds=0.1) if flags.quick else Effort()
    console = wide_console()
    devices = f"{jax.device_count()} x {jax.devices()[0].device_kind}"
    console.print(machine(f"backend {jax.default_backend()}", f"devices {devices}"))
    chosen = {INTRINSIC: ("rnd", *COUNTERS), ACTION: COUNTERS}
    if not flags.quick:
        chosen = {INTRINSIC: tuple(INTRINSIC_BONUSES), ACTION: tuple(ACTION_BONUSES)}
    show_scores(console, [name for name in chosen[ACTION] if name != "count"], effort)
    pairs = [(NONE, NONE), *((name, NONE) for name in chosen[INTRINSIC]), *(("rnd", name) for name in chosen[ACTION])]
    vectors = f"vectors of {VECTORS.spec.shape[0]} numbers"
    show_training(console, vectors, VECTORS, pairs, effort.method_seeds, effort)
    counted = [(one, other) for one, other in pairs if "count" not in (one, other)]
    show_training(console, "images of 84x84 pixels", NoiseConfig("noise"), counted, IMAGE_SEEDS, effort)


if __name__ == "__main__":
    main()
