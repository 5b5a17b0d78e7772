"""Speed of the neural agent on this machine: ``python benchmarks/agent.py [--quick] [--wide ENVS ...]``.

What is measured:

- *Training.* Environment steps per second of ``action-balance-rnd`` with the preset study in the open 40x40 grid,
  including rollout, update and metrics, for one seed and for several seeds in one program. ``--wide`` adds rows of one
  seed with more environments, still in 4 minibatches; on a GPU there are four such rows by default.
- *Host-stepped loop.* The same agent, settings and networks in `host_stepped`: environments in Python, one device call
  per step. It trains one seed, so the ratio for several seeds compares all cores with the few that it uses.
- *Cost of the bonuses.* The same trainer with four methods, and with PQN, which has the same network, epochs and
  minibatches, but for layer normalisation. Then one seed on one core (or on the GPU): rollout and
  update of each method, compiled and timed separately. The costs of the parts are differences between methods, as
  shares of the whole update; the compiler may share work between parts, so they are approximate.

The agents of all programs have the same seeds. Compile time is the first call minus the second, without a cache on
disk. The rows of a table are measured in turn, one block of calls per round, so that other load on the machine affects
all of them. Each number is the median over the rounds; ratios and differences are taken within a round first.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from statistics import median
from typing import Any

import jax
import optax
import plain_grid
from common import machine, measure, ratio, table, timed, wide_console
from host_stepped import GridEnv, HostLoop
from rich.console import Console

from action_balance.algorithms import learner, update
from action_balance.algorithms.base import Algorithm, make_algorithm
from action_balance.algorithms.rollout import rollout
from action_balance.algorithms.state import Params, TrainState
from action_balance.config import methods
from action_balance.config.agent import AgentConfig
from action_balance.config.registry import algorithm_class
from action_balance.config.train import TrainConfig
from action_balance.engines.device.devices import use_all_cores
from action_balance.engines.device.trainer import DeviceTrainer
from action_balance.envs.grid.config import GridConfig

#: Environments of the wide rows on a GPU.
WIDE = (1_024, 4_096, 8_192, 16_384)

AGENT = AgentConfig()
METHODS = ("ppo", "rnd", "action-balance", "action-balance-rnd", "pqn")


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    seeds: tuple[int, ...] = (1, 8, 32)
    methods: tuple[str, ...] = METHODS
    method_seeds: int = 8
    rounds: int = 5
    block_seconds: float = 0.25
    """A block has as many calls as fill this time."""


@dataclass
class Program:
    """A compiled program and its state; a call is one update of all seeds, or one rollout."""

    config: TrainConfig
    step: Callable[[Any], tuple[Any, Any]]
    state: Any
    init_seconds: float = 0.0
    compile_seconds: float = field(init=False)
    seconds: list[float] = field(init=False)  # of a call, one number per round

    def __post_init__(self) -> None:
        first, _ = timed(lambda: jax.block_until_ready(self()))
        second, _ = timed(lambda: jax.block_until_ready(self()))
        self.compile_seconds = first - second

    def __call__(self) -> Any:
        """One call; returns what it computes besides the state."""
        self.state, result = self.step(self.state)
        return result

    @property
    def steps(self) -> int:
        """Environment steps per call."""
        return self.config.seeds * self.config.agent.steps_per_update

    @property
    def rate(self) -> float:
        """Environment steps per second."""
        return self.steps / median(self.seconds)

    def cells(self) -> tuple[str, str, str]:
        """Compile time, milliseconds per update and steps/s, for a table."""
        return f"{self.compile_seconds:.1f}", f"{1e3 * median(self.seconds):,.1f}", f"{self.rate:,.0f}"

    def times(self, other: "Program") -> float:
        """The speed-up over another program."""
        return ratio(other.seconds, self.seconds) * self.steps / other.steps


def configure(seeds: int = 1, method: str = AGENT.method, envs: int = AGENT.envs) -> TrainConfig:
    """A run that does not end during the benchmark; no speed depends on its length."""
    algorithm = algorithm_class(methods.METHODS[method].algorithm or AGENT.algorithm.name)()
    agent = replace(AGENT, method=method, algorithm=algorithm, envs=envs, steps=2**31 - 1)
    return TrainConfig(GridConfig("open"), agent, seeds=seeds)


def training(config: TrainConfig) -> Program:
    """The fused program of a config, with fresh agents."""
    trainer = DeviceTrainer(config)
    seconds, states = timed(lambda: jax.block_until_ready(trainer.init_state()))
    return Program(config, trainer.step, trainer.seeds.place(states), seconds)


@lru_cache
def single_agent(method: str = AGENT.method) -> tuple[Algorithm, TrainState]:
    """A fresh agent of the first seed on one device."""
    config = configure(method=method)
    state = jax.tree.map(lambda leaf: leaf[0], DeviceTrainer(config).init_state())
    return make_algorithm(config.agent, config.env.spec), jax.device_put(state, jax.devices()[0])


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function compiled as the trainer compiles: for one core of a CPU."""
    on_cpu = jax.default_backend() == "cpu"
    return jax.jit(function, compiler_options={"xla_cpu_multi_thread_eigen": False} if on_cpu else None)


def measured(programs: dict[str, Program], effort: Effort) -> dict[str, Program]:
    """The programs with their seconds."""
    for name, seconds in measure(programs, effort.rounds, effort.block_seconds).items():
        programs[name].seconds = seconds
    return programs


def count_seeds(seeds: int) -> str:
    """A number of seeds in words."""
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def measure_training(effort: Effort, wide: Sequence[int]) -> dict[str, Program]:
    """The fused program with several numbers of seeds and environments, the host-stepped loop, and rollouts of both."""
    programs = {f"fused, {count_seeds(seeds)}": training(configure(seeds)) for seeds in effort.seeds}
    for envs in wide:
        programs[f"fused, 1 seed, {envs:,} environments"] = training(configure(envs=envs))

    def host() -> HostLoop:
        return HostLoop([GridEnv(plain_grid.World()) for _ in range(AGENT.envs)], AGENT)

    config, (algorithm, state) = configure(), single_agent()
    environment = config.environment(jax.random.key(0))
    fused_rollout = compiled(partial(rollout, environment, algorithm=algorithm))
    updates, rollouts = host(), host()
    programs["fused, rollout only"] = Program(config, fused_rollout, state)
    programs["host-stepped"] = Program(config, updates.step, updates.start(state))
    programs["host-stepped, rollout only"] = Program(config, rollouts.rollout, rollouts.start(state))
    return measured(programs, effort)


def show_training(console: Console, rows: dict[str, Program], effort: Effort) -> None:
    """Tables of steps/s, and of the speed-up over the host-stepped loop."""
    speed = table(
        f"Training: {AGENT.method}, {AGENT.envs} environments, rollouts of {AGENT.algorithm.rollout_steps} steps",
        ["program", "steps/update", "compile s", "ms/update", "steps/s", "slowest - fastest round"],
    )
    for name, row in rows.items():
        if name.startswith("fused") and "rollout" not in name:
            rounds = f"{row.steps / max(row.seconds):,.0f} - {row.steps / min(row.seconds):,.0f}"
            speed.add_row(name, f"{row.steps:,}", *row.cells(), rounds)
    console.print(speed)
    most = max(effort.seeds)
    seconds = rows[f"fused, {count_seeds(most)}"].init_seconds
    console.print(f"Initialising {most} seeds: {seconds:.1f} s for compilation, networks and random agents.")
    against = table(
        "Compared with the host-stepped loop of one seed",
        ["program", "compile s", "ms/update", "steps/s", "times the host"],
    )
    compared = {
        "host-stepped": [f"fused, {count_seeds(seeds)}" for seeds in effort.seeds],
        "host-stepped, rollout only": ["fused, rollout only"],
    }
    for host, fused in compared.items():
        for name in (host, *fused):
            against.add_row(name, *rows[name].cells(), f"{rows[name].times(rows[host]):.1f}")
        against.add_section()
    console.print(against)


def show_methods(console: Console, effort: Effort) -> None:
    """A table of the methods in the same trainer."""
    rows = measured({method: training(configure(effort.method_seeds, method)) for method in effort.methods}, effort)
    shown = table(
        f"Methods, {effort.method_seeds} seeds", ["method", "compile s", "ms/update", "steps/s", "time, ppo = 1"]
    )
    for method, row in rows.items():
        shown.add_row(method, *row.cells(), f"{1 / row.times(rows['ppo']):.2f}")
    console.print(shown)


def adam_steps(params: Params, optimizer: optax.OptState, config: AgentConfig) -> tuple[Params, optax.OptState]:
    """The Adam steps of one update, with arbitrary gradients."""
    adam, gradients = update.optimizer(config), params

    def step(carry: tuple[Params, optax.OptState], _: None) -> tuple[tuple[Params, optax.OptState], None]:
        params, optimizer = carry
        changes, optimizer = adam.update(gradients, optimizer)
        return (optax.apply_updates(params, changes), optimizer), None

    return jax.lax.scan(step, (params, optimizer), length=config.algorithm.epochs * config.algorithm.minibatches)[0]


def part_calls(methods: Sequence[str]) -> dict[tuple[str, str], Callable[[], Any]]:
    """Rollout and update of one agent of each method, and the other parts of an update of the default method."""
    environment = configure().environment(jax.random.key(0))
    calls: dict[tuple[str, str], Callable[[], Any]] = {}
    for method in ("random", *methods):
        algorithm, state = single_agent(method)
        act = compiled(partial(rollout, environment, algorithm=algorithm))
        calls["rollout", method] = partial(act, state)
        if method == "random":
            continue
        following, trajectory = act(state)
        calls["learn", method] = partial(compiled(partial(update.learn, algorithm=algorithm)), following, trajectory)
        if method == "ppo":
            adam = compiled(partial(adam_steps, config=algorithm.config))
            calls["adam", method] = partial(adam, state.params, state.optimizer)
        if method == AGENT.method:
            parts = following.params.bonuses, following.bonus_states, following.obs_stats
            rewards, seen = compiled(algorithm.rewards), update.bonus_transitions(trajectory)
            calls["bonus", method] = partial(rewards, *parts, seen, following.key)
            whole = compiled(partial(learner.train_step, environment, algorithm=algorithm))
            calls["whole", method] = partial(whole, state)
    return calls


def show_parts(console: Console, effort: Effort) -> None:
    """Tables of rollout and update by method, and of the parts of one update."""
    seconds = measure(part_calls(effort.methods), effort.rounds, effort.block_seconds)
    by_method = table(
        "One seed: rollout and update separately", ["method", "rollout ms", "ppo = 1", "update ms", "ppo = 1"]
    )
    for method in effort.methods:
        cells = []
        for part in ("rollout", "learn"):
            cells.append(f"{1e3 * median(seconds[part, method]):.2f}")
            cells.append(f"{ratio(seconds[part, method], seconds[part, 'ppo']):.2f}")
        by_method.add_row(method, *cells)
    console.print(by_method)
    if effort.methods != METHODS:
        return

    def over(*plus: tuple[str, str], less: Sequence[tuple[str, str]] = ()) -> float:
        """Median over the rounds of one sum minus another."""
        return median(
            sum(seconds[key][number] for key in plus) - sum(seconds[key][number] for key in less)
            for number in range(effort.rounds)
        )

    ppo, rnd, balanced, both, _ = METHODS
    whole = over(("whole", both))
    shown = {
        "rollout: environments and random numbers": over(("rollout", "random")),
        "rollout: policy": over(("rollout", ppo), less=[("rollout", "random")]),
        "rollout: action bonus, balance": over(("rollout", balanced), less=[("rollout", ppo)]),
        "update: Adam of the policy": over(("adam", ppo)),
        "update: the rest of PPO": over(("learn", ppo), less=[("adam", ppo)]),
        "update: next-state bonus of the rollout": over(("bonus", both)),
        "update: next-state predictor, with Adam": over(("learn", rnd), less=[("learn", ppo), ("bonus", both)]),
        "update: action predictor, with Adam": over(("learn", balanced), less=[("learn", ppo)]),
        "update: both bonuses, beyond their sum": over(
            ("learn", both), ("learn", ppo), less=[("learn", rnd), ("learn", balanced)]
        ),
        "counts and metrics": over(("whole", both), less=[("rollout", both), ("learn", both)]),
        "whole update": whole,
    }
    parts = table(f"Parts of one update of {both}, one seed", ["part", "ms", "share"])
    for name, value in shown.items():
        parts.add_row(name, f"{1e3 * value:.2f}", f"{value / whole:.0%}")
    console.print(parts)


def main() -> None:
    """Measure and print everything."""
    use_all_cores()  # has no effect once JAX has started
    parser = argparse.ArgumentParser(description="Measure the speed of the neural agent.")
    parser.add_argument("--quick", action="store_true", help="fewer programs and rounds, to check that it works")
    parser.add_argument(
        "--wide",
        type=int,
        nargs="*",
        metavar="ENVS",
        help=f"also train one seed with these numbers of environments (default: none; on a GPU: {WIDE})",
    )
    flags = parser.parse_args()
    jax.config.update("jax_compilation_cache_dir", None)  # measure compiling, not reading a cache
    effort = Effort()
    if flags.quick:
        effort = Effort(seeds=(1, 8), methods=("ppo", AGENT.method), rounds=2, block_seconds=0.1)
    on_gpu = jax.default_backend() != "cpu"
    wide = flags.wide if flags.wide is not None else WIDE if on_gpu else ()
    console = wide_console()
    devices = f"{jax.device_count()} x {jax.devices()[0].device_kind}"
    console.print(machine(f"backend {jax.default_backend()}", f"devices {devices}"))

    rows = measure_training(effort, wide)
    show_training(console, rows, effort)
    if not flags.quick:
        show_methods(console, effort)
    show_parts(console, effort)


if __name__ == "__main__":
    main()
