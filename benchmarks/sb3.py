"""Cost of exploring in Stable-Baselines3: ``python benchmarks/sb3.py [--quick] [--steps N] [--rounds R] [--env ID]``.

PPO of Stable-Baselines3 and `ExploringPPO` train with the same settings: 8 environments, rollouts of 128 steps, and
Stable-Baselines3's defaults otherwise. Every training is a process of its own, and everything counts: imports,
compiling and the warm-up. In each round all of them train in turn, so that other load on the machine affects all; a
ratio is the median of the rounds' ratios. The target is that of action balance on CartPole: at most 1.3 times the
wall-clock time.
"""

import argparse
import resource
import subprocess
import sys
from statistics import median
from typing import Any

from common import machine, ratio, table, timed, wide_console

#: What is trained by name, with the arguments of `ExploringPPO`; None is PPO of Stable-Baselines3.
AGENTS: dict[str, dict[str, Any] | None] = {
    "PPO": None,
    "with action balance": {"intrinsic": None},
    "with action balance and RND": {},
}
#: Target: wall-clock time with action balance over that of PPO.
TARGET = 1.3


def train(name: str, env: str, steps: int) -> None:
    """Train one agent in this process."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    envs = make_vec_env(env, n_envs=8, seed=0)
    exploring = AGENTS[name]
    if exploring is None:
        PPO("MlpPolicy", envs, n_steps=128, seed=0, device="cpu").learn(steps)
        return
    from action_balance.interop.sb3 import ExploringPPO

    ExploringPPO("MlpPolicy", envs, n_steps=128, seed=0, device="cpu", **exploring).learn(steps)


def process(name: str, env: str, steps: int) -> tuple[float, float]:
    """Wall-clock and CPU seconds of a process that trains one agent."""
    command = [sys.executable, __file__, "--train", name, "--env", env, "--steps", str(steps)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall, _ = timed(lambda: subprocess.run(command, check=True))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one round of 20,000 steps")
    parser.add_argument("--env", default="CartPole-v1", metavar="ID", help="id of the environment")
    parser.add_argument("--steps", type=int, default=100_000, metavar="N", help="timesteps of each training")
    parser.add_argument("--rounds", type=int, default=3, metavar="R", help="number of rounds")
    parser.add_argument("--train", choices=tuple(AGENTS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        train(args.train, args.env, args.steps)
        return
    steps, rounds = (20_000, 1) if args.quick else (args.steps, args.rounds)
    console = wide_console()
    console.print(machine())
    found = {name: list[tuple[float, float]]() for name in AGENTS}
    for _ in range(rounds):
        for name, seconds in found.items():
            seconds.append(process(name, args.env, steps))
    shown = table(
        f"{args.env}, {steps:,} steps, {rounds} rounds", ("agent", "wall s", "CPU s", "wall ratio", "CPU ratio")
    )
    for name, seconds in found.items():
        times = list(zip(*seconds, strict=True))
        ratios = [ratio(own, base) for own, base in zip(times, zip(*found["PPO"], strict=True), strict=True)]
        shown.add_row(name, *(f"{median(own):.1f}" for own in times), *(f"{one:.2f}" for one in ratios))
    console.print(shown)
    console.print(f"target: with action balance, at most {TARGET} times the wall-clock time of PPO")


if __name__ == "__main__":
    main()
