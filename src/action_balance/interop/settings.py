"""Settings of the bonuses for foreign loops; `ActionBalance.create` and `RND.create` explain them."""

from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any, get_args

import equinox as eqx
import jax.numpy as jnp

from action_balance.bonuses.base import Bonus
from action_balance.config.bonuses import Embedding
from action_balance.core.options import Normalization
from action_balance.core.running_stats import ReturnScale
from action_balance.errors import MAX, UserError, check_name
from action_balance.interop import learner as compiled
from action_balance.interop.inputs import Spaces
from action_balance.interop.learner import Learner

#: Default width of the networks' layers: for vectors, and for images as in RND.
_WIDTH, _IMAGE_WIDTH = 128, 512


@dataclass(frozen=True, kw_only=True)
class BonusSettings:
    """What both bonuses have; ``init`` gives everything that one learns, as it begins, and ``shapes`` its shapes."""

    spaces: Spaces
    learning_rate: float
    width: int
    seed: int

    def __post_init__(self) -> None:
        check_number("learning_rate", self.learning_rate, 0, 1)
        check_number("width", self.width, 1, MAX)
        check_number("seed", self.seed, 0, MAX)

    @property
    def as_channel(self) -> bool:
        return False

    @cached_property
    def bonus(self) -> Bonus:
        return compiled.make_bonus(self.spaces, self.width, self.as_channel)

    def init(self) -> Any:
        return compiled.init_program(self.bonus, jnp.int32(self.seed))

    def shapes(self) -> Any:
        return eqx.filter_eval_shape(compiled.init, self.bonus, jnp.int32(0))


@dataclass(frozen=True, kw_only=True)
class BalanceSettings(BonusSettings):
    """Settings of an `ActionBalance`."""

    coef: float
    normalize: Normalization
    embedding: Embedding

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("coef", self.coef, 0, 1e6)
        check_name("normalize", self.normalize, get_args(Normalization))
        check_name("embedding", self.embedding, get_args(Embedding))
        if self.as_channel and not self.spaces.images:
            raise UserError("an action channel is for images: leave out embedding, or set it to one-hot")
        if self.as_channel and self.spaces.actions > self.spaces.seen_shape[0]:
            raise UserError(
                f"images have too few rows for an action channel of {self.spaces.actions} actions: use one-hot"
            )

    @property
    def as_channel(self) -> bool:
        return self.embedding == "channel"


@dataclass(frozen=True, kw_only=True)
class RNDSettings(BonusSettings):
    """Settings of an `RND`."""

    environments: int
    gamma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("environments", self.environments, 1, MAX)
        check_number("gamma", self.gamma, 0, 1)

    def init(self) -> tuple[Learner, ReturnScale]:
        return super().init(), ReturnScale.empty(self.environments)

    def shapes(self) -> tuple[Learner, ReturnScale]:
        return super().shapes(), eqx.filter_eval_shape(ReturnScale.empty, self.environments)


def default_width(width: int | None, spaces: Spaces) -> int:
    default = _IMAGE_WIDTH if spaces.images else _WIDTH
    return default if width is None else index(width)


def check_number(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise UserError(f"{name} must be from {low:g} to {high:.12g}, not {value}")
    return float(value)
