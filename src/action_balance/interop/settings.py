"""Settings of the bonuses for foreign loops; `ActionBalance.create` and `IntrinsicBonus.create` explain them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import index
from typing import Any, ClassVar, get_args

import equinox as eqx
import jax.numpy as jnp

from action_balance.bonuses.base import ACTION, BUILT_IN, INTRINSIC, Bonus, bonus_class, make_bonus
from action_balance.config.agent import AgentConfig
from action_balance.config.algorithm import DEFAULT, AlgorithmConfig
from action_balance.config.bonuses import bonus_parts, bonus_settings
from action_balance.config.fields import check
from action_balance.config.frozen import FrozenDict
from action_balance.config.network import NetworkConfig
from action_balance.core.options import Normalization
from action_balance.core.running_stats import ReturnScale
from action_balance.errors import MAX, UserError, check_name, flag
from action_balance.interop import learner as compiled
from action_balance.interop.inputs import Spaces
from action_balance.interop.learner import Learner

#: Default width of the networks' layers: for vectors, and for images as in RND.
_WIDTH, _IMAGE_WIDTH = 128, 512


@dataclass(frozen=True, kw_only=True)
class BonusSettings:
    """What both uses of a bonus have, as plain data."""

    #: The use, and the argument that names the bonus.
    slot: ClassVar[str]
    argument: ClassVar[str]

    spaces: Spaces
    bonus: str  # its name; MODULE:CLASS of a user's own
    bonus_settings: FrozenDict  # its own, and those of the bonuses that it is made of
    learning_rate: float
    width: int
    seed: int
    environments: int = 1

    def __post_init__(self) -> None:
        check_number("learning_rate", self.learning_rate, 0, 1)
        check_number("width", self.width, 1, MAX)
        check_number("seed", self.seed, 0, MAX)
        check_number("environments", self.environments, 1, MAX)

    def make(self, kind: type[Bonus]) -> Bonus:
        """The bonus for these spaces, of the class that its name stands for."""
        own = {field.name for field in fields(kind.Config)}
        given = {name: value for name, value in self.bonus_settings.items() if name in own}
        rest = FrozenDict({name: value for name, value in self.bonus_settings.items() if name not in own})
        parts = bonus_parts(self.bonus, given)
        known = {*own, *(field.name for kind in map(bonus_settings, parts) if kind for field in fields(kind))}
        for name in rest:
            if not known:
                raise UserError(f"{self.bonus} has no settings: leave out {name!r}")
            check_name(f"setting of {self.bonus}", name, sorted(known))
        named: dict[str, Any] = {self.argument: self.bonus}
        try:
            check(kind.Config, dict(given))
            agent = AgentConfig(
                **named,
                method="random",
                steps=self.environments,
                envs=self.environments,
                algorithm=AlgorithmConfig(DEFAULT, rollout_steps=1, minibatches=1),
                bonus_settings=FrozenDict({self.bonus: given, **dict.fromkeys(parts, rest)}),
                network=NetworkConfig(bonus_hidden=self.width, bonus_features=self.width),
            )
            made = make_bonus(self.bonus, self.slot, agent, self.spaces.spec, kind)
        except UserError as error:
            raise UserError(_without_flags(str(error), (self.bonus, *parts), {*known, self.argument})) from None
        assert made is not None
        return made

    def init(self, bonus: Bonus) -> Any:
        """Everything that one learns, as it begins."""
        return compiled.init_program(bonus, jnp.int32(self.seed), compiled.no_stats(bonus))

    def shapes(self, bonus: Bonus) -> Any:
        """The shapes of `init`."""
        return compiled.shapes(bonus)


@dataclass(frozen=True, kw_only=True)
class BalanceSettings(BonusSettings):
    """Settings of an `ActionBalance`."""

    slot: ClassVar[str] = ACTION
    argument: ClassVar[str] = "action_bonus"

    coef: float
    normalize: Normalization

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("coef", self.coef, 0, 1e6)
        check_name("normalize", self.normalize, get_args(Normalization))


@dataclass(frozen=True, kw_only=True)
class IntrinsicSettings(BonusSettings):
    """Settings of an `IntrinsicBonus`."""

    slot: ClassVar[str] = INTRINSIC
    argument: ClassVar[str] = "intrinsic"

    gamma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("gamma", self.gamma, 0, 1)

    def init(self, bonus: Bonus) -> tuple[Learner, ReturnScale]:
        return super().init(bonus), ReturnScale.empty(self.environments)

    def shapes(self, bonus: Bonus) -> tuple[Learner, ReturnScale]:
        return super().shapes(bonus), eqx.filter_eval_shape(ReturnScale.empty, self.environments)


def find_class(given: Any, of: type[BonusSettings]) -> tuple[str, type[Bonus]]:
    """The name and the class of a bonus that a user gives by name, as MODULE:CLASS, or as the class itself."""
    names: Mapping[str, str] = BUILT_IN[of.slot]
    if isinstance(given, type) and issubclass(given, Bonus):
        path = f"{given.__module__}:{given.__qualname__}"
        return next((name for name, built_in in names.items() if built_in == path), path), given
    if not isinstance(given, str):
        raise UserError(f"{of.argument} must be the name of a bonus or a subclass of Bonus, not {given!r:.60}")
    if ":" not in given:
        check_name(of.argument, given, names)
    return given, bonus_class(given, of.slot)


def stored_class(name: str, given: Any, of: type[BonusSettings], source: str) -> type[Bonus]:
    """The class of a bonus that a file names. The file may be a stranger's: only the user's own word is imported."""
    if given is not None:
        return find_class(given, of)[1]
    if name not in BUILT_IN[of.slot]:
        raise UserError(
            f"{source} contains the bonus {name:.200}, which is not built in: pass its class as {of.argument}"
        )
    return bonus_class(name, of.slot)


def _without_flags(message: str, bonuses: tuple[str, ...], names: set[str]) -> str:
    """A message with the names of settings in place of their flags, which may begin with the name of a bonus."""
    group = "|".join(map(re.escape, bonuses))
    for name in names:
        message = re.sub(rf"--(?:(?:{group})-)?{flag(name)[2:]}(?![\w-])", repr(name), message)
    return message


def default_width(width: int | None, spaces: Spaces) -> int:
    default = _IMAGE_WIDTH if spaces.spec.is_image else _WIDTH
    return default if width is None else index(width)


def check_number(name: str, value: float, low: float, high: float) -> float:
    if not low <= value <= high:
        raise UserError(f"{name} must be from {low:g} to {high:.12g}, not {value}")
    return float(value)
