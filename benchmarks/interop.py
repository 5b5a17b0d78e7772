"""Cost of action balance and RND in a loop of PyTorch: ``python benchmarks/interop.py [--quick] [--env ID]``, or of
other bonuses with ``--action-bonus NAME`` and ``--intrinsic NAME``.

The loop is `examples/cleanrl_ppo.py`, with its networks of 64 units, four epochs of four minibatches and eight
environments. What is measured is the processor time of all threads: in the calls of `ActionBalance` and
`IntrinsicBonus`, and in all of the training. The first call of each kind compiles; its time is counted, and shown on
its own.
"""

import argparse
import functools
import runpy
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from common import machine, table, wide_console
from rich.console import Console

from action_balance import ActionBalance, IntrinsicBonus

#: What the loop calls.
CALLS = {
    ActionBalance: ("create", "observe", "shift", "learn"),
    IntrinsicBonus: ("create", "observe", "reward", "learn"),
}
EXAMPLE = Path(__file__).parents[1] / "examples" / "cleanrl_ppo.py"


class Meter:
    """Processor seconds of every call, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def watch(self, owner: type, name: str) -> None:
        """Measure the calls of a method from now on."""
        method, times = getattr(owner, name), self.seconds[f"{owner.__name__}.{name}"]

        @functools.wraps(method)
        def measured(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            result = method(*args, **kwargs)
            times.append(time.process_time() - start)
            return result

        setattr(owner, name, staticmethod(measured) if name == "create" else measured)

    @property
    def total(self) -> float:
        """Seconds of all calls."""
        return sum(sum(times) for times in self.seconds.values())


def run(env: str, steps: int, bonuses: dict[str, str], console: Console) -> float:
    """Train once, and print what the modules took."""
    example, meter = runpy.run_path(str(EXAMPLE)), Meter()
    for owner, names in CALLS.items():
        for name in names:
            meter.watch(owner, name)
    args = example["Args"](env=env, **bonuses)
    updates = max(2, round(steps / args.envs / args.steps))
    start = time.process_time()
    example["train"](replace(args, updates=updates))
    total = time.process_time() - start
    rows = [
        (
            name,
            f"{len(times):,}",
            f"{times[0]:.2f} s",
            f"{1e6 * sorted(times)[len(times) // 2]:,.0f} us",
            _s(sum(times)),
        )
        for name, times in meter.seconds.items()
        if times
    ]
    rows.append(("both modules", "", "", "", _s(meter.total)))
    rows.append(("whole training", "", "", "", _s(total)))
    columns = ("call", "calls", "first call", "median", "all")
    title = f"Processor time, {' and '.join(bonuses.values())}, {env}, {updates * args.envs * args.steps:,} steps"
    shown = table(title, columns)
    for row in rows:
        shown.add_row(*row)
    console.print(shown)
    share = meter.total / total
    console.print(f"share of the modules: {share:.0%}")
    return share


def _s(seconds: float) -> str:
    return f"{seconds:.2f} s"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10,000 steps instead of 100,000")
    parser.add_argument("--env", default="CartPole-v1", help="Gymnasium id (default: CartPole-v1)")
    parser.add_argument("--action-bonus", default="distillation", help="name of the action bonus")
    parser.add_argument("--intrinsic", default="rnd", help="name of the next-state bonus")
    options = parser.parse_args()
    console = wide_console()
    console.print(machine(f"PyTorch {torch.__version__}"))
    bonuses = {"action_bonus": options.action_bonus, "intrinsic": options.intrinsic}
    run(options.env, 10_000 if options.quick else 100_000, bonuses, console)
