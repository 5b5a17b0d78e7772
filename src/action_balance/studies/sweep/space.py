"""The settings that a sweep varies, and the values that each may take: ``algorithm.learning_rate=log:1e-4:1e-2``.

Values are choices (``a,b,c``), or a range on a linear (``low:high``) or on a logarithmic scale (``log:low:high``), of
whole numbers if the setting is one.
"""

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from action_balance.config.fields import options
from action_balance.config.train import TrainConfig
from action_balance.config.tuned import Values, with_values
from action_balance.errors import SHOWN, UserError, nearest
from action_balance.files import Data

#: The beginning of names of settings of the environment; all others are settings of the agent.
ENV = "env."

#: Digits of a number from a range, which a reader may have to type.
DIGITS = 4

#: Most combinations that are tried to find one that is valid.
MAX_TRIED = 2000


@dataclass(frozen=True)
class Choice:
    """A setting that takes one of several values."""

    name: str  # such as algorithm.epochs
    values: tuple[Any, ...]  # in the order in which they were given

    @property
    def size(self) -> float:
        return len(self.values)

    def __str__(self) -> str:
        return ", ".join(map(shown, self.values))


@dataclass(frozen=True)
class Range:
    """A setting that takes any number between two others."""

    name: str
    low: float
    high: float
    log: bool = False  # whether the logarithm of the value is uniform, not the value
    whole: bool = False  # whether it takes whole numbers only

    @property
    def size(self) -> float:
        return self.high - self.low + 1 if self.whole else math.inf

    @property
    def values(self) -> Sequence[int]:
        return range(int(self.low), int(self.high) + 1)

    def nearest(self, value: Any) -> Any:
        """The value as trials use it: with few digits."""
        return value if self.whole else min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)

    def __str__(self) -> str:
        scale = ", logarithmic" if self.log else ""
        return f"{shown(self.low)} to {shown(self.high)}{scale}"


Axis = Choice | Range


def _corners(axis: Axis) -> Sequence[Any]:
    """The values that decide whether a combination is possible."""
    return axis.values if isinstance(axis, Choice) else (axis.low, axis.high)


def shown(value: Any) -> str:
    """A value in a table: few digits of a number, all of a word."""
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Space:
    """All combinations of values that a sweep may try."""

    axes: tuple[Axis, ...]  # the settings that vary, in the order in which they were given

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    @property
    def size(self) -> float:
        """Number of combinations; infinite if a setting takes any number."""
        return math.prod(axis.size for axis in self.axes)

    def apply(self, config: TrainConfig, values: Values) -> TrainConfig:
        """The settings of a run with other values; each group is made once, with all its changes."""
        made: TrainConfig = with_values(config, {_full_name(name): value for name, value in values.items()})
        return made

    def nearest(self, values: Values) -> dict[str, Any]:
        """Values as trials use them: with few digits."""
        ranges = {axis.name: axis.nearest(values[axis.name]) for axis in self.axes if isinstance(axis, Range)}
        return {**values, **ranges}

    def key(self, values: Values) -> str:
        """What is the same for equal combinations, and only for them."""
        return json.dumps([values[name] for name in self.names])

    def combinations(self) -> Iterator[dict[str, Any]]:
        for found in itertools.product(*(axis.values for axis in self.axes)):
            yield dict(zip(self.names, found, strict=True))

    def to_data(self) -> list[Data]:
        return [asdict(axis) for axis in self.axes]

    @classmethod
    def from_data(cls, data: Sequence[Data]) -> "Space":
        return cls(
            tuple(Choice(one["name"], tuple(one["values"])) if "values" in one else Range(**one) for one in data)
        )


@dataclass(frozen=True)
class Setting:
    """A setting that can vary."""

    name: str  # its place below the agent, such as algorithm.learning_rate, or after env.
    flag: str  # such as --learning-rate
    kind: Any  # its type
    read: Callable[[str], Any]  # its value from text; a `UserError` for other text

    @property
    def numbers(self) -> bool:
        return bool({int, float} & {*options(self.kind)})

    @property
    def whole(self) -> bool:
        return float not in options(self.kind)


def parse_space(words: Sequence[str], known: Sequence[Setting], config: TrainConfig) -> Space:
    axes = [_axis(word, known) for word in words]
    for name, times in Counter(axis.name for axis in axes).items():
        if times > 1:
            raise UserError(f"--set gives {name} {times} times: put all its values into one --set")
    space = Space(tuple(axes))
    for axis in axes:
        for value in _corners(axis):
            _check_possible(space, axis, value, config)
    return space


def _axis(word: str, known: Sequence[Setting]) -> Axis:
    name, equals, text = word.partition("=")
    if not equals or not name.strip() or not text.strip():
        raise UserError(f"--set takes NAME=VALUES, such as algorithm.learning_rate=1e-4,3e-4, not '{word:.60}'")
    setting = find_setting(name.strip(), known)
    parts = [part.strip() for part in text.split(":")]
    if setting.numbers and len(parts) > 1:
        return _range(setting, parts, word)
    values = tuple(setting.read(part.strip()) for part in text.split(","))
    if len({json.dumps(value) for value in values}) < max(2, len(values)):
        raise UserError(f"--set {word:.60} needs several values, none of them twice; for one value, use {setting.flag}")
    return Choice(setting.name, values)


def _range(setting: Setting, parts: Sequence[str], word: str) -> Range:
    log = parts[0].lower() == "log"
    ends = [setting.read(end) for end in parts[log:]]
    numbers = all(isinstance(end, (int, float)) and not isinstance(end, bool) and math.isfinite(end) for end in ends)
    if len(ends) != 2 or not numbers or not ends[0] < ends[1] or (log and ends[0] <= 0):
        raise UserError(
            f"--set {word:.60} is not a range: use {setting.name}=LOW:HIGH or {setting.name}=log:LOW:HIGH with finite "
            "numbers, where LOW is below HIGH, and above 0 after log"
        )
    low, high = ends
    return Range(setting.name, low, high, log, setting.whole)


def find_setting(name: str, known: Sequence[Setting]) -> Setting:
    plain = name.removeprefix("--").removeprefix("agent.").replace("-", "_")
    by_name = [one for one in known if one.name.replace("-", "_") == plain]
    by_flag = [one for one in known if one.flag[2:].replace("-", "_") == plain]
    found = by_name or by_flag or [one for one in known if one.name.rpartition(".")[2] == plain]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"--set {name:.60} is ambiguous: choose from {', '.join(one.name for one in found[:SHOWN])}")
    names = {one.name: one.name for one in known} | {one.name.rpartition(".")[2]: one.name for one in known}
    near = nearest(plain, names)
    hint = f"did you mean {names[near]}?" if near else "see action-balance sweep ENV --help-all for all settings"
    raise UserError(f"unknown setting '{name:.60}' in --set: {hint}")


def _check_possible(space: Space, axis: Axis, value: Any, config: TrainConfig) -> None:
    first: UserError | None = None
    others = [other for other in space.axes if other is not axis]
    with_others = itertools.product(*map(_corners, others))
    for found in itertools.chain([()], itertools.islice(with_others, MAX_TRIED)):
        values = {axis.name: value, **{other.name: one for other, one in zip(others, found, strict=False)}}
        try:
            space.apply(config, values)
        except UserError as error:
            first = first or error
            continue
        return
    raise UserError(f"--set {axis.name}={shown(value)}: {first}")


def _full_name(name: str) -> str:
    """The name of a setting from those of a run on."""
    return name if name.startswith(ENV) else f"agent.{name}"
