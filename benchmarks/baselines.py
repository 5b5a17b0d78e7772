"""PPO or PQN beside Stable-Baselines3's PPO or DQN: ``python benchmarks/baselines.py [--algorithm pqn] [--continuous]
[--quick] [--seeds N] [--env ID ...] [--out PATH]``.

Every agent is trained in a process of its own, one after the other, with its default settings unless it is said:

- *ours* ``action-balance train gym:ID --method METHOD``, with ``ppo`` and ``action-balance-rnd``; with ``--algorithm
  pqn``, with ``pqn``; in tasks with continuous actions, with ``ppo`` and ``rnd``, the default of ``train``;
- *Stable-Baselines3*: its PPO with its defaults, 8 environments x 128 steps and 10 epochs, in tasks with continuous
  actions also with its ``VecNormalize``; or its DQN with what the RL Zoo has found for each task;
- *RLeXplore*, with ``--rllte PYTHON``: PPO with RND of rllte-core, if that interpreter can import it.

What is measured: the mean return of the last 100 training episodes (of the last updates or rollouts with at least that
many), and wall-clock and CPU seconds of the whole process, from its start to its end, with imports and compilation.
Means over seeds have 95 % bootstrap intervals. Rows are added to ``runs.csv``, and those that it has are not measured
again.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from common import machine, table, wide_console
from rich.console import Console

from action_balance.config.methods import METHODS
from action_balance.studies import statistics

ENVIRONMENTS = ("CartPole-v1", "Acrobot-v1", "LunarLander-v3", "MountainCar-v0", "Taxi-v4")
#: Tasks with continuous actions; the last two need MuJoCo, ``pip install gymnasium[mujoco]``.
CONTINUOUS = (
    *("Pendulum-v1", "MountainCarContinuous-v0", "LunarLanderContinuous-v3"),
    *("HalfCheetah-v5", "Hopper-v5"),
)
SB3, RLLTE = "stable-baselines3", "rlexplore"
#: Our methods by algorithm, and those of the others.
OURS = {"ppo": ("ppo", "action-balance-rnd"), "pqn": ("pqn",)}
SB3_OF = {"ppo": SB3, "pqn": f"{SB3}-dqn"}
OF_CONTINUOUS = (SB3, f"{SB3}-normalized", "ppo", "rnd")
#: Episodes that a return is the mean of.
EPISODES = 100
#: Environments that step in parallel, and steps of each in a rollout, of all agents.
ENVS, ROLLOUT_STEPS = 8, 128


@dataclass(frozen=True)
class Row:
    """One training."""

    environment: str
    agent: str
    seed: int
    steps: int
    episode_return: float
    """Mean of the last 100 episodes."""
    episodes: int
    """Episodes of the whole training."""
    wall_seconds: float
    cpu_seconds: float

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What was trained."""
        return self.environment, self.agent, self.seed, self.steps


def last_episodes(groups: Sequence[tuple[int, float]], count: int = EPISODES) -> float:
    """The mean return of the last episodes."""
    number, total = 0, 0.0
    for episodes, mean in reversed(groups):
        if number >= count:
            break
        if episodes:
            number, total = number + episodes, total + episodes * mean
    return total / number if number else float("nan")


def run_process(command: Sequence[str], read: Callable[[str], tuple[float, int]]) -> tuple[float, int, float, float]:
    """Run a command to its end."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "ACTION_BALANCE_CACHE": "off"},
        )  # every process compiles
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{text}")
    return *read(text), wall, usage.ru_utime + usage.ru_stime


def ours(environment: str, method: str, seed: int, steps: int) -> tuple[float, int, float, float]:
    """Train our agent, as on the command line."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        words = ("train", f"gym:{environment}", "--method", method, "--steps", str(steps), "--seed", str(seed))

        def read(_: str) -> tuple[float, int]:
            rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
            groups = [(row["episodes"], row["episode_return"]) for row in rows]
            return last_episodes(groups), sum(number for number, _ in groups)

        return run_process([sys.executable, "-m", "action_balance", *words, "--out", str(out)], read)


def peer(python: str, name: str, environment: str, seed: int, steps: int) -> tuple[float, int, float, float]:
    """Train an agent of another library, in this file."""

    def read(text: str) -> tuple[float, int]:
        groups = json.loads(text.splitlines()[-1])
        return last_episodes(groups), sum(number for number, _ in groups)

    child = Path(__file__).with_name("baseline_peers.py")
    return run_process([python, str(child), name, environment, str(seed), str(steps)], read)


def measure(environment: str, agent: str, seed: int, steps: int, rllte: str) -> Row:
    """Train one agent."""
    if agent in METHODS:
        found = ours(environment, agent, seed, steps)
    else:
        found = peer(rllte if agent == RLLTE else sys.executable, agent, environment, seed, steps)
    return Row(environment, agent, seed, steps, *found)


def read_rows(file: Path) -> list[Row]:
    """The rows of a file; none if it does not exist."""
    if not file.exists():
        return []
    kinds = get_type_hints(Row)
    with file.open(newline="") as opened:
        return [Row(**{name: kinds[name](value) for name, value in row.items()}) for row in csv.DictReader(opened)]


def append_row(file: Path, row: Row) -> None:
    """Add a row to a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    is_new = not file.exists()
    with file.open("a", newline="") as opened:
        writer = csv.DictWriter(opened, [one.name for one in fields(Row)], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow({name: round(v, 3) if isinstance(v, float) else v for name, v in asdict(row).items()})


def summary(rows: Iterable[Row], agents: Sequence[str], steps: int) -> Iterator[tuple[str, ...]]:
    """Lines of the table: environment, agent, seeds, return with its interval, wall-clock and CPU seconds."""
    rows = [row for row in rows if row.steps == steps]
    for environment in dict.fromkeys(row.environment for row in rows):
        for agent in agents:
            mine = [row for row in rows if (row.environment, row.agent) == (environment, agent)]
            if not mine:
                continue
            found = statistics.bootstrap_mean(np.array([row.episode_return for row in mine]))
            wall, cpu = (np.median([getattr(row, name) for row in mine]) for name in ("wall_seconds", "cpu_seconds"))
            interval = f" [{found.low:.1f}, {found.high:.1f}]" if np.isfinite(found.low) else ""
            yield environment, agent, str(len(mine)), f"{found.value:.1f}{interval}", f"{wall:.1f}", f"{cpu:.1f}"


def show(rows: Iterable[Row], agents: Sequence[str], steps: int, console: Console) -> None:
    """Print the table."""
    columns = ("environment", "agent", "seeds", "return of the last 100 episodes", "wall-clock s", "CPU s")
    shown = table(f"{steps:,} steps; medians of the seconds of a whole process", columns)
    for line in summary(rows, agents, steps):
        shown.add_row(*line)
    console.print(shown)
    console.print(machine())


def arguments() -> Any:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed of CartPole with 10,000 steps")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--env", nargs="+", metavar="ID", help="default: those of the kind of actions")
    parser.add_argument("--continuous", action="store_true", help="tasks with continuous actions")
    parser.add_argument("--algorithm", default="ppo", choices=list(OURS))
    parser.add_argument("--agents", nargs="+", metavar="NAME", help="default: those of the algorithm")
    parser.add_argument("--rllte", default="", metavar="PYTHON", help="an interpreter that can import rllte-core")
    parser.add_argument("--out", type=Path, default=None, help="folder of runs.csv (default: build/baselines)")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.seeds, chosen.steps, chosen.env = 1, 10_000, ["CartPole-v1"]
    chosen.env = chosen.env or list(CONTINUOUS if chosen.continuous else ENVIRONMENTS)
    chosen.agents = chosen.agents or (
        list(OF_CONTINUOUS) if chosen.continuous else [SB3_OF[chosen.algorithm], *OURS[chosen.algorithm]]
    )
    if chosen.rllte and RLLTE not in chosen.agents:
        chosen.agents.append(RLLTE)
    return chosen


def main() -> None:
    """Train what is missing, and print the table."""
    chosen, console = arguments(), wide_console()
    file = (chosen.out or Path("build") / "baselines") / "runs.csv"
    done = {row.key for row in read_rows(file)}
    for seed in range(chosen.seeds):
        for environment in chosen.env:
            for agent in chosen.agents:  # side by side: other load on the machine affects all of them
                if (environment, agent, seed, chosen.steps) not in done:
                    row = measure(environment, agent, seed, chosen.steps, chosen.rllte)
                    append_row(file, row)
                    console.print(f"{agent}, {environment}, seed {seed}: return {row.episode_return:.1f}, "
                                  f"{row.wall_seconds:.1f} s, {row.cpu_seconds:.1f} CPU-s")  # fmt: skip
    show(read_rows(file), chosen.agents, chosen.steps, console)


if __name__ == "__main__":
    main()
