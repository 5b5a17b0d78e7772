"""How long a campaign takes on preemptible GPUs: ``python benchmarks/preemption.py``. A simulation; nothing is trained.

A campaign is a number of equal runs on a number of machines with one GPU each. A machine lives for a random time, which
is exponentially distributed, and is then taken away without notice; another replaces it after a delay. A run is handed
to the first machine that is free, in order; one that was interrupted goes to the end of the queue. It continues from
its last checkpoint, on any machine.

All times are in seconds. *GPU time* is the time that machines spend on runs: starting them, and training. A machine
that waits for work, or that has not been replaced yet, uses none. The *loss* to preemption is the GPU time beyond that
of a campaign without preemption. It has two parts: training that is done again, and starting again. The 95 % interval
contains the durations of 95 % of the simulated campaigns.

With the flags, a small campaign that was measured can be compared with its simulation:

    python benchmarks/preemption.py --runs 12 --run-seconds 20 --life 30 --checkpoint 2 --start 5 --workers 2
"""

import argparse
import heapq
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

#: A campaign whose GPU time is expected to exceed that without preemption by this factor is not simulated.
HOPELESS = 100.0

#: What can happen at the same moment, in this order: a run that is finished when its machine goes is finished.
FINISH, PREEMPT, REPLACE = range(3)


@dataclass(frozen=True)
class Settings:
    """A campaign."""

    runs: int = 90
    """Number of runs."""
    run: float = 3600.0
    """Training time of a run, without its start."""
    workers: int = 8
    """Number of machines with one GPU each."""
    life: float = 7200.0
    """Mean life of a machine, from its start, whether it works or waits; infinite without preemption."""
    checkpoint: float = 300.0
    """Training time between two checkpoints; infinite without checkpoints, when a run restarts from its beginning."""
    start: float = 120.0
    """GPU time from handing a run to a machine until it trains: starting the program, and compilation."""
    restart: float = 60.0
    """What is added to it for a run that was interrupted: waiting for its lock, and restoring its checkpoint."""
    replacement: float = 180.0
    """Time from the end of a machine until another one is ready in its place."""


@dataclass(frozen=True)
class Outcome:
    """What a campaign took."""

    duration: float
    """Time from its beginning until its last run is finished."""
    used: float
    """GPU time: of all attempts, finished or interrupted. Without preemption, it is ``runs * (start + run)``."""
    repeated: float
    """GPU time of training after the last checkpoint before an interruption, all of which is done again."""
    restarting: float
    """GPU time of starting runs, beyond one complete start of each run."""
    interruptions: int
    """How often a run was interrupted."""

    @property
    def lost(self) -> float:
        """GPU time lost to preemption: what is used beyond a campaign without preemption."""
        return self.repeated + self.restarting


def exponential_lives(mean: float, rng: np.random.Generator) -> Iterator[float]:
    """Lives of machines, without end.

    Args:
        mean: their mean; infinite for machines that are never taken away.
        rng: where they are drawn from.
    """
    if math.isinf(mean):
        yield from repeat(math.inf)
    while True:
        yield from rng.exponential(mean, 256).tolist()


@dataclass
class _Run:
    """A run on its way."""

    saved: float = 0.0
    """Training time up to its last checkpoint."""
    attempts: int = 0
    """How often it was started."""


@dataclass(frozen=True)
class _Attempt:
    """What a machine is doing."""

    number: int
    """Number of all attempts before it."""
    run: int
    began: float
    overhead: float
    """Time of its start, before it trains."""


def simulate(settings: Settings, lives: Iterator[float]) -> Outcome:
    """Simulate a campaign.

    Args:
        settings: of the campaign.
        lives: those of the machines, in the order in which the machines start.

    Returns:
        What it took.
    """
    runs, queue = [_Run() for _ in range(settings.runs)], deque(range(settings.runs))
    attempts: dict[int, _Attempt] = {}  # by worker
    idle = list(range(settings.workers))  # a heap: the first of them is handed the next run
    # Time, kind and worker of an event; of the end of a run, also the number of the attempt, as it may be interrupted.
    events = [(next(lives), PREEMPT, worker, 0) for worker in range(settings.workers)]
    heapq.heapify(events)
    now = used = starting = repeated = 0.0
    begun = finished = interruptions = 0
    while True:
        while idle and queue:
            worker, number = heapq.heappop(idle), queue.popleft()
            run = runs[number]
            overhead = settings.start + (settings.restart if run.attempts else 0.0)
            run.attempts += 1
            attempts[worker] = _Attempt(begun, number, now, overhead)
            heapq.heappush(events, (now + overhead + settings.run - run.saved, FINISH, worker, begun))
            begun += 1
        if finished == settings.runs:
            restarting = starting - settings.runs * settings.start
            return Outcome(now, used, repeated, restarting, interruptions)
        time, kind, worker, number = heapq.heappop(events)
        if kind == REPLACE:
            now = time
            heapq.heappush(idle, worker)
            heapq.heappush(events, (now + next(lives), PREEMPT, worker, 0))
            continue
        attempt = attempts.get(worker)
        if kind == FINISH and (attempt is None or attempt.number != number):
            continue  # it was interrupted
        now = time
        attempts.pop(worker, None)
        if attempt is not None:
            used += now - attempt.began
            starting += min(attempt.overhead, now - attempt.began)
        if kind == FINISH:
            finished += 1
            heapq.heappush(idle, worker)
            continue
        heapq.heappush(events, (now + settings.replacement, REPLACE, worker, 0))
        if attempt is None:
            idle.remove(worker)
            heapq.heapify(idle)
        else:
            interruptions += 1
            trained = max(0.0, now - attempt.began - attempt.overhead)
            kept = kept_by_checkpoints(trained, settings.checkpoint)
            repeated += trained - kept
            runs[attempt.run].saved += kept
            queue.append(attempt.run)


def kept_by_checkpoints(trained: float, interval: float) -> float:
    """Training time up to the last checkpoint of an attempt, which began with one.

    Args:
        trained: training time of the attempt.
        interval: training time between two checkpoints.
    """
    return 0.0 if math.isinf(interval) else min(trained, interval * math.floor(trained / interval + 1e-9))


def expected_used(settings: Settings) -> float:
    r"""The expected GPU time of a campaign, in closed form.

    Lives are exponential with the rate $\lambda$, so a machine that works has no age. A run is a sequence of segments,
    each of which ends with a checkpoint. A segment of length $c$ that follows on another takes $(1 - e^{-\lambda c}) /
    \lambda$ on the first attempt. With the probability $1 - e^{-\lambda c}$ it is interrupted, and takes another
    $(e^{\lambda (s + c)} - 1) / \lambda$ in attempts that each begin with a start of length $s$, by the renewal
    equation $R = (1 - e^{-\lambda (s + c)}) (1 / \lambda + R)$. The first segment follows on the first start of a run.

    Args:
        settings: of the campaign. The number of workers and the delay of replacements do not matter.

    Returns:
        The expectation of `Outcome.used`; infinite if it is too large for a number.
    """
    if math.isinf(settings.life):
        return settings.runs * (settings.start + settings.run)
    rate, total = 1 / settings.life, 0.0
    whole = math.floor(settings.run / settings.checkpoint + 1e-9)
    rest = settings.run - (whole * settings.checkpoint if whole else 0.0)
    segments = [settings.checkpoint] * whole + [rest] * (rest > 1e-9 * settings.run)
    try:
        for number, segment in enumerate(segments):
            first = segment if number else settings.start + segment
            again = math.expm1(rate * (settings.start + settings.restart + segment)) / rate
            total += -math.expm1(-rate * first) * (1 / rate + again)
    except OverflowError:
        return math.inf
    return settings.runs * total


def is_hopeless(settings: Settings) -> bool:
    """Whether a campaign is expected to take so long that simulating it makes no sense."""
    return expected_used(settings) > HOPELESS * settings.runs * (settings.start + settings.run)


def campaigns(settings: Settings, number: int, seed: int) -> list[Outcome]:
    """Simulate a campaign many times, with independent lives.

    Args:
        settings: of the campaign.
        number: how often.
        seed: of the random lives; all settings get the same sequence of numbers.

    Returns:
        The outcomes.
    """
    children = np.random.SeedSequence(seed).spawn(number)
    return [simulate(settings, exponential_lives(settings.life, np.random.default_rng(child))) for child in children]


def duration(outcomes: list[Outcome], scale: float) -> str:
    """The mean duration, and the interval that contains 95 % of the durations, in units of ``scale`` seconds."""
    durations = np.array([outcome.duration for outcome in outcomes]) / scale
    low, high = np.quantile(durations, (0.025, 0.975))
    return f"{durations.mean():,.1f} [{low:,.1f}, {high:,.1f}]"


def mean_lost(outcomes: list[Outcome], scale: float) -> str:
    """The mean loss, and its two parts, in units of ``scale`` seconds."""
    lost, repeated, restarting = (
        np.mean([getattr(outcome, name) for outcome in outcomes]) / scale for name in ("lost", "repeated", "restarting")
    )
    return f"{lost:,.1f} ({repeated:,.1f} + {restarting:,.1f})"


def row(settings: Settings, number: int, seed: int, scale: float) -> list[str]:
    """A row of the table.

    Args:
        settings: of the campaign.
        number: of simulated campaigns.
        seed: of the simulation.
        scale: seconds in a unit of the table.

    Returns:
        Its cells.
    """
    undisturbed = simulate(replace(settings, life=math.inf), repeat(math.inf))
    outcomes = campaigns(settings, number, seed)
    without = replace(settings, checkpoint=math.inf)
    restarted = [] if is_hopeless(without) else campaigns(without, number, seed)
    return [
        str(settings.workers),
        f"{undisturbed.duration / scale:,.1f}",
        duration(outcomes, scale),
        f"{np.mean([outcome.used for outcome in outcomes]) / scale:,.1f}",
        mean_lost(outcomes, scale),
        duration(restarted, scale) if restarted else "no end",
        mean_lost(restarted, scale) if restarted else "no end",
    ]


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, with all numbers aligned to the right."""
    lines = [header, ["---:"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: list[str] | None = None) -> None:
    """Simulate, and print a table."""
    default = Settings()
    parser = argparse.ArgumentParser(description="Simulate a campaign on preemptible GPUs. All times are in seconds.")
    parser.add_argument("--runs", type=int, default=default.runs, help="number of runs (default: %(default)s)")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8, 32], help="GPUs (default: 1 8 32)")
    parser.add_argument("--campaigns", type=int, default=2000, help="simulated campaigns (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    for name, value, text in (
        ("run-seconds", default.run, "training time of a run"),
        ("life", default.life, "mean life of a machine"),
        ("checkpoint", default.checkpoint, "time between two checkpoints"),
        ("start", default.start, "time to start a run, with compilation"),
    ):
        parser.add_argument(f"--{name}", type=float, default=value, help=f"{text} (default: %(default)g)")
    parser.add_argument("--restart", type=float, help="added after an interruption (default: half of --start)")
    parser.add_argument("--replacement", type=float, help="until a machine is replaced (default: 1.5 times --start)")
    flags = parser.parse_args(arguments)
    flags.restart = flags.start / 2 if flags.restart is None else flags.restart
    flags.replacement = 1.5 * flags.start if flags.replacement is None else flags.replacement
    if min(flags.runs, flags.campaigns, *flags.workers, flags.run_seconds, flags.life, flags.checkpoint) <= 0:
        parser.error("runs, campaigns, workers and the times of runs, lives and checkpoints must be above 0")
    if min(flags.start, flags.restart, flags.replacement) < 0:
        parser.error("--start, --restart and --replacement must be 0 or more")
    times = flags.life, flags.checkpoint, flags.start, flags.restart, flags.replacement
    settings = [Settings(flags.runs, flags.run_seconds, workers, *times) for workers in flags.workers]
    if is_hopeless(settings[0]):
        parser.error("almost every attempt is interrupted before its first checkpoint: shorten --checkpoint or --start")
    unit, scale = ("hours", 3600.0) if flags.run_seconds >= 600 else ("seconds", 1.0)
    header = ["GPUs", f"campaign {unit} without preemption", f"with preemption, mean [95 % of {flags.campaigns:,}]"]
    header += [f"GPU-{unit} used", "lost (repeated + restarting)", f"{unit} without checkpoints"]
    header += ["lost without checkpoints"]
    print(table(header, [row(one, flags.campaigns, flags.seed, scale) for one in settings]))
    expected = expected_used(settings[0]) - expected_used(replace(settings[0], life=math.inf))
    print(f"\nThe expected loss in closed form, for any number of GPUs, is {expected / scale:,.1f} GPU-{unit}.")


if __name__ == "__main__":
    main()
