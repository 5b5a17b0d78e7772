"""Kill a campaign wherever it hurts: ``python benchmarks/faults.py [--runs 10] [--kills 100] [--steps N] [--seed N]``.

A Ray cluster of three nodes on this machine, two of which train, gets the real command ``train --seeds 10 --on ray``.
Meanwhile processes that train are killed or get SIGTERM, whole nodes are killed and replaced, the actor next to the
command is killed, and so is the command itself, which is started again as it was. In the end, every run must be
finished and equal to one that nobody disturbed, byte for byte: its metrics, and the arrays of its last checkpoint. No
kill may cost more than the updates since the last checkpoint.

The exit code is 1 if anything differs.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign.kinds.kills import arrays

#: The training: checkpoints are so frequent that kills hit all phases of it.
EVERY = 10
TRAINING = ("deep-sea", "--size", "4", "--method", "rnd", "--checkpoint-every", str(EVERY))
#: What can be killed, and how often each is chosen.
KINDS = {"worker": 5, "notice": 3, "node": 3, "mailbox": 1}
#: Seconds between two kills.
PAUSE = (1.0, 5.0)
#: Seconds after which a campaign without progress counts as stuck.
STUCK = 300.0


@dataclass
class Faults:
    """What was done, and what is wrong."""

    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Command:
    """The command under test, which can be killed and started again."""

    def __init__(self, words: list[str], log: Path) -> None:
        """Nothing is started yet."""
        self._words, self._log = words, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; its output is appended to the log."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._words, stdout=log, stderr=subprocess.STDOUT)

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll() if self._process else None

    def kill(self) -> None:
        """Kill it, so that it can write nothing more."""
        if self._process:
            self._process.kill()
            self._process.wait()

    @property
    def output(self) -> str:
        """Everything that it has printed."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""


class Nodes:
    """A cluster on this machine: a node for the command, and nodes that train one run at a time each."""

    def __init__(self, workers: int) -> None:
        """Start it."""
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 2**27},
        )
        self._workers: list[Any] = []
        for _ in range(workers):
            self.add()

    @property
    def address(self) -> str:
        """For ``--address``."""
        return str(self._cluster.address)

    def add(self) -> None:
        """Start a node."""
        self._workers.append(self._cluster.add_node(num_cpus=1, object_store_memory=2**27))

    def replace(self, rng: random.Random) -> None:
        """Kill a node with everything on it, and start another."""
        self.replace_at(rng.randrange(len(self._workers)))

    def replace_at(self, place: int) -> None:
        """Kill one of the nodes that train, and start another in its place."""
        self._cluster.remove_node(self._workers[place], allow_graceful=False)
        self.add()
        self._workers[place] = self._workers.pop()

    def stop(self) -> None:
        """End all processes."""
        self._cluster.shutdown()


def processes(name: str) -> list[int]:
    """The processes of Ray whose title begins with a name."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            title = (path / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if title.startswith(f"ray::{name}"):
            found.append(int(path.name))
    return found


def end(process: int, number: signal.Signals) -> bool:
    """Send a signal; whether the process was still there."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def cluster(workers: int) -> Iterator[Nodes]:
    """A cluster that ends with the body."""
    nodes = Nodes(workers)
    try:
        yield nodes
    finally:
        nodes.stop()


def strike(kind: str, nodes: Nodes, name: str, rng: random.Random) -> bool:
    """Do one thing that a campaign must survive; whether there was something to do it to."""
    if kind == "node":
        nodes.replace(rng)
        return True
    found = processes("Mailbox" if kind == "mailbox" else name)
    number = signal.SIGTERM if kind == "notice" else signal.SIGKILL
    return bool(found) and end(rng.choice(sorted(found)), number)


def saved(folder: Path) -> int:
    """The newest checkpoint of a run; 0 without one."""
    names = [path.name for path in (folder / "checkpoints").glob("*") if path.name.isdigit()]
    return max(map(int, names), default=0)


def disturb(
    command: Command, nodes: Nodes, runs: list[Path], kills: int, driver_kills: int, rng: random.Random, faults: Faults
) -> None:
    """Kill things while the command works, and wait for its end."""
    drivers = sorted(rng.sample(range(1, kills + 1), driver_kills))
    command.start()
    best = dict.fromkeys(runs, 0)
    progress, total = time.monotonic(), 0
    while command.code is None:
        time.sleep(rng.uniform(*PAUSE))
        for run in runs:
            now = saved(run)
            if now < best[run]:
                faults.wrong.append(f"{run.name} went back from update {best[run]} to {now}")
            best[run] = max(best[run], now)
        if sum(best.values()) > total:
            progress, total = time.monotonic(), sum(best.values())
        if time.monotonic() - progress > STUCK:
            faults.wrong.append(f"no progress for {STUCK:.0f} s")
            command.kill()
            return
        done = sum(faults.done.values())
        if done >= kills or command.code is not None:
            continue
        if drivers and done + 1 >= drivers[0]:
            drivers.pop(0)
            command.kill()
            command.start()
            faults.done["command"] += 1
            continue
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        if strike(kind, nodes, runs[0].name.rpartition("-")[0], rng):
            faults.done[kind] += 1


def compare(runs: list[Path], references: list[Path], faults: Faults) -> None:
    """Compare runs with undisturbed ones."""
    for run, reference in zip(runs, references, strict=True):
        if not (run / "metrics.jsonl").exists():
            faults.wrong.append(f"{run.name} has no metrics")
            continue
        if (run / "metrics.jsonl").read_bytes() != (reference / "metrics.jsonl").read_bytes():
            faults.wrong.append(f"{run.name}: metrics.jsonl differs from an undisturbed run")
        last = f"checkpoints/{saved(reference):08d}/arrays.npz"
        if not (run / last).exists() or arrays(run / last) != arrays(reference / last):
            faults.wrong.append(f"{run.name}: the arrays of the last checkpoint differ from an undisturbed run")
        lost = sum(len(rows.read_bytes().splitlines()) for rows in (run / "aside").rglob("metrics.jsonl"))
        starts = len(list((run / "aside").glob("*"))) if (run / "aside").exists() else 0
        if lost > starts * EVERY:
            faults.wrong.append(f"{run.name}: {lost} updates were repeated after {starts} kills, {EVERY} each at most")


def main() -> None:
    """Run a campaign, disturb it, and compare its runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--driver-kills", type=int, default=None, help="how many of them hit the command")
    parser.add_argument("--steps", type=int, default=1_600_000, help="environment steps of each run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None, help="folder for the runs, which is kept")
    options = parser.parse_args()
    os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    folder = options.keep or Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        sys.exit(campaign(options, folder))
    finally:
        if options.keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def campaign(options: argparse.Namespace, folder: Path) -> int:
    """One disturbed campaign; the exit code."""
    program = [sys.executable, "-m", "action_balance", "train", *TRAINING, "--steps", str(options.steps)]
    began = time.monotonic()
    with cluster(2) as nodes:
        on_ray = ["--on", "ray", "--address", nodes.address, "--cpus-per-run", "1", "--max-crashes", "1000"]
        seeds = ["--seeds", str(options.runs)]
        subprocess.run(
            [*program, *seeds, *on_ray, "--out", str(folder / "calm" / "sea")], check=True, stdout=subprocess.DEVNULL
        )
        calm = time.monotonic() - began
        faults, rng = Faults(), random.Random(options.seed)
        command = Command([*program, *seeds, *on_ray, "--out", str(folder / "sea")], folder / "log")
        runs = [folder / f"sea-{seed}" for seed in range(options.runs)]
        drivers = max(1, options.kills // 10) if options.driver_kills is None else options.driver_kills
        disturb(command, nodes, runs, options.kills, drivers, rng, faults)
    if command.code != 0:
        faults.wrong.append(f"the command ended with exit code {command.code}: {command.output[-2000:]}")
    compare(runs, [folder / "calm" / run.name for run in runs], faults)
    struck = ", ".join(f"{name} {number}" for name, number in sorted(faults.done.items()))
    print(f"{sum(faults.done.values())} faults ({struck}) in a campaign of {options.runs} runs")
    if sum(faults.done.values()) < options.kills:
        print(f"the campaign ended before all {options.kills} faults: more of them need more --steps")
    print(f"undisturbed {calm:.0f} s, with everything {time.monotonic() - began:.0f} s")
    for line in faults.wrong:
        print(f"WRONG: {line}")
    print(
        f"{options.runs - len(faults.wrong)} passed, {len(faults.wrong)} failed"
        if faults.wrong
        else "all runs are equal"
    )
    return 1 if faults.wrong else 0


if __name__ == "__main__":
    main()
