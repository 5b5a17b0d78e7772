"""Speed of the neural agent on this machine: ``python benchmarks/agent.py [--quick] [--wide ENVS ...]``.

What is measured, and how:

- *Training.* Environment steps in a second of ``action-balance-rnd`` with its default settings in the open 40x40 grid,
  rollout, update and metrics together, for one seed and several in one program. ``--wide`` adds rows of one seed with
  so many environments, still in 4 minibatches; on a GPU there are four such rows without it.
- *Stepped from the host.* The same agent, settings and networks with `host_stepped`: environments in Python, one call
  of the device for every step. It trains one seed; the ratio over several seeds uses all cores against its few.
- *What the bonuses cost.* The same trainer under four methods. Then one seed on one core (on a GPU: the GPU): acting
  and learning under each method compiled and timed alone. The parts are differences between them, and their shares are
  those of the whole update: what a part costs alone and what it adds can differ by what the compiler shares.
- *All actions at once.* The bonus vector of a state against one error for each action, in a call of its own or all
  pairs in one batch, for 1,024 states.

All begin with the same agents. Compiling is the first call less a later one, without a cache on disk. The rows of a
table are measured in turns, a block of calls in every round, so that other work on the machine falls on all of them;
each number is the median of the rounds, and a ratio or a difference that of ratios or differences within a round.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import optax
import plain_grid
from common import cores, machine, table, timed, wide_console
from host_stepped import GridEnv, HostTrainer
from rich.console import Console

from action_balance.agent import learner as train
from action_balance.agent import update
from action_balance.agent.rollout import rollout
from action_balance.agent.state import Params, TrainState
from action_balance.bonuses.distillation import Distillation
from action_balance.config.agent import Config
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device.seeds import use_all_cores
from action_balance.engines.loop import Trainer
from action_balance.nets.bonus import BonusNet

#: The targets: steps/s over seeds on so many cores, steps/s on one GPU with so many environments, times the host's.
SEEDS_RATE, SEEDS_CORES, GPU_RATE, GPU_NAME, GPU_ENVS, TIMES_HOST = 50_000, 2, 5e6, "H200", 1_024, 10.0

#: Environments of the wide rows on a GPU.
WIDE = (1_024, 4_096, 8_192, 16_384)

AGENT = Config()
METHODS = ("ppo", "rnd", "action-balance", "action-balance-rnd")
STATES = 1_024

K = TypeVar("K")


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
class Training:
    """A trainer under way; a call is one update of all its seeds."""

    config: TrainConfig
    step: Callable[[Any], tuple[Any, Any]]
    state: Any
    compile_seconds: float = field(init=False)

    def __post_init__(self) -> None:
        first, _ = timed(lambda: jax.block_until_ready(self()))
        later, _ = timed(lambda: jax.block_until_ready(self()))
        self.compile_seconds = first - later

    def __call__(self) -> Any:
        """One update."""
        self.state, told = self.step(self.state)
        return told

    @property
    def steps(self) -> int:
        """Environment steps of a call."""
        return self.config.seeds * self.config.agent.steps_per_update


def configure(seeds: int = 1, method: str = AGENT.method, envs: int = AGENT.envs) -> TrainConfig:
    """A run long enough for any number of environments; nothing depends on how long."""
    return TrainConfig(env_config("open"), replace(AGENT, method=method, envs=envs, steps=2**31 - 1), seeds=seeds)


def first_agents(states: TrainState, count: int) -> TrainState:
    """So many of the seeds, in memory of their own."""
    return jax.jit(lambda states: jax.tree.map(lambda leaf: leaf[:count], states))(states)


def training(config: TrainConfig, states: TrainState) -> Training:
    """The trainer of a config, with the first of these agents."""
    trainer = Trainer(config)
    return Training(config, trainer.step, trainer.seeds.place(first_agents(states, config.seeds)))


def first_alone(states: TrainState) -> TrainState:
    """The first of these agents, on one device."""
    return jax.device_put(jax.jit(lambda states: jax.tree.map(lambda leaf: leaf[0], states))(states), jax.devices()[0])


def measure(calls: dict[K, Callable[[], Any]], effort: Effort) -> dict[K, list[float]]:
    """Seconds of each call, one number for every round."""

    def block(call: Callable[[], Any], count: int) -> None:
        for _ in range(count):
            result = call()
        jax.block_until_ready(result)

    repeats = {}
    for name, call in calls.items():
        block(call, 1)
        seconds, _ = timed(partial(block, call, 1))
        repeats[name] = max(1, math.ceil(effort.block_seconds / seconds))

    seconds_of: dict[K, list[float]] = {name: [] for name in calls}
    for _ in range(effort.rounds):
        for name, call in calls.items():
            seconds, _ = timed(partial(block, call, repeats[name]))
            seconds_of[name].append(seconds / repeats[name])
    return seconds_of


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Median of the ratios within a round."""
    return median(x / y for x, y in zip(above, below, strict=True))


@dataclass(frozen=True)
class Row:
    """A program and what its rounds took."""

    program: Training
    seconds: list[float]

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.program.steps / median(self.seconds)

    def cells(self) -> tuple[str, str, str]:
        """Compilation, milliseconds of an update, and rate, for a table."""
        return f"{self.program.compile_seconds:.1f}", f"{1e3 * median(self.seconds):,.1f}", f"{self.rate:,.0f}"

    def times(self, other: "Row") -> float:
        """How many times the rate of the other."""
        return ratio(other.seconds, self.seconds) * self.program.steps / other.program.steps


def count_seeds(seeds: int) -> str:
    """So many seeds."""
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def measure_training(effort: Effort, wide: Sequence[int], states: TrainState) -> dict[str, Row]:
    """The fused program for several seeds and environments, and the host-stepped one; and acting alone in both."""
    programs = {f"fused, {count_seeds(seeds)}": training(configure(seeds), states) for seeds in effort.seeds}
    for envs in wide:
        config = configure(envs=envs)
        programs[f"fused, 1 seed, {envs:,} environments"] = training(config, Trainer(config).begin())

    def host() -> HostTrainer:
        return HostTrainer([GridEnv(plain_grid.World()) for _ in range(AGENT.envs)], AGENT)

    alone, environment = first_alone(states), configure().environment(jax.random.key(0))
    stepped, acting = host(), host()
    fused_acting = compiled(partial(rollout, environment, config=AGENT))
    programs["fused, acting alone"] = Training(configure(), fused_acting, alone)
    programs["host-stepped"] = Training(configure(), stepped.step, stepped.begin(alone))
    programs["host-stepped, acting alone"] = Training(configure(), acting.rollout, acting.begin(alone))
    seconds = measure({**programs}, effort)
    return {name: Row(program, seconds[name]) for name, program in programs.items()}


def show_training(console: Console, rows: dict[str, Row], effort: Effort, begin_seconds: float) -> None:
    """Tables of steps/s, and against the host-stepped loop."""
    speed = table(
        f"Training: {AGENT.method}, {AGENT.envs} environments, rollouts of {AGENT.ppo.rollout_steps} steps",
        ["program", "steps/update", "compile s", "ms/update", "steps/s", "slowest - fastest round"],
    )
    for name, row in rows.items():
        if name.startswith("fused") and "acting" not in name:
            steps = row.program.steps
            rounds = f"{steps / max(row.seconds):,.0f} - {steps / min(row.seconds):,.0f}"
            speed.add_row(name, f"{steps:,}", *row.cells(), rounds)
    console.print(speed)
    console.print(
        f"Beginning {max(effort.seeds)} seeds: {begin_seconds:.1f} s for compilation, networks and a random agent."
    )
    against = table(
        f"Against the same agent stepped from the host, one seed; target: {TIMES_HOST:.0f} times",
        ["program", "compile s", "ms/update", "steps/s", "times the host's"],
    )
    compared = {
        "host-stepped": [f"fused, {count_seeds(seeds)}" for seeds in effort.seeds],
        "host-stepped, acting alone": ["fused, acting alone"],
    }
    for host, fused in compared.items():
        for name in (host, *fused):
            against.add_row(name, *rows[name].cells(), f"{rows[name].times(rows[host]):.1f}")
        against.add_section()
    console.print(against)


def show_methods(console: Console, effort: Effort, states: TrainState) -> None:
    """A table of the methods in the same trainer."""
    rows = {method: training(configure(effort.method_seeds, method), states) for method in effort.methods}
    seconds = measure({**rows}, effort)
    shown = table(
        f"Methods, {effort.method_seeds} seeds", ["method", "compile s", "ms/update", "steps/s", "time, ppo is 1"]
    )
    for method, row in rows.items():
        shown.add_row(
            method,
            f"{row.compile_seconds:.1f}",
            f"{1e3 * median(seconds[method]):,.1f}",
            f"{row.steps / median(seconds[method]):,.0f}",
            f"{ratio(seconds[method], seconds['ppo']):.2f}",
        )
    console.print(shown)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """As the trainer compiles: in full precision, on one core."""

    def precise(*inputs: Any) -> Any:
        with jax.default_matmul_precision("highest"):
            return function(*inputs)

    on_cpu = jax.default_backend() == "cpu"
    return jax.jit(precise, compiler_options={"xla_cpu_multi_thread_eigen": False} if on_cpu else None)


def adam_steps(params: Params, optimizer: optax.OptState, config: Config) -> tuple[Params, optax.OptState]:
    """As many steps of Adam as an update has, with some gradients."""
    adam, gradients = update.optimizer(config), params

    def step(carry: tuple[Params, optax.OptState], _: None) -> tuple[tuple[Params, optax.OptState], None]:
        params, optimizer = carry
        changes, optimizer = adam.update(gradients, optimizer)
        return (optax.apply_updates(params, changes), optimizer), None

    return jax.lax.scan(step, (params, optimizer), length=config.ppo.epochs * config.ppo.minibatches)[0]


def acting_and_learning(state: TrainState, methods: Sequence[str]) -> dict[tuple[str, str], Callable[[], Any]]:
    """Rollout and update of one agent under each method."""
    environment = configure().environment(jax.random.key(0))
    calls: dict[tuple[str, str], Callable[[], Any]] = {}
    for method in methods:
        config = replace(AGENT, method=method)
        act = compiled(partial(rollout, environment, config=config))
        learn = compiled(partial(update.learn, config=config))
        following, trajectory = act(state)
        calls["rollout", method] = partial(act, state)
        calls["learn", method] = partial(learn, following, trajectory, trajectory.action)
    return calls


def other_parts(state: TrainState) -> dict[tuple[str, str], Callable[[], Any]]:
    """What it takes to tell the rest apart: a random agent's rollout, the bonus, Adam, the whole."""
    environment = configure().environment(jax.random.key(0))
    act = compiled(partial(rollout, environment, config=replace(AGENT, method="random")))
    bonus = compiled(partial(update.next_state_bonus, config=AGENT))
    adam = compiled(partial(adam_steps, config=AGENT))
    whole = compiled(partial(train.train_step, environment, config=AGENT))
    following, trajectory = act(state)
    return {
        ("rollout", "random"): partial(act, state),
        ("bonus", AGENT.method): partial(bonus, following, trajectory, trajectory.action),
        ("adam", AGENT.method): partial(adam, state.params, state.optimizer),
        ("whole", AGENT.method): partial(whole, state),
    }


def show_parts(console: Console, effort: Effort, states: TrainState) -> None:
    """Tables of acting and learning under each method, and of the parts of one update."""
    state = first_alone(states)
    calls = acting_and_learning(state, effort.methods)
    if effort.methods == METHODS:
        calls |= other_parts(state)
    seconds = measure(calls, effort)
    by_method = table(
        "One seed alone: acting and learning", ["method", "rollout ms", "ppo is 1", "learn ms", "ppo is 1"]
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
        """Median over the rounds of sum less sum."""
        return median(
            sum(seconds[key][number] for key in plus) - sum(seconds[key][number] for key in less)
            for number in range(effort.rounds)
        )

    ppo, rnd, balanced, both = METHODS
    whole = over(("whole", both))
    shown = {
        "acting: environments and draws": over(("rollout", "random")),
        "acting: policy": over(("rollout", ppo), less=[("rollout", "random")]),
        "acting: action bonus, balance": over(("rollout", balanced), less=[("rollout", ppo)]),
        "learning: Adam, all networks": over(("adam", both)),
        "learning: the rest of PPO": over(("learn", ppo), less=[("adam", both)]),
        "learning: next-state bonus of the rollout": over(("bonus", both)),
        "learning: next-state predictor": over(("learn", rnd), less=[("learn", ppo), ("bonus", both)]),
        "learning: action predictor": over(("learn", balanced), less=[("learn", ppo)]),
        "learning: both together, not their sum": over(
            ("learn", both), ("learn", ppo), less=[("learn", rnd), ("learn", balanced)]
        ),
        "counts and metrics": over(("whole", both), less=[("rollout", both), ("learn", both)]),
        "the whole update": whole,
    }
    parts = table(f"Parts of one update of {both}, one seed", ["part", "ms", "share"])
    for name, value in shown.items():
        parts.add_row(name, f"{1e3 * value:.2f}", f"{value / whole:.0%}")
    console.print(parts)


def show_all_errors(console: Console, effort: Effort) -> None:
    """A table of the bonus vector against single errors."""
    inputs, net = math.prod(configure().environment(jax.random.key(0)).spec.shape), AGENT.net
    target_key, predictor_key, states_key = jax.random.split(jax.random.key(0), 3)
    states = jax.random.normal(states_key, (STATES, inputs))
    calls: dict[tuple[int, str], Callable[[], Any]] = {}
    for actions in (4, 18):

        def bonus_net(layers: int, key: jax.Array, actions: int = actions) -> BonusNet:
            sizes = (inputs, net.bonus_hidden, net.bonus_outputs)
            return BonusNet(*sizes, actions=actions, joined_layers=layers, key=key)

        def one_by_one(error: Callable[..., Any], actions: int = actions) -> list[Any]:
            return [error(states, action) for action in range(actions)]

        module = Distillation(bonus_net(1, target_key), bonus_net(1 + net.predictor_layers, predictor_key))
        at_once = compiled(jax.vmap(module.all_errors))
        pairs = compiled(jax.vmap(module.error))
        repeated = jnp.repeat(states, actions, axis=0)
        tiled = jnp.tile(jnp.arange(actions), STATES)
        calls[actions, "at once"] = partial(at_once, states)
        calls[actions, "single"] = partial(one_by_one, compiled(jax.vmap(module.error, in_axes=(0, None))))
        calls[actions, "pairs"] = partial(pairs, repeated, tiled)
    seconds = measure(calls, effort)
    shown = table(
        f"Bonus vectors of {STATES:,} states, microseconds",
        ["A", "all_errors", "A calls of error", "times all_errors", "one batch of all pairs", "times all_errors"],
    )
    for actions in (4, 18):
        at_once_seconds = seconds[actions, "at once"]
        cells = [f"{1e6 * median(at_once_seconds):,.0f}"]
        for mode in ("single", "pairs"):
            cells.append(f"{1e6 * median(seconds[actions, mode]):,.0f}")
            cells.append(f"{ratio(seconds[actions, mode], at_once_seconds):.1f}")
        shown.add_row(str(actions), *cells)
    console.print(shown)


def show_targets(console: Console, rows: dict[str, Row], effort: Effort) -> None:
    """What was aimed at, what came out."""
    shown = table("Targets", ["target", "measured", ""])

    def add(target: str, measured: str, met: bool | None) -> None:
        verdict = {True: "[green]met[/]", False: "[bold red]MISSED[/]", None: "not measured here"}[met]
        shown.add_row(target, measured, verdict)

    device = jax.devices()[0].device_kind
    most = rows[f"fused, {count_seeds(max(effort.seeds))}"]
    add(
        f"{SEEDS_RATE:,} steps/s over seeds on {SEEDS_CORES} cores",
        f"{most.rate:,.0f} ({count_seeds(most.program.config.seeds)}, {cores()} cores, {device})",
        most.rate >= SEEDS_RATE if jax.default_backend() == "cpu" and cores() == SEEDS_CORES else None,
    )
    wide = [row for row in rows.values() if row.program.config.agent.envs >= GPU_ENVS]
    widest = max(wide, key=lambda row: row.rate, default=None)
    add(
        f"{GPU_RATE:,.0f} steps/s on one {GPU_NAME}, {GPU_ENVS:,} environments or more",
        "-" if widest is None else f"{widest.rate:,.0f} ({widest.program.config.agent.envs:,} environments, {device})",
        widest.rate >= GPU_RATE if widest is not None and GPU_NAME in device else None,
    )
    for seeds in effort.seeds:
        times = rows[f"fused, {count_seeds(seeds)}"].times(rows["host-stepped"])
        add(f"{TIMES_HOST:.0f} times the host-stepped loop, {count_seeds(seeds)}", f"{times:.1f}", times >= TIMES_HOST)
    console.print(shown)


def main() -> None:
    """Measure and print everything."""
    use_all_cores()  # first of all: without effect once JAX has begun
    parser = argparse.ArgumentParser(description="Speed of the neural agent.")
    parser.add_argument("--quick", action="store_true", help="fewer programs and rounds, to see that it works")
    parser.add_argument(
        "--wide", type=int, nargs="*", metavar="ENVS", help="one seed with so many environments; on a GPU, by itself"
    )
    flags = parser.parse_args()
    jax.config.update("jax_compilation_cache_dir", None)  # compiling is measured, not reading
    effort = Effort()
    if flags.quick:
        effort = Effort(seeds=(1, 8), methods=("ppo", AGENT.method), rounds=2, block_seconds=0.1)
    on_gpu = jax.default_backend() != "cpu"
    wide = flags.wide if flags.wide is not None else WIDE if on_gpu else ()
    console = wide_console()
    devices = f"{jax.device_count()} x {jax.devices()[0].device_kind}"
    console.print(machine(f"backend {jax.default_backend()}", f"devices {devices}"))

    begin_seconds, states = timed(lambda: jax.block_until_ready(Trainer(configure(max(effort.seeds))).begin()))
    rows = measure_training(effort, wide, states)
    show_training(console, rows, effort, begin_seconds)
    if not flags.quick:
        show_methods(console, effort, states)
    show_parts(console, effort, states)
    show_all_errors(console, effort)
    if flags.quick:
        console.print("Few rounds and few seeds: the targets are for the whole benchmark.")
        return
    show_targets(console, rows, effort)


if __name__ == "__main__":
    main()
