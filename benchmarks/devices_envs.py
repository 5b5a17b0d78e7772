"""Speed of environments that are compiled with the agent: ``python benchmarks/devices_envs.py [--quick]``.

What is measured, in one process, for DoorKey of XLand-MiniGrid, Freeway of MinAtar (convolutions) and our open grid:

- *Environment alone*: 4,096 environments with random actions and automatic resets.
- *Acting only*: the same with the policy, as a rollout of PPO does it; nothing is learned.
- *PPO*, *RND*, *action balance RND*: complete updates with the settings of the preset ``vectorized``.
- *Minimal PPO*: PPO as a plain loop of the same networks and settings (`minimal_ppo`), which has one reward stream and
  records nothing. The ratio says what our second stream, statistics and metrics cost.
- *What bounds it*: the share of the time of an update that is the environment alone, acting beyond it, and learning.
- *Seeds*: one agent with 64 environments, and 32 of them in one program.

The programs of a table are compiled first, several at once. They are measured in turn, one block of calls per round, so
that other load affects all of them; each number is the median over the rounds, and ratios are taken within a round
first.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import jax
from common import machine, measure, ratio, table, timed, wide_console
from minimal_ppo import MinimalPPO
from rich.console import Console

from action_balance.algorithms import learner
from action_balance.algorithms.base import Algorithm, make_algorithm
from action_balance.algorithms.rollout import rollout
from action_balance.config.env import DeviceEnvConfig
from action_balance.config.presets import agent_config
from action_balance.config.registry import env_config
from action_balance.envs.base import Environment

#: The environments, by what tables call them.
TASKS = {
    "xminigrid": "xminigrid:MiniGrid-DoorKey-8x8",
    "minatar": "gymnax:Freeway-MinAtar",
    "grid": "open",
}
METHODS = ("ppo", "rnd", "action-balance-rnd")
ALONE, ACTING, PEER = "environment alone", "acting only", "minimal PPO"
ROWS = (ALONE, ACTING, *METHODS, PEER)

#: Environments of one agent, and those of each seed where several are trained.
WIDE, NARROW, SEEDS = 4096, 64, 32


@dataclass(frozen=True)
class Program:
    """A compiled function, its first argument, and the environment steps of a call."""

    call: Callable[[Any], Any]
    state: Any
    steps: int
    compile_seconds: float


#: Compiled functions by name, and rounds and seconds of a block of calls.
Programs = dict[str, Program]
Effort = tuple[int, float]


@dataclass(frozen=True)
class Source:
    """A function that is still to be compiled."""

    function: Callable[[Any], Any]
    init: Callable[[jax.Array], Any]
    steps: int
    keys: jax.Array

    def compile(self) -> Program:
        """Compile it, and compute its first argument."""
        state = jax.jit(self.init)(self.keys)
        seconds, call = timed(lambda: jax.jit(self.function).lower(state).compile())
        return Program(call, state, self.steps, seconds)


def algorithm_of(task: str, method: str, envs: int) -> tuple[Environment, Algorithm]:
    """An environment, and the agent that is trained in it."""
    env = env_config(TASKS[task])
    agent = agent_config("vectorized", method=method, envs=envs, steps=1000 * envs * 128)
    assert isinstance(env, DeviceEnvConfig)
    return env.make(jax.random.key(0)), make_algorithm(agent, env.spec)


def alone(environment: Environment, algorithm: Algorithm, carry: tuple[Any, jax.Array]) -> tuple[Any, jax.Array]:
    """As many steps of random actions as a rollout has."""
    envs = algorithm.config.envs

    def step(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        action_key, step_key = jax.random.split(key)
        action = algorithm.distribution.uniform(action_key, envs)
        state, outcome = jax.vmap(environment.step)(state, action, jax.random.split(step_key, envs))
        return state, outcome.reward.sum()

    state, key = carry
    key, steps_key = jax.random.split(key)
    state, _ = jax.lax.scan(step, state, jax.random.split(steps_key, algorithm.config.algorithm.rollout_steps))
    return state, key


def sources(task: str, envs: int, rows: Sequence[str] = ROWS) -> dict[str, Source]:
    """The programs of one agent, in the order of the table."""
    found: dict[str, Source] = {}
    key = jax.random.key(0)
    for method in METHODS:
        environment, algorithm = algorithm_of(task, method, envs)
        steps = algorithm.config.steps_per_update
        init = partial(learner.init_state, environment, algorithm)
        if method == "ppo":

            def begin(key: jax.Array, environment: Environment = environment) -> tuple[Any, jax.Array]:
                return jax.vmap(environment.reset)(jax.random.split(key, envs))[0], key

            found[ALONE] = Source(partial(alone, environment, algorithm), begin, steps, key)
            found[ACTING] = Source(partial(rollout, environment, algorithm=algorithm), init, steps, key)
            peer = MinimalPPO(environment, algorithm)
            found[PEER] = Source(peer.step, peer.init, steps, key)
        found[method] = Source(partial(learner.train_step, environment, algorithm=algorithm), init, steps, key)
    return {name: found[name] for name in ROWS if name in rows}


def seed_sources(task: str, seeds: Sequence[int], envs: int) -> dict[str, Source]:
    """Programs that train several agents at once."""
    found = {}
    for count in seeds:
        environment, algorithm = algorithm_of(task, METHODS[-1], envs)
        keys = jax.random.split(jax.random.key(0), count)
        init = jax.vmap(partial(learner.init_state, environment, algorithm))
        step = jax.vmap(partial(learner.train_step, environment, algorithm=algorithm))
        found[f"{count} seed{'s' * (count > 1)}"] = Source(step, init, count * algorithm.config.steps_per_update, keys)
    return found


def compiled(wanted: Mapping[str, Source]) -> Programs:
    """Compile the programs of a table, several at once."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(wanted, pool.map(Source.compile, wanted.values()), strict=True))


def timings(programs: Programs, rounds: int, block_seconds: float) -> dict[str, list[float]]:
    """Seconds of a call of every program, one number per round."""
    return measure({name: partial(one.call, one.state) for name, one in programs.items()}, rounds, block_seconds)


def show_agent(console: Console, task: str, envs: int, programs: Programs, effort: Effort) -> None:
    """A table of one agent with many environments."""
    seconds = timings(programs, *effort)
    title = f"{TASKS[task]}: one agent, {envs:,} environments"
    shown = table(title, ("", "compile s", "ms/update", "million steps/s", "environment", "acting", "learning"))
    for name in programs:
        mine, total = programs[name], median(seconds[name])
        parts = ["", "", ""]
        if name in METHODS and {ALONE, ACTING} <= programs.keys():
            env = ratio(seconds[ALONE], seconds[name])
            act = ratio(seconds[ACTING], seconds[name]) - env
            parts = [f"{env:.0%}", f"{act:.0%}", f"{1 - env - act:.0%}"]
        rate = mine.steps / total / 1e6
        shown.add_row(name, f"{mine.compile_seconds:.0f}", f"{1e3 * total:.1f}", f"{rate:.2f}", *parts)
    console.print(shown)
    if {"ppo", PEER} <= programs.keys():
        times = ratio(seconds["ppo"], seconds[PEER])
        console.print(f"Time of our PPO compared with the minimal one: {times:.2f}")


def show_seeds(console: Console, task: str, envs: int, programs: Programs, effort: Effort) -> None:
    """A table of several agents in one program."""
    seconds = timings(programs, *effort)
    title = f"{TASKS[task]}: {METHODS[-1]}, {envs} environments per seed"
    shown = table(title, ("", "compile s", "ms/update", "million steps/s", "time of one seed = 1"))
    first = seconds[next(iter(programs))]
    for name, mine in programs.items():
        total = median(seconds[name])
        cells = (f"{mine.compile_seconds:.0f}", f"{1e3 * total:.1f}", f"{mine.steps / total / 1e6:.2f}")
        shown.add_row(name, *cells, f"{ratio(seconds[name], first):.2f}")
    console.print(shown)


def main() -> None:
    """Measure and print everything."""
    parser = argparse.ArgumentParser(description="Measure environments that are compiled with the agent.")
    parser.add_argument("--quick", action="store_true", help="few environments and rounds, to check that it works")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--envs", type=int, default=None, help=f"environments of one agent (default: {WIDE:,})")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), help="what to measure of one agent")
    parser.add_argument("--no-seeds", action="store_true", help="leave out the table of several seeds")
    flags = parser.parse_args()
    jax.config.update("jax_compilation_cache_dir", None)  # measure compiling, not reading a cache
    console = wide_console()
    console.print(machine(f"{jax.device_count()} x {jax.devices()[0].device_kind}"))
    envs = flags.envs or (16 if flags.quick else WIDE)
    effort: Effort = (2, 0.0) if flags.quick else (5, 0.5)
    seeds, narrow = ((1, 2), 8) if flags.quick else ((1, SEEDS), NARROW)
    for task in flags.tasks:
        show_agent(console, task, envs, compiled(sources(task, envs, flags.rows)), effort)
    if not flags.no_seeds:
        show_seeds(console, flags.tasks[0], narrow, compiled(seed_sources(flags.tasks[0], seeds, narrow)), effort)


if __name__ == "__main__":
    main()
