"""Kill a campaign wherever it hurts: ``python benchmarks/faults.py [--runs 10] [--kills 100] [--steps N] [--seed N]``.

A Ray cluster of three nodes on this machine, two of which train, gets the real command ``train --seeds 10 --on ray``.
Meanwhile processes that train are killed or get SIGTERM, whole nodes are killed and replaced, the actor next to the
command is killed, and so is the command itself, which is started again as it was. In the end, every run must be
finished and equal to one that nobody disturbed, byte for byte: its metrics, and the arrays of its last checkpoint. No
kill may cost more than the updates since the last checkpoint.

The exit code is 1 if anything differs.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from chaos import arrays, newest

#: The training: checkpoints are so frequent that kills hit all phases of it.
EVERY = 10
TRAINING = ("deep-sea", "--size", "4", "--method", "rnd", "--checkpoint-every", str(EVERY))
#: What can be killed, and how often each is chosen.
KINDS = {"worker": 5, "notice": 3, "node": 3, "mailbox": 1}
#: Seconds between two kills.
PAUSE = (1.0, 5.0)
#: Seconds after which a campaign without progress counts as stuck.
STUCK = 300.0


class Command:
    """The command under test, which can be killed and started again."""

    def __init__(self, words: list[str], log: Path) -> None:
        self._words, self.log = words, log
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._words, stdout=log, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Nodes:
    """A cluster on this machine: a node for the command, and nodes that train one run at a time each."""

    def __init__(self, workers: int) -> None:
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": 2**27}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self._workers = [self._add() for _ in range(workers)]

    def _add(self) -> Any:
        return self.cluster.add_node(num_cpus=1, object_store_memory=2**27)

    def replace(self, place: int) -> None:
        """Kill one of the nodes that train, with everything on it, and start another in its place."""
        self.cluster.remove_node(self._workers[place], allow_graceful=False)
        self._workers[place] = self._add()


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


def strike(kind: str, nodes: Nodes, name: str, rng: Random) -> bool:
    """Do one thing that a campaign must survive; whether there was something to do it to."""
    if kind == "node":
        nodes.replace(rng.randrange(2))
        return True
    found = processes("Mailbox" if kind == "mailbox" else name)
    with contextlib.suppress(ProcessLookupError, IndexError):
        os.kill(rng.choice(sorted(found)), signal.SIGTERM if kind == "notice" else signal.SIGKILL)
        return True
    return False


def disturb(
    command: Command, nodes: Nodes, runs: list[Path], kills: int, rng: Random
) -> tuple[Counter[str], list[str]]:
    """Kill things while the command works, and wait for its end; what was done, and what is wrong."""
    done, wrong = Counter[str](), list[str]()
    drivers = {rng.randrange(kills) for _ in range(max(1, kills // 10))}
    best, progress = dict.fromkeys(runs, 0), time.monotonic()
    while command.process.poll() is None:
        time.sleep(rng.uniform(*PAUSE))
        for run in runs:
            now = newest(run)
            if now < best[run]:
                wrong.append(f"{run.name} went back from update {best[run]} to {now}")
            if now > best[run]:
                best[run], progress = now, time.monotonic()
        if time.monotonic() - progress > STUCK:
            command.kill()
            return done, [*wrong, f"no progress for {STUCK:.0f} s"]
        if done.total() in drivers and done.total() < kills:
            command.kill()
            command.start()
            done["command"] += 1
        elif done.total() < kills:
            kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
            done[kind] += strike(kind, nodes, runs[0].name.rpartition("-")[0], rng)
    return done, wrong


def differences(run: Path, reference: Path) -> Iterator[str]:
    """How a run differs from an undisturbed one, and whether too much was trained again."""
    if not (run / "metrics.jsonl").exists():
        yield f"{run.name} has no metrics"
        return
    if (run / "metrics.jsonl").read_bytes() != (reference / "metrics.jsonl").read_bytes():
        yield f"{run.name}: metrics.jsonl differs from that of an undisturbed run"
    last = f"checkpoints/{newest(reference):08d}/arrays.npz"
    if not (run / last).exists() or arrays(run / last) != arrays(reference / last):
        yield f"{run.name}: the last checkpoint differs from that of an undisturbed run"
    repeated = sum(len(rows.read_bytes().splitlines()) for rows in (run / "aside").rglob("metrics.jsonl"))
    if repeated > (limit := EVERY * len(list((run / "aside").glob("*")))):
        yield f"{run.name}: {repeated} updates were trained again, more than the {limit} between checkpoints"


def campaign(runs: int, kills: int, steps: int, seed: int, folder: Path) -> int:
    """One disturbed campaign; the exit code."""
    program = [sys.executable, "-m", "action_balance", "train", *TRAINING, "--steps", str(steps), "--seeds", str(runs)]
    began, nodes = time.monotonic(), Nodes(2)
    try:
        program += [
            "--on",
            "ray",
            "--address",
            str(nodes.cluster.address),
            "--cpus-per-run",
            "1",
            "--max-crashes",
            "1000",
        ]
        subprocess.run([*program, "--out", str(folder / "calm" / "sea")], check=True, stdout=subprocess.DEVNULL)
        calm, names = time.monotonic() - began, [f"sea-{number}" for number in range(runs)]
        command = Command([*program, "--out", str(folder / "sea")], folder / "log")
        done, wrong = disturb(command, nodes, [folder / name for name in names], kills, Random(seed))
    finally:
        nodes.cluster.shutdown()
    if command.process.returncode:
        log = command.log.read_text(errors="replace")
        wrong.append(f"the command ended with exit code {command.process.returncode}: {log[-2000:]}")
    wrong += [line for name in names for line in differences(folder / name, folder / "calm" / name)]
    print(f"{done.total()} faults ({', '.join(f'{name} {number}' for name, number in sorted(done.items()))})")
    if done.total() < kills:
        print(f"the campaign ended before all {kills} faults: more of them need more --steps")
    print(f"undisturbed {calm:.0f} s, with everything {time.monotonic() - began:.0f} s")
    print(*(f"WRONG: {line}" for line in wrong), f"{runs} runs, {len(wrong)} failures", sep="\n")
    return int(bool(wrong))


def main() -> None:
    """Run a campaign, disturb it, and compare its runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--steps", type=int, default=1_600_000, help="environment steps of each run")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        sys.exit(campaign(**vars(options), folder=Path(folder)))


if __name__ == "__main__":
    main()
