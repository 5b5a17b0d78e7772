"""How the agents of studies on Atari are trained, and what the settings of such a study have in common."""

from dataclasses import dataclass, replace

from action_balance.config.agent import AgentConfig
from action_balance.config.network import Precision
from action_balance.config.presets import PRESETS
from action_balance.config.train import TrainConfig
from action_balance.core.options import Normalization
from action_balance.envs.atari.config import PREFIX, AtariConfig
from action_balance.errors import UserError
from action_balance.studies.checks import as_begun

#: The settings of the paper's runs.
PRESET = PRESETS["atari-paper"]


def method_name(config: AgentConfig) -> str:
    """``action-balance-rnd``, or ``action-balance-rnd-raw`` with another normalisation than L2."""
    default = not config.balances or config.normalize == "l2"
    return config.method if default else f"{config.method}-{config.normalize}"


def run_name(config: TrainConfig) -> str:
    """Folder of a run: game, method, seed."""
    return f"{config.env.short_name}-{method_name(config.agent)}-{config.seed}"


@dataclass(frozen=True)
class AtariTraining:
    """How each agent is trained; the defaults are the paper's. All other settings are those of ``atari-paper``."""

    steps: int = PRESET.steps  # environment steps per run; a step is four emulator frames
    envs: int = PRESET.envs  # games played in parallel
    warmup_rollouts: int = PRESET.warmup_rollouts
    """Rollouts of a random agent that initialise the observation statistics; use fewer for a quick look."""
    channels: int = PRESET.network.channels  # channels of the first convolution; fewer are faster without a GPU
    precision: Precision = PRESET.network.precision
    """Precision of the convolutions: float32, or bfloat16, which is faster on a GPU."""
    lag: int | None = PRESET.host.lag
    """0: emulators wait for each update. 1: they keep running with the previous policy during the update (default: 1 on
    a GPU, 0 on a CPU)."""

    def __post_init__(self) -> None:
        if self.envs % PRESET.algorithm.minibatches:
            raise UserError(f"--envs must be a multiple of {PRESET.algorithm.minibatches}, not {self.envs}")
        self.agent(PRESET.method)  # checks the other numbers

    def agent(self, method: str, normalize: Normalization = PRESET.normalize) -> AgentConfig:
        chosen = None if normalize == PRESET.normalize else normalize
        return replace(
            PRESET,
            method=method,
            steps=self.steps,
            envs=self.envs,
            exploration=replace(PRESET.exploration, warmup_rollouts=self.warmup_rollouts, normalize=chosen),
            network=replace(PRESET.network, channels=self.channels, precision=self.precision),
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
                warmup_rollouts=agent.warmup_rollouts,
                channels=agent.network.channels,
                precision=agent.network.precision,
                lag=self.lag if self.lag == agent.host.lag else None,
            )
        except UserError:  # e.g. 6 environments in 3 minibatches
            return self

    def makes(self, run: TrainConfig) -> bool:
        """Whether these settings train such a run, whatever its lag."""
        ours = replace(self, lag=None).run(run.env.short_name, run.agent.method, run.seed, run.agent.normalize)
        return run == as_begun(ours, run.agent.host)

    def run(self, game: str, method: str, seed: int, normalize: Normalization = "l2") -> TrainConfig:
        return TrainConfig(AtariConfig(f"{PREFIX}{game}"), self.agent(method, normalize), seed)
