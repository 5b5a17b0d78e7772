"""The paper's Atari study (its Section IV-C): returns of three methods in six games (Figure 8, Table II).

Axes: R runs, T updates that all of them have.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from action_balance.config.agent import Config, Precision
from action_balance.config.presets import PRESETS
from action_balance.config.train import TrainConfig
from action_balance.core.balance import Normalization
from action_balance.envs.atari.config import PREFIX, AtariConfig
from action_balance.envs.atari.games import PAPER_GAMES, games
from action_balance.errors import UserError
from action_balance.studies import statistics
from action_balance.studies.campaign import as_begun
from action_balance.studies.grid.settings import check_names, check_seeds
from action_balance.studies.records import Record, run_name
from action_balance.studies.statistics import Agreement, Estimate

#: What the paper compares.
COMPARED = ("rnd", "action-balance-rnd", "action-balance-rnd-channel")

#: Table II of the paper, "Final episodic return": means of five runs. It does not say over which episodes.
TABLE_2: dict[str, dict[str, float]] = {
    "montezuma_revenge": {"rnd": 3812, "action-balance-rnd": 3762, "action-balance-rnd-channel": 4864},
    "gravitar": {"rnd": 1349, "action-balance-rnd": 1177, "action-balance-rnd-channel": 1434},
    "pitfall": {"rnd": 0, "action-balance-rnd": 0, "action-balance-rnd-channel": -1},
    "private_eye": {"rnd": 59, "action-balance-rnd": 30, "action-balance-rnd-channel": 57},
    "solaris": {"rnd": 1122, "action-balance-rnd": 1051, "action-balance-rnd-channel": 1150},
    "venture": {"rnd": 1506, "action-balance-rnd": 1564, "action-balance-rnd-channel": 1491},
}

#: Runs behind each of its cells ("averaged by 5 runs").
TABLE_2_RUNS = 5

#: The settings of the paper's runs.
PRESET = PRESETS["atari-paper"]


@dataclass(frozen=True)
class AtariTraining:
    """How each agent is trained; the defaults are the paper's. All else is as in the preset ``atari-paper``."""

    steps: int = PRESET.steps
    """Environment steps of each run; the emulator makes four frames in one."""
    envs: int = PRESET.envs
    """Games that are played together."""
    warmup_rollouts: int = PRESET.bonus.warmup_rollouts
    """Rollouts of a random agent that begin the statistics of observations; fewer for a quick look."""
    channels: int = PRESET.image.channels
    """Channels of the first convolution; fewer are faster without a GPU."""
    precision: Precision = PRESET.image.precision
    """What convolutions are computed in: float32, or bfloat16, which is faster on a GPU."""
    lag: int | None = PRESET.host.lag
    """0: emulators wait for each update. 1: they go on meanwhile, with the policy before it; usual on a GPU."""

    def __post_init__(self) -> None:
        if self.envs % PRESET.ppo.minibatches:
            raise UserError(f"--envs must be a multiple of {PRESET.ppo.minibatches}, not {self.envs}")
        self.agent(PRESET.method)  # which checks the other numbers

    def agent(self, method: str, normalize: Normalization = PRESET.bonus.normalize) -> Config:
        """The config of an agent."""
        return replace(
            PRESET,
            method=method,
            steps=self.steps,
            envs=self.envs,
            bonus=replace(PRESET.bonus, warmup_rollouts=self.warmup_rollouts, normalize=normalize),
            image=replace(PRESET.image, channels=self.channels, precision=self.precision),
            host=replace(PRESET.host, lag=self.lag),
        )

    def as_made(self, agent: Config) -> "AtariTraining":
        """What trains agents like this one, as far as it can be told in these settings, and otherwise as it is here.

        A run does not tell whether its lag was asked for: it stays asked for where it is asked for here and the same.
        """
        try:
            return replace(
                self,
                steps=agent.steps,
                envs=agent.envs,
                warmup_rollouts=agent.bonus.warmup_rollouts,
                channels=agent.image.channels,
                precision=agent.image.precision,
                lag=self.lag if self.lag == agent.host.lag else None,
            )
        except UserError:  # e.g. 6 environments in 3 minibatches
            return self

    def makes(self, run: TrainConfig) -> bool:
        """Whether a run that is there is one that would be trained, whatever its lag."""
        ours = replace(self, lag=None).run(run.env.short_name, run.agent.method, run.seed, run.agent.bonus.normalize)
        return run == as_begun(ours, run.agent.host)

    def run(self, game: str, method: str, seed: int, normalize: Normalization = "l2") -> TrainConfig:
        """A run of one seed."""
        return TrainConfig(AtariConfig(f"{PREFIX}{game}"), self.agent(method, normalize), seed)


@dataclass(frozen=True)
class AtariSettings:
    """Settings of ``reproduce atari``; the defaults are the paper's."""

    games: tuple[str, ...] = tuple(TABLE_2)
    """Which games, by the emulator's names; usual: the paper's six."""
    methods: tuple[str, ...] = COMPARED
    """Which methods to compare: rnd, action-balance-rnd, action-balance-rnd-channel."""
    seeds: int = TABLE_2_RUNS
    """Runs of each method in each game. More can be asked for later: what is there is kept."""
    seed: int = 0
    """Seed of the first run; the others follow."""
    training: AtariTraining = field(default_factory=AtariTraining)

    def __post_init__(self) -> None:
        check_seeds(self.seed, self.seeds)
        # The emulator is asked only about games that are not the paper's: it need not be there to read a result.
        check_names("game", self.games, PAPER_GAMES if set(self.games) <= set(PAPER_GAMES) else games())
        check_names("method", self.methods, COMPARED)

    def plan(self) -> dict[str, TrainConfig]:
        """The runs by name, in order: all games and methods with the first seed, then with the next."""
        runs = [
            self.training.run(game, method, seed)
            for seed in range(self.seed, self.seed + self.seeds)
            for game in self.games
            for method in self.methods
        ]
        return {run_name(config): config for config in runs}


@dataclass(frozen=True)
class Curve:
    """Mean over runs after each update in which all of them know a return."""

    steps: np.ndarray  # (T,), environment steps of each run
    mean: np.ndarray  # (T,)
    low: np.ndarray  # (T,), of Student's 95 % interval; nan with one run
    high: np.ndarray  # (T,)


@dataclass(frozen=True)
class Cell:
    """The runs of one method in one game."""

    game: str
    method: str
    runs: tuple[Record, ...]

    @property
    def finished(self) -> tuple[Record, ...]:
        """Those that made all their steps."""
        return tuple(run for run in self.runs if run.finished)

    @property
    def final_returns(self) -> np.ndarray:
        """Of the finished runs in which an episode has ended, (R,)."""
        returns = np.array([run.final_return for run in self.finished])
        return returns[np.isfinite(returns)]

    @property
    def final(self) -> Estimate | None:
        """Mean final return of the finished runs; None without any."""
        return statistics.mean(self.final_returns) if len(self.final_returns) else None

    @property
    def under_way(self) -> tuple[Record, ...]:
        """The unfinished runs in which an episode has ended; all unfinished ones where none has."""
        unfinished = tuple(run for run in self.runs if not run.finished)
        return tuple(run for run in unfinished if math.isfinite(run.final_return)) or unfinished

    @property
    def so_far(self) -> float:
        """Mean over the runs under way of their returns as they now are; nan without any."""
        return float(np.mean([run.final_return for run in self.under_way])) if self.under_way else math.nan

    @property
    def so_far_steps(self) -> tuple[int, int] | None:
        """Fewest and most environment steps of those runs; None without any."""
        steps = [run.steps_done for run in self.under_way]
        return (min(steps), max(steps)) if steps else None

    @property
    def fewest_episodes(self) -> int | None:
        """Of a run behind the final return, or else the return so far, that has any; None without one."""
        counts = [int(run.episodes.sum()) for run in self.finished or self.under_way]
        return min((count for count in counts if count), default=None)

    @property
    def curve(self) -> Curve:
        """Of the finished runs; where none is, of all as far as all of them go."""
        return mean_curve(self.finished or self.runs)

    def agreement(self) -> Agreement | None:
        """Whether ours and the paper's mean differ by no more than the noise of both; None where that is unknown."""
        published = TABLE_2.get(self.game, {}).get(self.method)
        if published is None or len(self.final_returns) < 2 or not as_in_paper(self.runs[0].config.agent):
            return None
        if not self.final_returns.std():
            return None  # equal returns, as of runs that never scored, do not say how large the noise is
        return statistics.agreement(self.final_returns, published, TABLE_2_RUNS)


def mean_curve(runs: Sequence[Record]) -> Curve:
    """The learning curves of runs together."""
    common = min(len(run.steps) for run in runs)
    values = np.stack([run.curve[:common] for run in runs])  # (R, T)
    known = np.isfinite(values).all(axis=0)
    values = values[:, known]
    mean, half = values.mean(axis=0), statistics.half_width(values)
    return Curve(runs[0].steps[:common][known], mean, mean - half, mean + half)


def as_in_paper(agent: Config) -> bool:
    """Whether an agent is trained as long and with as much as the paper's, so that returns can be compared."""
    return replace(
        agent, method=PRESET.method, bonus=replace(agent.bonus, normalize="l2"), host=PRESET.host
    ) == replace(PRESET, image=replace(PRESET.image, precision=agent.image.precision))


def cells(records: Iterable[Record]) -> list[Cell]:
    """Runs by game and method: the paper's games in its order, then others; methods in its order."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record.game, record.method), []).append(record)
    order = [*TABLE_2, *sorted({game for game, _ in found} - set(TABLE_2))]
    methods = [*COMPARED, *sorted({method for _, method in found} - set(COMPARED))]
    return [
        Cell(game, method, tuple(sorted(found[game, method], key=lambda run: run.config.seed)))
        for game in order
        for method in methods
        if (game, method) in found
    ]


def difference(ours: Cell, other: Cell) -> Estimate | None:
    """Final return of one method less that of another in the same game; None where one has no finished run."""
    if not len(ours.final_returns) or not len(other.final_returns):
        return None
    return statistics.difference(ours.final_returns, other.final_returns)
