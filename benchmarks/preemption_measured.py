"""Check the simulation of `preemption.py` against real campaigns: ``python benchmarks/preemption_measured.py``.

A Ray cluster on this machine has two nodes with one core each. First, a campaign without kills measures how long a run
trains, and how long it takes to start one in a process that has trained before and in a new one. Then campaigns are
disturbed: nodes live for exponentially distributed times, are killed, and replaced. Each is simulated with these
measurements and with the same lives, and both are printed side by side.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median

import numpy as np
from common import machine, table, wide_console
from faults import TRAINING, Nodes, cluster
from preemption import Settings, exponential_lives, simulate

WORKERS = 2
#: Updates between two checkpoints.
EVERY = 50


@dataclass
class Observed:
    """What a command has printed, with the time of every line."""

    lines: list[tuple[float, str]] = field(default_factory=list)

    def times(self, *words: str) -> list[tuple[float, str]]:
        """When lines with one of the words came, and the run that they are about."""
        return [(at, line.partition(":")[0]) for at, line in self.lines if any(f": {word}" in line for word in words)]

    @property
    def begin(self) -> float:
        """When the first run started."""
        return self.times("starts")[0][0]

    @property
    def duration(self) -> float:
        """From the start of the first run to the end of the last."""
        return self.times("finished")[-1][0] - self.begin


def command(nodes: Nodes, out: Path, runs: int, steps: int) -> list[str]:
    """The command that trains the campaign."""
    words = [*TRAINING[:-1], str(EVERY), "--steps", str(steps), "--seeds", str(runs), "--out", str(out / "sea")]
    ray = ["--on", "ray", "--address", nodes.address, "--cpus-per-run", "1", "--max-crashes", "1000"]
    return [sys.executable, "-um", "action_balance", "train", *words, *ray]


def observe(words: list[str]) -> Iterator[Observed]:
    """Start a command; yields what was seen so far, every time that something happens or a moment has passed."""
    seen = Observed()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def read() -> None:
        for line in process.stdout or ():
            seen.lines.append((time.monotonic(), line.rstrip()))

    reader = threading.Thread(target=read)
    reader.start()
    while process.poll() is None:
        yield seen
        time.sleep(0.05)
    reader.join()
    if process.returncode:
        raise SystemExit("\n".join(line for _, line in seen.lines[-5:]))
    yield seen


def training_seconds(run: Path, skip: int = 1) -> float:
    """Seconds of all updates but the first, which is compiled; what was repeated is not counted."""
    rows = [json.loads(line) for line in (run / "timing.jsonl").read_text().splitlines()]
    per_update = rows[0]["steps"]
    seconds = [per_update / row["steps_per_second"] for row in rows[skip:]]
    return median(seconds) * len(rows)  # an update after a restart is compiled again


def measure_calm(nodes: Nodes, folder: Path, runs: int, steps: int) -> Settings:
    """What the simulation needs to know, from a campaign without kills."""
    *_, seen = observe(command(nodes, folder, runs, steps))
    starts, ends = {name: at for at, name in seen.times("starts")}, seen.times("finished")
    took = {name: at - starts[name] for at, name in ends}
    first, later = ([took[name] for _, name in part] for part in (ends[:WORKERS], ends[WORKERS:]))
    run = median(training_seconds(folder / name) for name in took)
    updates = len((folder / "sea-0" / "timing.jsonl").read_text().splitlines())
    # The time between two runs of a node includes what no line shows.
    spacing = (seen.duration - mean(first)) * WORKERS / (runs - WORKERS)
    return Settings(
        runs=runs,
        run=run,
        workers=WORKERS,
        life=math.inf,
        checkpoint=run * EVERY / updates,
        start=max(0.0, spacing - run),
        restart=max(0.0, mean(first) - median(later)),
        replacement=0.0,
    )


@dataclass
class Disturbed:
    """A campaign whose nodes were killed."""

    duration: float
    repeated: float
    interruptions: int
    lives: list[float]
    replacement: float
    """Median time from the end of a node until a run starts on the next one."""


def measure_disturbed(nodes: Nodes, folder: Path, calm: Settings, steps: int, lives: Iterator[float]) -> Disturbed:
    """Train a campaign, and kill each node at the end of its life."""
    used: list[float] = []
    kills: list[float] = []

    def live() -> float:
        used.append(next(lives))
        return used[-1]

    ends: list[float] | None = None
    for seen in observe(command(nodes, folder, calm.runs, steps)):
        if ends is None:
            if len(seen.times("starts")) >= WORKERS:
                ends = [seen.begin + live() for _ in range(WORKERS)]
            continue
        worker = int(np.argmin(ends))
        now = time.monotonic()
        if now >= ends[worker] and len(seen.times("finished")) < calm.runs:
            nodes.replace_at(worker)
            kills.append(now)
            ends[worker] = time.monotonic() + live()
    runs = [folder / f"sea-{seed}" for seed in range(calm.runs)]
    updates = len((runs[0] / "timing.jsonl").read_text().splitlines())
    again = sum(len(rows.read_bytes().splitlines()) for run in runs for rows in (run / "aside").rglob("metrics.jsonl"))
    lost = len(seen.times("its machine", "its process"))
    starts = [at for at, _ in seen.times("starts", "continues")]
    delays = [min(at for at in starts if at > kill) - kill for kill in kills if starts[-1] > kill]
    return Disturbed(seen.duration, again * calm.run / updates, lost, used, median(delays) if delays else 0.0)


def main() -> None:
    """Measure, simulate and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--life", type=float, default=60.0, help="mean life of a node in seconds")
    parser.add_argument("--campaigns", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    console = wide_console()
    shown = table(
        f"{options.runs} runs on {WORKERS} nodes that live for {options.life:g} s on average",
        ("campaign", "interruptions", "simulated", "seconds", "simulated", "repeated", "simulated"),
    )
    with cluster(WORKERS) as nodes, tempfile.TemporaryDirectory(prefix="preemption-") as name:
        calm = measure_calm(nodes, Path(name) / "calm", options.runs, options.steps)
        for place in range(options.campaigns):
            drawn = exponential_lives(options.life, np.random.default_rng(options.seed + place))
            found = measure_disturbed(nodes, Path(name) / str(place), calm, options.steps, drawn)
            settings = replace(calm, replacement=found.replacement)
            again = exponential_lives(options.life, np.random.default_rng(options.seed + place))
            expected = simulate(settings, again)
            shown.add_row(
                str(place + 1),
                *(str(found.interruptions), str(expected.interruptions)),
                *(f"{found.duration:.0f}", f"{expected.duration:.0f}"),
                *(f"{found.repeated:.1f}", f"{expected.repeated:.1f}"),
            )
    console.print(machine())
    console.print(
        f"measured without kills: a run trains for {calm.run:.1f} s, starts in {calm.start:.1f} s, and "
        f"{calm.restart:.1f} s more in a new process; a checkpoint every {calm.checkpoint:.1f} s"
    )
    console.print(f"a run starts {settings.replacement:.1f} s after a node was killed")
    console.print(shown)


if __name__ == "__main__":
    main()
