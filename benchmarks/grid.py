"""Speed, growth and memory of the tabular engine on this machine: ``python benchmarks/grid.py [--quick]``.

What is measured, and how:

- *Paper scale.* The coverage study (4 methods x 100 runs x 20,000 steps) and the goals study (4 methods x 5 goals x
  100 runs, each until its goal is reached), simulation alone. Steps are those the runs needed; lanes that carry no
  run, and the rest of a block after a goal, are computed too but not counted. Occupancy is counted over computed.
- *Plain Python.* The same settings through `plain_grid`, in the same process and between the same repeats, with fewer
  runs. It uses one core, the engine all of them; the ratio is given as it is and per core.
- *Compilation.* Seconds that the first call spends on compiling, without a cache on disk, and their share of one
  compilation plus both studies.
- *Growth.* Wall seconds with more runs, more cells and more steps. "Against linear" divides the growth of the time by
  the growth of the size, both from the first row of the table: 1.00 is linear, less is better.
- *Memory.* How far the peak of the process rises above what it held after compiling, and the bytes of all lanes.

Every row comes from its own process. Repeats are summed up by their median. What misses a target is said at the end.
"""

import argparse
import math
import multiprocessing
import os
import platform
import random
import resource
import statistics
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import jax
import numpy as np
import plain_grid
from rich.console import Console
from rich.table import Table

from action_balance.envs.grid import Cell
from action_balance.envs.worlds import goal_world, open_world
from action_balance.tabular import agent, simulate
from action_balance.tabular.agent import METHODS, TabularSettings
from action_balance.tabular.simulate import LANES, Cohort, Workers

#: The goals of Table I.
GOALS: tuple[Cell, ...] = ((0, 20), (20, 0), (10, 20), (16, 16), (20, 10))

#: The targets.
STEPS_PER_SECOND, TIMES_PLAIN, AGAINST_LINEAR = 4e6, 100.0, 1.1  # a tenth above linear is left to noise

SETTINGS = TabularSettings()

T = TypeVar("T")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Case:
    """One thing to measure. With goals, runs end at them; without, they have ``steps`` steps."""

    runs: int
    steps: int = 20_000
    size: int = 40
    methods: tuple[str, ...] = tuple(METHODS)
    goals: tuple[Cell, ...] = ()
    repeats: int = 3


@dataclass(frozen=True)
class Cost:
    """What a case cost."""

    seconds: float  # median of the repeats
    steps: int  # steps that the runs needed
    lane_steps: int  # steps computed for them
    compile_seconds: float
    grown_bytes: int  # peak memory above that after compiling
    lane_bytes: int  # tables and states of all lanes

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds

    @property
    def occupancy(self) -> float:
        """Share of the computed steps that were needed."""
        return self.steps / self.lane_steps


@dataclass(frozen=True)
class PlainCost:
    """What plain Python took for a few of a case's runs."""

    seconds: float
    steps: int

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds


def timed(work: Callable[[Case, int], T], case: Case, seed: int) -> tuple[float, T]:
    """Wall seconds and result."""
    began = time.perf_counter()
    result = work(case, seed)
    return time.perf_counter() - began, result


def forget_peak() -> None:
    """Let the peak of memory begin anew, where the system can."""
    if Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """The most memory this process has held since `forget_peak`."""
    if Path("/proc/self/status").exists():
        fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        if "VmHWM" in fields:
            return int(fields["VmHWM"].split()[0]) * 1024
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def lane_bytes(size: int) -> int:
    """Bytes of every table and state in every lane of every worker."""
    world = open_world(size)
    coefficient = np.zeros((), np.float32)
    run = jax.eval_shape(agent.begin, world, jax.random.key(0), coefficient, coefficient, world.goals)
    with Workers() as workers:
        return workers.count * LANES * sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(run))


def simulate_case(case: Case, seed: int) -> tuple[int, int]:
    """Steps needed and steps computed."""
    world = open_world(case.size)
    if case.goals:
        cohorts = [
            Cohort.create(method, SETTINGS, (seed, *goal), goal_world(goal, case.size).goals)
            for method in case.methods
            for goal in case.goals
        ]
        found = simulate.reach(world, cohorts, case.runs, SETTINGS, 2**31 - 1)
        return int(found.steps.sum()), found.lane_steps
    cohorts = [Cohort.create(method, SETTINGS, (seed,), world.goals) for method in case.methods]
    steps = sum(cells.size for _, _, cells in simulate.walk(world, cohorts, case.runs, SETTINGS, case.steps))
    block = simulate.compiled(case.size, case.size, SETTINGS).block
    chunks = len(cohorts) * math.ceil(case.runs / LANES)
    return steps, chunks * LANES * math.ceil(case.steps / block) * block


def simulate_plainly(case: Case, seed: int) -> int:
    """The same in plain Python: steps taken."""
    rng = random.Random(seed)
    taken = 0
    for method in case.methods:
        action_coef, state_coef = agent.coefficients(method, SETTINGS)
        settings = plain_grid.Settings(action_coef, state_coef)
        for goal in case.goals or (None,):
            goals = set() if goal is None else {goal[1] * case.size + goal[0]}
            world = plain_grid.World(case.size, case.size, goals=goals)
            limit = case.steps if goal is None else 2**31 - 1
            for _ in range(case.runs):
                taken += len(plain_grid.run(world, settings, limit, rng, stop_at_goal=goal is not None).cells)
    return taken


def measure(case: Case, plain_runs: int = 0) -> tuple[Cost, PlainCost | None]:
    """The cost of a case, and of ``plain_runs`` of its runs in plain Python, measured in turns."""
    compile_seconds = simulate.compiled(case.size, case.size, SETTINGS).compile_seconds
    forget_peak()
    held = peak_bytes()
    ours: list[tuple[float, tuple[int, int]]] = []
    plain: list[tuple[float, int]] = []
    for seed in range(case.repeats):
        ours.append(timed(simulate_case, case, seed))
        if seed == 0:
            grown = peak_bytes() - held
        if plain_runs:
            plain.append(timed(simulate_plainly, replace(case, runs=plain_runs), seed))
    # Runs to a goal differ in length: the median is that of the rates, told for the mean number of steps.
    steps, lane_steps = (round(statistics.mean(counts)) for counts in zip(*(counts for _, counts in ours), strict=True))
    rate = statistics.median(needed / seconds for seconds, (needed, _) in ours)
    cost = Cost(steps / rate, steps, lane_steps, compile_seconds, grown, lane_bytes(case.size))
    if not plain_runs:
        return cost, None
    plain_rate = statistics.median(needed / seconds for seconds, needed in plain)
    plain_steps = round(statistics.mean(needed for _, needed in plain))
    return cost, PlainCost(plain_steps / plain_rate, plain_steps)


def in_own_process(function: Callable[..., Result], *args: object) -> Result:
    """The result of a function in a process of its own, started afresh."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def megabytes(count: int) -> str:
    """Bytes for a table."""
    return f"{count / 1e6:,.1f} MB"


def table(title: str, columns: Iterable[str]) -> Table:
    """An empty table with numbers to the right."""
    result = Table(title=title, title_justify="left", title_style="bold")
    for number, name in enumerate(columns):
        result.add_column(name, justify="right" if number else "left", no_wrap=not number)
    return result


def show_paper_scale(console: Console, quick: bool) -> list[tuple[str, bool]]:
    """Tables of speed and compilation; returns what was aimed at, and whether it was met."""
    runs, repeats = (10, 3) if quick else (100, 5)
    cases = {
        "coverage": (Case(runs, 2_000 if quick else 20_000, repeats=repeats), 1 if quick else 2),
        "goals": (Case(runs, goals=GOALS[:2] if quick else GOALS, repeats=repeats), 1),
    }
    costs = {name: in_own_process(measure, case, plain_runs) for name, (case, plain_runs) in cases.items()}

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    speed = table(
        "Paper scale",
        ["study", "runs", "steps", "seconds", "steps/s", "occupancy", "plain steps/s", "ratio", "ratio per core"],
    )
    targets = []
    for name, (cost, plain) in costs.items():
        assert plain is not None
        case = cases[name][0]
        ratio = cost.rate / plain.rate
        speed.add_row(
            name,
            f"{len(case.methods)} x {f'{len(case.goals)} x ' if case.goals else ''}{case.runs}",
            f"{cost.steps:,}",
            f"{cost.seconds:.3f}",
            f"{cost.rate:,.0f}",
            f"{cost.occupancy:.0%}",
            f"{plain.rate:,.0f}",
            f"{ratio:,.0f}",
            f"{ratio / cores:,.0f}",
        )
        targets.append(
            (
                f"{name}: {cost.rate / 1e6:.1f} of {STEPS_PER_SECOND / 1e6:.0f} million steps/s",
                cost.rate >= STEPS_PER_SECOND,
            )
        )
        targets.append((f"{name}: {ratio:.0f} of {TIMES_PLAIN:.0f} times plain Python", ratio >= TIMES_PLAIN))
    console.print(speed)

    compiling = statistics.median(cost.compile_seconds for cost, _ in costs.values())
    simulating = sum(cost.seconds for cost, _ in costs.values())
    share = table("Compilation", ["part", "seconds", "share"])
    for name, seconds in [("compile, once", compiling), *((name, cost.seconds) for name, (cost, _) in costs.items())]:
        share.add_row(name, f"{seconds:.2f}", f"{seconds / (compiling + simulating):.0%}")
    console.print(share)
    return targets


def show_growth(console: Console, name: str, unit: str, sizes: dict[int, Case]) -> list[tuple[str, bool]]:
    """A table of cost against size; returns what was aimed at, and whether it was met."""
    growth = table(
        f"Growth with {name}",
        [unit, "steps in all", "seconds", "ns/step", "occupancy", "against linear", "memory grown", "lanes"],
    )
    first: tuple[int, float] | None = None
    worst = 0.0
    for size, case in sizes.items():
        cost, _ = in_own_process(measure, case)
        first = first or (size, cost.seconds)
        against_linear = (cost.seconds / first[1]) / (size / first[0])
        worst = max(worst, against_linear)
        growth.add_row(
            f"{size:,}",
            f"{cost.steps:,}",
            f"{cost.seconds:.3f}",
            f"{1e9 / cost.rate:.1f}",
            f"{cost.occupancy:.0%}",
            f"{against_linear:.2f}",
            megabytes(cost.grown_bytes),
            megabytes(cost.lane_bytes),
        )
    console.print(growth)
    return [(f"{name}: at most {worst:.2f} times linear", worst <= AGAINST_LINEAR)]


def machine() -> str:
    """What this was measured on, in a line."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{model}, {cores} cores, load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}, "
        f"JAX {jax.__version__}, {LANES} lanes a worker"
    )


def main() -> None:
    """Measure and print everything."""
    parser = argparse.ArgumentParser(description="Speed, growth and memory of the tabular engine.")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    quick: bool = parser.parse_args().quick
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)  # for the processes to come: compiling is measured, not reading
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 130
    console.print(machine())

    targets = show_paper_scale(console, quick)
    one = ("action-balance-rnd",)
    steps = 2_000 if quick else 20_000
    goal = ((8, 8),) if quick else ((16, 16),)
    runs = (10, 100) if quick else (100, 1_000, 10_000)
    few = 10 if quick else 100
    targets += show_growth(
        console,
        f"runs of {steps:,} steps",
        "runs",
        {n: Case(n, steps, methods=one, repeats=1 if n > 1_000 else 3) for n in runs},
    )
    targets += show_growth(
        console,
        f"runs to the goal {goal[0]}",
        "runs",
        {n: Case(n, methods=one, goals=goal, repeats=1 if n > 1_000 else 5) for n in runs},
    )
    targets += show_growth(
        console, "cells", "cells", {n * n: Case(few, steps, n) for n in ((20, 40) if quick else (20, 40, 80, 160))}
    )
    targets += show_growth(
        console,
        "steps a run",
        "steps a run",
        {n: Case(few, n) for n in ((500, 2_000) if quick else (5_000, 20_000, 80_000))},
    )

    if quick:
        console.print("The sizes are too small to fill the lanes: the targets are for the whole benchmark.")
        return
    for text, met in targets:
        console.print(f"[green]met[/]     {text}" if met else f"[bold red]MISSED[/]  {text}")


if __name__ == "__main__":
    main()
