"""The settings that the tuning has chosen for each method, by kind of world: ``reproduce tuning`` and docs/protocol.md.

A method is named by its bonuses, as studies name setups: ``rnd``, ``rnd+hash``, ``rnd+epsilon-greedy``.
"""

import json
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from action_balance.config.algorithm import DEFAULT
from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import METHODS, NONE

#: Values of settings of an agent by name, such as ``algorithm.learning_rate``.
Values = Mapping[str, Any]

#: The file of the chosen settings, which the tuning has made.
FILE = Path(__file__).with_name("tuned.json")

#: Where a kind of world has the settings of methods that were not tuned.
COMMON = "common"


@cache
def _chosen() -> Mapping[str, Mapping[str, Values]]:
    found: Mapping[str, Mapping[str, Values]] = json.loads(FILE.read_text())
    return found


def tuned(
    kind: str,
    method: str,
    intrinsic: str | None = None,
    action_bonus: str | None = None,
    algorithm: str | None = None,
) -> Values:
    """What the tuning has chosen for a method in a kind of world, or for all methods together where the method was not
    tuned; nothing for what is no kind of world."""
    chosen = _chosen().get(kind, {})
    is_default = (algorithm or METHODS[method].algorithm) in (None, DEFAULT)
    name = setup_name(method, intrinsic, action_bonus, algorithm)
    return chosen.get(name, chosen.get(COMMON, {}) if is_default else {})


def is_tuned(kind: str, method: str, intrinsic: str | None = None, action_bonus: str | None = None) -> bool:
    """Whether a method was tuned in a kind of world."""
    return setup_name(method, intrinsic, action_bonus) in _chosen().get(kind, {})


def setup_name(
    method: str, intrinsic: str | None = None, action_bonus: str | None = None, algorithm: str | None = None
) -> str:
    """What a method is called in the file: its bonuses, or how it chooses actions without an action bonus, after the
    name of an algorithm that is not the default; None is that of the method, or the default."""
    about = METHODS[method]
    algorithm = algorithm or about.algorithm
    rewards = about.intrinsic if intrinsic is None else intrinsic
    balances = about.action_bonus if action_bonus is None else action_bonus
    if balances == NONE and about.epsilon:
        balances = method
    prefix = "" if algorithm in (None, DEFAULT) else f"{algorithm}-"
    return prefix + (rewards if balances == NONE else f"{rewards}+{balances}")


def with_values(settings: Any, values: Values) -> Any:
    """Settings with other values; each group of settings is made once, with all its changes."""
    changes: dict[str, Any] = {}
    for name, value in values.items():
        *groups, last = _path(name)
        inner = changes
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = value
    return _changed(settings, changes)


def _path(name: str) -> tuple[str, ...]:
    """The fields that lead to a setting; the name of a bonus may have dots."""
    first, dot, rest = name.partition("bonus_settings.")
    if not dot:
        return tuple(name.split("."))
    bonus, _, last = rest.rpartition(".")
    return *first.split(".")[:-1], "bonus_settings", bonus, last


def _changed(settings: Any, changes: Any) -> Any:
    """Settings, or a value, with changes; an empty group stands for one that does not exist."""
    if not isinstance(changes, dict):
        return changes
    if is_dataclass(settings) and not isinstance(settings, type):
        return replace(settings, **{name: _changed(getattr(settings, name), found) for name, found in changes.items()})
    groups = {name: _changed(settings.get(name, FrozenDict()), found) for name, found in changes.items()}
    return FrozenDict({**settings, **groups})
