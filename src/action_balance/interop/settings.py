"""Settings of the bonuses for foreign loops; `ActionBalance.create` and `RND.create` explain them."""

from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import get_args

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


@dataclass(frozen=True)
class BalanceSettings:
    """Settings of an `ActionBalance`; ``init`` gives a bonus that has learned nothing, ``shapes`` its shapes."""

    spaces: Spaces
    coef: float
    normalize: Normalization
    embedding: Embedding
    learning_rate: float
    width: int
    seed: int

    def __post_init__(self) -> None:
        check_number("coef", self.coef, 0, 1e6)
        _check_common(self)
        check_name("normalize", self.normalize, get_args(Normalization))
        check_name("embedding", self.embedding, get_args(Embedding))
        if self.embedding == "channel" and not self.spaces.images:
            raise UserError("an action channel is for images: leave out embedding, or set it to one-hot")
        if self.embedding == "channel" and self.spaces.actions > self.spaces.seen_shape[0]:
            raise UserError(
                f"images have too few rows for an action channel of {self.spaces.actions} actions: use one-hot"
            )

    @cached_property
    def bonus(self) -> Bonus:
        return compiled.make_bonus(self.spaces, self.width, self.embedding == "channel")

    def init(self) -> Learner:
        return compiled.init_program(self.bonus, jnp.int32(self.seed))

    def shapes(self) -> Learner:
        return _shapes(self.bonus)


@dataclass(frozen=True)
class RNDSettings:
    """Settings of an `RND`."""

    spaces: Spaces
    environments: int
    gamma: float
    learning_rate: float
    width: int
    seed: int

    def __post_init__(self) -> None:
        check_number("environments", self.environments, 1, MAX)
        check_number("gamma", self.gamma, 0, 1)
        _check_common(self)

    @cached_property
    def bonus(self) -> Bonus:
        return compiled.make_bonus(self.spaces, self.width, as_channel=False)

    def init(self) -> tuple[Learner, ReturnScale]:
        return compiled.init_program(self.bonus, jnp.int32(self.seed)), ReturnScale.empty(self.environments)

    def shapes(self) -> tuple[Learner, ReturnScale]:
        return _shapes(self.bonus), eqx.filter_eval_shape(ReturnScale.empty, self.environments)


def _shapes(bonus: Bonus) -> Learner:
    shapes: Learner = eqx.filter_eval_shape(compiled.init, bonus, jnp.int32(0))
    return shapes


def default_width(width: int | None, spaces: Spaces) -> int:
    default = _IMAGE_WIDTH if spaces.images else _WIDTH
    return default if width is None else index(width)


def check_number(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise UserError(f"{name} must be from {low:g} to {high:.12g}, not {value}")
    return float(value)


def _check_common(settings: BalanceSettings | RNDSettings) -> None:
    check_number("learning_rate", settings.learning_rate, 0, 1)
    check_number("width", settings.width, 1, MAX)
    check_number("seed", settings.seed, 0, MAX)
