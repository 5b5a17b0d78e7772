"""What the actions of an environment do, in words."""

from enum import IntEnum
from typing import Any

#: Names of the actions of environments that do not name them, by the beginning of their ids.
_KNOWN = {
    "CartPole-": ("left", "right"),
    "MountainCar-": ("left", "coast", "right"),
    "Acrobot-": ("torque -1", "no torque", "torque +1"),
    "LunarLander-": ("nothing", "left engine", "main engine", "right engine"),
    "Taxi-": ("south", "north", "east", "west", "pick up", "drop off"),
    "FrozenLake-": ("left", "down", "right", "up"),
    "FrozenLake8x8-": ("left", "down", "right", "up"),
    "CliffWalking-": ("up", "right", "down", "left"),
    "Blackjack-": ("stick", "hit"),
}


def action_names(env: Any, nvec: tuple[int, ...], start: Any) -> tuple[str, ...]:
    """Names of all choices of all action components, one component after another."""
    if len(nvec) > 1:
        firsts = [int(first) for first in start]
        return tuple(f"{part}: choice {firsts[part] + one}" for part, count in enumerate(nvec) for one in range(count))
    (count,), first = nvec, int(start if not getattr(start, "shape", ()) else start[0])
    spec = getattr(env, "spec", None)
    ident = str(getattr(spec, "id", "")).rpartition(":")[2].rpartition("/")[2]
    names = known_names(ident) or _of_environment(env.unwrapped, count, first)
    return names if names and len(names) == count else tuple(f"action {first + one}" for one in range(count))


def known_names(ident: str) -> tuple[str, ...] | None:
    """Names of the actions of a well-known environment."""
    return next((names for beginning, names in _KNOWN.items() if ident.startswith(beginning)), None)


def _of_environment(env: Any, count: int, first: int) -> tuple[str, ...] | None:
    """Names that an environment gives: as an ``IntEnum``, as MiniGrid does, or as the Arcade Learning Environment."""
    kind = getattr(env, "actions", None) or getattr(env, "Actions", None)
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        names = {int(one): one.name.replace("_", " ").lower() for one in kind}
        return tuple(names.get(first + one, f"action {first + one}") for one in range(count))
    meanings = getattr(env, "get_action_meanings", None)
    if callable(meanings):
        return tuple(str(one).replace("_", " ").lower() for one in meanings())
    return None
