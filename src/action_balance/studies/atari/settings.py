"""Settings of the Atari study, and how its agents are trained."""

from dataclasses import dataclass, field, replace

from action_balance.config.agent import AgentConfig, Precision
from action_balance.config.presets import PRESETS
from action_balance.config.train import TrainConfig
from action_balance.core.options import Normalization
from action_balance.envs.atari.config import PREFIX, AtariConfig
from action_balance.envs.atari.games import games
from action_balance.errors import UserError
from action_balance.studies.checks import check_names, check_seeds
from action_balance.studies.paper import TABLE_2, TABLE_2_RUNS
from action_balance.studies.plan import as_begun, run_name

#: The methods that the paper compares.
COMPARED = ("rnd", "action-balance-rnd", "action-balance-rnd-channel")

#: The settings of the paper's runs.
PRESET = PRESETS["atari-paper"]


@dataclass(frozen=True)
class AtariTraining:
    """How each agent is trained; the defaults are the paper's. All other settings are those of ``atari-paper``."""

    steps: int = PRESET.steps
    """Environment steps of each run; a step is four emulator frames."""
    envs: int = PRESET.envs
    """Games played in parallel."""
    warmup_rollouts: int = PRESET.bonus.warmup_rollouts
    """Rollouts of a random agent that initialise the observation statistics; use fewer for a quick look."""
    channels: int = PRESET.image.channels
    """Channels of the first convolution; fewer are faster without a GPU."""
    precision: Precision = PRESET.image.precision
    """Precision of the convolutions: float32, or bfloat16, which is faster on a GPU."""
    lag: int | None = PRESET.host.lag
    """0: emulators wait for each update. 1: they continue with the previous policy; default on a GPU."""

    def __post_init__(self) -> None:
        if self.envs % PRESET.ppo.minibatches:
            raise UserError(f"--envs must be a multiple of {PRESET.ppo.minibatches}, not {self.envs}")
        self.agent(PRESET.method)  # checks the other numbers

    def agent(self, method: str, normalize: Normalization = PRESET.bonus.normalize) -> AgentConfig:
        """Config of an agent."""
        return replace(
            PRESET,
            method=method,
            steps=self.steps,
            envs=self.envs,
            bonus=replace(PRESET.bonus, warmup_rollouts=self.warmup_rollouts, normalize=normalize),
            image=replace(PRESET.image, channels=self.channels, precision=self.precision),
            host=replace(PRESET.host, lag=self.lag),
        )

    def as_made(self, agent: AgentConfig) -> "AtariTraining":
        """These settings with the values of an agent where they differ; unchanged if no settings give that agent.

        A run does not record whether its lag was chosen by the user: it counts as chosen if it is chosen here, too.
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
        """Whether these settings train such a run, whatever its lag."""
        ours = replace(self, lag=None).run(run.env.short_name, run.agent.method, run.seed, run.agent.bonus.normalize)
        return run == as_begun(ours, run.agent.host)

    def run(self, game: str, method: str, seed: int, normalize: Normalization = "l2") -> TrainConfig:
        """Config of a run with one seed."""
        return TrainConfig(AtariConfig(f"{PREFIX}{game}"), self.agent(method, normalize), seed)


@dataclass(frozen=True)
class AtariSettings:
    """Settings of ``reproduce atari``; the defaults are the paper's."""

    games: tuple[str, ...] = tuple(TABLE_2)
    """Games by the emulator's names; default: the paper's six."""
    methods: tuple[str, ...] = COMPARED
    """Methods to compare: rnd, action-balance-rnd, action-balance-rnd-channel."""
    seeds: int = TABLE_2_RUNS
    """Runs of each method in each game. Increase it later to add runs to a result."""
    seed: int = 0
    """Seed of the first run; the others follow."""
    training: AtariTraining = field(default_factory=AtariTraining)

    def __post_init__(self) -> None:
        check_seeds(self.seed, self.seeds)
        check_names("game", self.games, _known_games(self.games))
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


def _known_games(asked: tuple[str, ...]) -> list[str]:
    """The paper's games; all of the emulator's if others are asked for, so that reading results needs no emulator."""
    return list(TABLE_2 if set(asked) <= set(TABLE_2) else games())
