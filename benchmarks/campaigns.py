"""What Ray costs: ``python benchmarks/campaigns.py [--runs 12] [--steps N] [--rounds 3]``.

The same tiny runs are trained in two ways, in turn:

- *by hand*: two processes that were started by hand, each of which trains every second run, one after the other;
- *Ray*: ``train --seeds 12 --on ray`` on the same two cores, one core per run.

Both are measured from the moment at which the first run begins until the last one has ended, as the files of the runs
say: starting Python, JAX and Ray is not counted, but every wait between two runs is. The ratio is taken within a round.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from common import machine, table, wide_console

#: Processes that are started by hand.
PROCESSES = 2

#: What each of them executes.
BY_HAND = """
import sys
from pathlib import Path
from action_balance import agent_config, train
out, first, runs, steps = Path(sys.argv[1]), *map(int, sys.argv[2:])
for seed in range(first, runs, {processes}):
    train("deep-sea", out / f"sea-{{seed}}", agent_config("study", method="rnd", steps=steps), seed=seed, size=6)
"""


def by_hand(out: Path, runs: int, steps: int) -> None:
    """Train the runs in processes of our own."""
    program = BY_HAND.format(processes=PROCESSES)
    words = [[sys.executable, "-c", program, str(out), str(first), str(runs), str(steps)] for first in range(PROCESSES)]
    _wait([subprocess.Popen(one, stdout=subprocess.DEVNULL) for one in words])


def with_ray(out: Path, runs: int, steps: int) -> None:
    """Train the runs with the command."""
    words = ["train", "deep-sea", "--size", "6", "--method", "rnd", "--steps", str(steps), "--seeds", str(runs)]
    words += ["--on", "ray", "--cpus-per-run", "1", "--out", str(out / "sea")]
    _wait([subprocess.Popen([sys.executable, "-m", "action_balance", *words], stdout=subprocess.DEVNULL)])


def _wait(processes: list[subprocess.Popen[bytes]]) -> None:
    if max(one.wait() for one in processes):
        raise SystemExit("a training failed")


def seconds(out: Path, runs: int) -> float:
    """From the beginning of the first run to the end of the last, as their files say."""
    begins, ends = [], []
    for seed in range(runs):
        folder = out / f"sea-{seed}"
        begins.append((folder / "config.json").stat().st_mtime)  # written once, at the beginning
        ends.append((folder / "manifest.json").stat().st_mtime)  # when its end was recorded
    return max(ends) - min(begins)


def main() -> None:
    """Measure both in turn, and print their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    console, ways = wide_console(), {"by hand": by_hand, "Ray": with_ray}
    found: dict[str, list[float]] = {name: [] for name in ways}
    whole: dict[str, list[float]] = {name: [] for name in ways}
    for place in range(options.rounds + 1):
        for name, train in ways.items():
            with tempfile.TemporaryDirectory(prefix="campaigns-") as folder:
                out, began = Path(folder), time.perf_counter()
                train(out, options.runs, options.steps)
                if place:  # the first round fills the cache of compiled programs
                    whole[name].append(time.perf_counter() - began)
                    found[name].append(seconds(out, options.runs))
    ratios = [ray / hand for ray, hand in zip(found["Ray"], found["by hand"], strict=True)]
    shown = table(f"{options.runs} runs of {options.steps:,} steps", ("", "seconds", "with start-up"))
    for name in ways:
        shown.add_row(name, f"{median(found[name]):.1f}", f"{median(whole[name]):.1f}")
    console.print(machine())
    console.print(shown)
    console.print(f"Ray takes {median(ratios):.2f} times as long ({', '.join(f'{one:.2f}' for one in sorted(ratios))})")


if __name__ == "__main__":
    main()
