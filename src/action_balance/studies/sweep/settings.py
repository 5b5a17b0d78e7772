"""Settings of a sweep. Nothing here imports JAX, Ray or Optuna."""

from dataclasses import dataclass, field, replace
from functools import cached_property

from action_balance.config.fields import Settings, count
from action_balance.config.stopping import METRICS
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError, check_name
from action_balance.files import Data
from action_balance.studies.sweep.space import Space

#: Parts that a training is divided into, and those after which trials are compared: after each, about one of so many
#: trials continues.
PARTS, RUNGS, REDUCTION = 9, (1, 3), 3

#: Name of the run with the settings without any change.
BASELINE = "baseline"


@dataclass(frozen=True)
class SearchConfig(Settings):
    """Which settings vary, and how the best are found."""

    set: tuple[str, ...] = field(default=(), metadata={"action": "append", "metavar": "NAME=VALUES"})
    """A setting to vary, by its place in config.json below the agent (algorithm.epochs), after env. (env.size), or by
    its flag, with its values: choices (1e-4,3e-4), a range (0.9:0.999) or a range on a logarithmic scale
    (log:1e-4:1e-2). Repeat it for each setting."""
    trials: int = count(20)
    """Number of combinations of values to try. The same command with a larger number adds trials."""
    metric: str = "episode_return"
    """Metric that is maximised, one of those in metrics.jsonl. The score of a trial is the mean over its seeds and the
    last 10 % of its updates."""
    early_stopping: bool = True
    """Stop trials early that are not among the best third after a ninth or a third of their training (ASHA)."""
    finalists: int = count(3)
    """Number of the best combinations that are trained again with fresh seeds, beside the settings without any
    change."""
    final_seeds: int = count(10)
    """Number of fresh seeds of each of them; an interval needs at least 5."""


@dataclass(frozen=True)
class SweepSettings:
    """A sweep."""

    base: TrainConfig  # the run without any change
    space: Space
    search: SearchConfig

    def __post_init__(self) -> None:
        if not self.space.axes:
            raise UserError(
                "sweep needs --set NAME=VALUES: give the settings to vary, such as algorithm.learning_rate=1e-4,3e-4"
            )
        algorithm, bonuses = self.base.agent.algorithm, self.base.agent.bonus_names
        if not any(":" in name for name in (algorithm.name, *bonuses)):  # code of the user may have others
            known = [name for name in METRICS if name not in ("update", "steps")]
            check_name("metric", self.search.metric, [*known, *algorithm.metrics, *self.base.env.info_names])
        _ = self.fresh  # its checks

    @cached_property
    def fresh(self) -> TrainConfig:
        """The run without any change, with seeds that no trial has."""
        return replace(self.base, seed=self.base.seed + self.base.seeds, seeds=self.search.final_seeds)

    def to_data(self) -> Data:
        """What a sweep is continued with; the number of trials, and how many of them are trained again, may change."""
        return {
            "base": self.base.to_dict(),
            "space": self.space.to_data(),
            "metric": self.search.metric,
            "early_stopping": self.search.early_stopping,
            "final_seeds": self.search.final_seeds,
        }


def rungs(updates: int) -> dict[int, int]:
    """The updates after which a trial is compared with others, each with the part of the training that is done then."""
    return {at: part for part in RUNGS if (at := -(-part * updates // PARTS)) < updates}
