"""How training scales with ``--devices`` on this machine: ``python benchmarks/devices_split.py [--quick]``.

What is measured, for 1, 2, 4, ... devices:

- *Environments split.* One seed, whose environments are split over the devices.
- *Seeds split.* One seed per device and more, each device training its own.

The speed-up is that over one device. On GPUs it should be close to the number of devices. On a CPU, where every device
is one thread, it can be at most the number of cores; beyond that, it shows what splitting costs. *Work* is the CPU time
of an update compared with that on one device: what is done twice or exchanged, whatever else the machine is doing.

The programs of a table are measured in turn, one block of updates per round. Each number is the median over the rounds;
ratios are taken within a round first.
"""

import argparse
import os
import time
from dataclasses import dataclass, field, replace
from statistics import median

import jax
from agent import AGENT, Program, training
from common import machine, ratio, table, wide_console
from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.engines.device.devices import CPU_DEVICES
from action_balance.envs.grid.config import GridConfig
from action_balance.machine import cores

#: Fewest devices that a CPU is divided into.
CPU_PARTS = 4


@dataclass
class Times:
    """Seconds per update, one number per round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def configure(method: str, devices: int, seeds: int, envs: int) -> TrainConfig:
    """A run that does not end during the benchmark."""
    agent = replace(AGENT, method=method, envs=envs, steps=2**31 - 1)
    return TrainConfig(GridConfig("open"), agent, seeds=seeds, devices=devices)


def device_counts(most: int) -> list[int]:
    """Powers of two up to a number."""
    return [2**power for power in range(most.bit_length()) if 2**power <= most]


def measured(programs: dict[int, Program], rounds: int, updates: int) -> dict[int, Times]:
    """Wall-clock and CPU time of each program; the first update, which compiles, is not counted."""
    for program in programs.values():
        jax.block_until_ready(program())
    found = {devices: Times() for devices in programs}
    for _ in range(rounds):
        for devices, program in programs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(updates):
                result = program()
            jax.block_until_ready(result)
            found[devices].wall.append((time.perf_counter() - wall) / updates)
            found[devices].cpu.append((time.process_time() - cpu) / updates)
    return found


def show(console: Console, title: str, programs: dict[int, Program], rounds: int, updates: int) -> None:
    """A table of one kind of splitting."""
    times = measured(programs, rounds, updates)
    shown = table(title, ["devices", "ms/update", "steps/s", "speed-up", "efficiency", "work, one device = 1"])
    on_cpu = jax.default_backend() == "cpu"
    for devices, mine in times.items():
        speed_up = ratio(times[1].wall, mine.wall)
        efficiency = speed_up / (min(devices, cores()) if on_cpu else devices)
        work = f"{ratio(mine.cpu, times[1].cpu):.2f}" if on_cpu else ""
        cells = f"{1e3 * median(mine.wall):,.1f}", f"{programs[devices].steps / median(mine.wall):,.0f}"
        shown.add_row(str(devices), *cells, f"{speed_up:.2f}", f"{efficiency:.0%}", work)
    console.print(shown)


def main() -> None:
    """Measure and print everything."""
    parser = argparse.ArgumentParser(description="Measure how training scales with the number of devices.")
    parser.add_argument("--quick", action="store_true", help="one method, two devices, few updates")
    parser.add_argument("--methods", nargs="+", default=["ppo", "rnd", "action-balance-rnd"], help="methods to train")
    parser.add_argument("--envs", type=int, help="environments of each seed (default: 256, on GPUs 16,384)")
    flags = parser.parse_args()
    if CPU_DEVICES not in os.environ:
        jax.config.update("jax_num_cpu_devices", max(CPU_PARTS, cores()))
    on_cpu, there = jax.default_backend() == "cpu", jax.device_count()
    counts = device_counts(2 if flags.quick else there)
    envs = flags.envs or (16 if flags.quick else 256 if on_cpu else 16_384)
    rounds, updates = (2, 1) if flags.quick else (7, 5)
    console = wide_console()
    console.print(machine(f"{there} x {jax.devices()[0].device_kind}"))
    for method in flags.methods[: 1 if flags.quick else None]:
        programs = {devices: training(configure(method, devices, 1, envs)) for devices in counts}
        show(console, f"{method}, one seed, {envs:,} environments split", programs, rounds, updates)
    most, method = max(counts), flags.methods[0]
    programs = {devices: training(configure(method, devices, most, envs)) for devices in counts}
    show(console, f"{method}, {most} seeds split, {envs:,} environments each", programs, rounds, updates)


if __name__ == "__main__":
    main()
