"""Settings of the Atari study."""

from dataclasses import dataclass, field

from action_balance.config.train import TrainConfig
from action_balance.envs.atari.config import AtariConfig
from action_balance.envs.atari.games import games
from action_balance.errors import MAX
from action_balance.studies.atari.training import AtariTraining, run_name
from action_balance.studies.checks import MAX_SEEDS, check_count, check_names, check_seeds
from action_balance.studies.paper import TABLE_2, TABLE_2_RUNS

#: The methods that the paper compares.
COMPARED = ("rnd", "action-balance-rnd", "action-balance-rnd-channel")


@dataclass(frozen=True)
class AtariSettings:
    """Settings of ``reproduce atari``; the defaults are the paper's."""

    games: tuple[str, ...] = tuple(TABLE_2)
    """Games to train, by the emulator's names (default: the paper's six)."""
    methods: tuple[str, ...] = COMPARED
    """Methods to compare: rnd, action-balance-rnd, action-balance-rnd-channel."""
    seeds: int = TABLE_2_RUNS
    """Runs per method in each game, at most 10,000. Increase it later to add runs to a result."""
    seed: int = 0
    """Random seed of the first run; the others use the seeds that follow."""
    evaluate: int = 0
    """Games to play with each finished run of Montezuma's Revenge and Pitfall!, to count rooms; at most 128, 0 for
    none."""
    training: AtariTraining = field(default_factory=AtariTraining)

    def __post_init__(self) -> None:
        check_count("--evaluate", self.evaluate, 0, AtariConfig.episodes_at_once or MAX)
        check_seeds(self.seed, self.seeds, MAX_SEEDS)
        check_names("game", self.games, _known_games(self.games))
        check_names("method", self.methods, COMPARED)

    def plan(self) -> dict[str, TrainConfig]:
        runs = [
            self.training.run(game, method, seed)
            for seed in range(self.seed, self.seed + self.seeds)
            for game in self.games
            for method in self.methods
        ]
        return {run_name(config): config for config in runs}


def _known_games(chosen: tuple[str, ...]) -> list[str]:
    """The paper's games; all of the emulator's if others are chosen, so that reading results needs no emulator."""
    return list(TABLE_2 if set(chosen) <= set(TABLE_2) else games())
