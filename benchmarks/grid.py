"""Speed, scaling and memory of the tabular engine on this machine: ``python benchmarks/grid.py [--quick]``.

What is measured:

- *Paper scale.* The coverage study (4 methods x 100 runs x 20,000 steps) and the goals study (4 methods x 5 goals x
  100 runs, each until it reaches its goal), simulation only. Only steps that the runs need are counted; lanes without a
  run, and the rest of a block after a goal, are computed as well. Occupancy is counted steps over computed steps.
- *Plain Python.* The same settings with `plain_grid`, in the same process and the same rounds, with fewer runs. It uses
  one core and the engine all of them; the ratio is given in total and per core.
- *Compilation.* Seconds of compilation in the first call, without a cache on disk, and their share of one compilation
  plus both studies.
- *Scaling.* Wall-clock seconds with more runs, more cells and more steps. "Relative to linear" divides the growth of
  the time by the growth of the size, both from the first row of the table: 1.00 is linear, less is better.
- *Memory.* How far the peak of the process rises above its memory after compiling, and the bytes of all lanes.

Every row has its own process. The rows of a table are measured in turn, once per round, so that other load on the
machine affects all of them. Each number is the median over the rounds; ratios are taken within a round first.
"""

import argparse
import math
import multiprocessing
import os
import platform
import random
import resource
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import jax
import numpy as np
import plain_grid
from common import machine, ratio, table, timed, wide_console
from rich.console import Console

from action_balance.envs.grid.maps import goal_world, open_world
from action_balance.envs.grid.world import Cell
from action_balance.machine import cores
from action_balance.tabular import agent, simulate
from action_balance.tabular.settings import METHODS, TabularSettings, coefficients
from action_balance.tabular.simulate import LANES, Cohort, Workers

#: The goals of Table I.
GOALS: tuple[Cell, ...] = ((0, 20), (20, 0), (10, 20), (16, 16), (20, 10))

SETTINGS = TabularSettings()
COLUMNS = ["study", "runs", "steps", "seconds", "steps/s", "occupancy", "plain/s", "ratio", "ratio/core"]


@dataclass(frozen=True)
class Case:
    """One simulation to measure. With goals, runs end at them; without, they have ``steps`` steps."""

    runs: int
    steps: int = 20_000
    size: int = 40
    methods: tuple[str, ...] = tuple(METHODS)
    goals: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Cost:
    """Cost of one simulation of a case."""

    seconds: float
    steps: int  # steps that the runs needed
    lane_steps: int  # steps computed for them
    compile_seconds: float
    grown_bytes: int  # peak memory above the memory after compiling
    lane_bytes: int  # tables and states of all lanes

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.steps / self.seconds

    @property
    def occupancy(self) -> float:
        """Share of the computed steps that were needed."""
        return self.steps / self.lane_steps


def reset_peak() -> None:
    """Reset the peak memory of this process, where the system allows it."""
    if Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Peak memory of this process since `reset_peak`."""
    if Path("/proc/self/status").exists():
        fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        if "VmHWM" in fields:
            return int(fields["VmHWM"].split()[0]) * 1024
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def lane_bytes(size: int) -> int:
    """Bytes of all tables and states in all lanes of all workers."""
    world = open_world(size)
    coefficient = np.zeros((), np.float32)
    run = jax.eval_shape(agent.begin, world, jax.random.key(0), coefficient, coefficient, world.goals)
    with Workers() as workers:
        return workers.count * LANES * sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(run))


def simulate_case(case: Case, seed: int) -> tuple[int, int]:
    """Simulate a case; returns the steps that were needed and those that were computed."""
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
    steps = sum(cells.size for _, _, cells, _ in simulate.walk(world, cohorts, case.runs, SETTINGS, case.steps))
    block = simulate.compiled(case.size, case.size, SETTINGS).block
    chunks = len(cohorts) * math.ceil(case.runs / LANES)
    return steps, chunks * LANES * math.ceil(case.steps / block) * block


def simulate_in_python(case: Case, seed: int) -> int:
    """Simulate a case in plain Python; returns the steps."""
    rng = random.Random(seed)
    taken = 0
    for method in case.methods:
        action_coef, state_coef = coefficients(method, SETTINGS)
        settings = plain_grid.Settings(action_coef, state_coef)
        for goal in case.goals or (None,):
            goals = set() if goal is None else {goal[1] * case.size + goal[0]}
            world = plain_grid.World(case.size, case.size, goals=goals)
            limit = case.steps if goal is None else 2**31 - 1
            for _ in range(case.runs):
                taken += len(plain_grid.run(world, settings, limit, rng, stop_at_goal=goal is not None).cells)
    return taken


def measure(case: Case, seed: int) -> Cost:
    """The cost of a case; compilation, in the first call of a process, is not counted."""
    program = simulate.compiled(case.size, case.size, SETTINGS)
    reset_peak()
    held = peak_bytes()
    seconds, (steps, lane_steps) = timed(lambda: simulate_case(case, seed))
    grown = peak_bytes() - held
    return Cost(seconds, steps, lane_steps, program.compile_seconds, grown, lane_bytes(case.size))


def measure_python(case: Case, seed: int) -> float:
    """Steps per second in plain Python."""
    seconds, steps = timed(lambda: simulate_in_python(case, seed))
    return steps / seconds


def own_process(stack: ExitStack) -> ProcessPoolExecutor:
    """A new process that ends with the stack."""
    return stack.enter_context(ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")))


def megabytes(count: int) -> str:
    """A number of bytes, for a table."""
    return f"{count / 1e6:,.1f} MB"


def show_paper_scale(console: Console, quick: bool) -> None:
    """Tables of speed and compilation."""
    runs, rounds = (10, 2) if quick else (100, 7)
    cases = {
        "coverage": Case(runs, 2_000 if quick else 20_000),
        "goals": Case(runs, goals=GOALS[:2] if quick else GOALS),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in cases}
    plain: dict[str, list[float]] = {name: [] for name in cases}
    with ExitStack() as stack:
        processes = {name: own_process(stack) for name in cases}
        for seed in range(rounds):
            for name, case in cases.items():
                costs[name].append(processes[name].submit(measure, case, seed).result())
                plain[name].append(processes[name].submit(measure_python, replace(case, runs=1), seed).result())

    speed = table("Paper scale", COLUMNS)
    for name, case in cases.items():
        rate = median(cost.rate for cost in costs[name])
        times = ratio([cost.rate for cost in costs[name]], plain[name])
        speed.add_row(
            name,
            f"{len(case.methods)} x {f'{len(case.goals)} x ' if case.goals else ''}{case.runs}",
            f"{median(cost.steps for cost in costs[name]):,.0f}",
            f"{median(cost.seconds for cost in costs[name]):.3f}",
            f"{rate:,.0f}",
            f"{median(cost.occupancy for cost in costs[name]):.0%}",
            f"{median(plain[name]):,.0f}",
            f"{times:,.0f}",
            f"{times / cores():,.0f}",
        )
    console.print(speed)

    parts = {"one compilation": median(cost.compile_seconds for rows in costs.values() for cost in rows)}
    parts |= {name: median(cost.seconds for cost in rows) for name, rows in costs.items()}
    share = table("Compilation", ["part", "seconds", "share"])
    for name, seconds in parts.items():
        share.add_row(name, f"{seconds:.2f}", f"{seconds / sum(parts.values()):.0%}")
    console.print(share)


def show_scaling(console: Console, name: str, unit: str, rounds: int, cases: dict[int, Case]) -> None:
    """A table of cost by size."""
    costs: dict[int, list[Cost]] = {size: [] for size in cases}
    with ExitStack() as stack:
        processes = {size: own_process(stack) for size in cases}
        for seed in range(rounds):
            for size, case in cases.items():
                costs[size].append(processes[size].submit(measure, case, seed).result())

    scaling = table(
        f"Scaling with {name}",
        [unit, "total steps", "seconds", "ns/step", "occupancy", "relative to linear", "memory growth", "lanes"],
    )
    first = next(iter(cases))
    for size, rows in costs.items():
        growth = ratio([row.seconds for row in rows], [base.seconds for base in costs[first]])
        relative = growth / (size / first)
        scaling.add_row(
            f"{size:,}",
            f"{median(row.steps for row in rows):,.0f}",
            f"{median(row.seconds for row in rows):.3f}",
            f"{median(1e9 / row.rate for row in rows):.1f}",
            f"{median(row.occupancy for row in rows):.0%}",
            f"{relative:.2f}",
            megabytes(max(row.grown_bytes for row in rows)),
            megabytes(rows[0].lane_bytes),
        )
    console.print(scaling)


def main() -> None:
    """Measure and print everything."""
    parser = argparse.ArgumentParser(description="Measure speed, scaling and memory of the tabular engine.")
    parser.add_argument("--quick", action="store_true", help="small sizes, to check that it works")
    quick: bool = parser.parse_args().quick
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
    os.environ["ACTION_BALANCE_CACHE"] = "off"  # in all processes: measure compiling, not reading a cache
    console = wide_console()
    console.print(machine(f"{LANES} lanes per worker"))

    show_paper_scale(console, quick)
    one = ("action-balance-rnd",)
    steps, few, rounds = (2_000, 10, 2) if quick else (20_000, 100, 7)
    runs = (10, 100) if quick else (100, 1_000, 10_000)
    sides = (20, 40) if quick else (20, 40, 80, 160)
    lengths = (500, 2_000) if quick else (5_000, 20_000, 80_000)
    goal = (8, 8) if quick else (16, 16)
    show_scaling(
        console, f"runs of {steps:,} steps", "runs", 3, {count: Case(count, steps, methods=one) for count in runs}
    )
    show_scaling(
        console,
        f"runs to the goal {goal}",
        "runs",
        3,
        {count: Case(count, methods=one, goals=(goal,)) for count in runs},
    )
    show_scaling(console, "cells", "cells", rounds, {side**2: Case(few, steps, side) for side in sides})
    show_scaling(console, "steps per run", "steps per run", rounds, {length: Case(few, length) for length in lengths})


if __name__ == "__main__":
    main()
