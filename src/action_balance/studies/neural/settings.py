"""Settings of the neural study."""

from dataclasses import dataclass, replace

from action_balance.config.methods import METHODS
from action_balance.config.presets import preset_config
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.studies.checks import check_names, check_seeds

#: The methods that the study compares.
COMPARED = ("random", "ppo", "rnd", "action-balance", "action-balance-rnd")

#: The worlds: the paper's open grid; its corridor, with rooms so large that chance rarely finds the treasure; the deep
#: sea. The last one is small: it compares what was learned with true counts.
WORLDS = {
    "open": env_config("open"),
    "corridor": env_config("corridor", size=25),
    "deep-sea": env_config("deep-sea", size=10),
    "counting": env_config("corridor", size=5),
}


@dataclass(frozen=True)
class NeuralSettings:
    """Settings of ``reproduce neural``. All other settings are those of the worlds' presets: what the tuning has
    chosen for each method, or for all methods together where one was not tuned."""

    seeds: int = 20
    """Agents per method in each world."""
    seed: int = 0
    """Random seed of the first agent; the same seed gives the same numbers on the same kind of CPU."""
    steps: int = 120_000
    """Environment steps per agent."""
    methods: tuple[str, ...] = COMPARED
    """Methods to compare."""
    studies: tuple[str, ...] = tuple(WORLDS)
    """Parts of the study to run: open, corridor, deep-sea, counting."""

    def __post_init__(self) -> None:
        check_seeds(self.seed, self.seeds)
        check_names("method", self.methods, METHODS)
        check_names("study", self.studies, WORLDS)
        for world in self.studies:
            self.runs(world)  # checks the other numbers

    def plan(self) -> dict[str, TrainConfig]:
        return {f"{world}-{method}": config for world in self.studies for method, config in self.runs(world).items()}

    def runs(self, world: str) -> dict[str, TrainConfig]:
        methods = ("action-balance-rnd",) if world == "counting" else self.methods
        return {method: self._run(world, method) for method in methods}

    def _run(self, world: str, method: str) -> TrainConfig:
        agent = replace(preset_config(WORLDS[world].preset, method), steps=self.steps)
        # A run takes about a minute, so that one checkpoint at its end is enough.
        return TrainConfig(WORLDS[world], agent, self.seed, self.seeds, checkpoint_every=agent.updates)
