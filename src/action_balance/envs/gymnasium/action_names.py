"""What the actions of an environment do, in words."""

from enum import IntEnum
from typing import Any

from action_balance.envs.gymnasium.choices import Choices

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
#: The same of continuous numbers.
_KNOWN_NUMBERS = {
    "Pendulum-": ("torque",),
    "MountainCarContinuous-": ("force",),
    "LunarLander": ("main engine", "side engines"),
    "BipedalWalker": ("hip 1", "knee 1", "hip 2", "knee 2"),
    "CarRacing-": ("steering", "gas", "brake"),
    "InvertedPendulum-": ("force",),
    "InvertedDoublePendulum-": ("force",),
    "HalfCheetah-": ("back thigh", "back shin", "back foot", "front thigh", "front shin", "front foot"),
    "Hopper-": ("thigh", "leg", "foot"),
    "Reacher-": ("joint 1 torque", "joint 2 torque"),
    "Swimmer-misc": ("x acceleration", "y acceleration"),
    "PointRobot-misc": ("x move", "y move"),
}


def action_names(env: Any, choices: Choices) -> tuple[str, ...]:
    """Names of all choices of all discrete components, one component after another, then of continuous numbers."""
    nvec, starts = choices.nvec, choices.starts
    spec = getattr(env, "spec", None)
    ident = str(getattr(spec, "id", "")).rpartition(":")[2].rpartition("/")[2]
    if len(nvec) == 1 and not choices.bounds:
        (count,), (first,) = nvec, starts
        names = known_names(ident) or _of_environment(env.unwrapped, count, first)
        return names if names and len(names) == count else tuple(f"action {first + one}" for one in range(count))
    listed = [f"{part}: choice {starts[part] + one}" for part, count in enumerate(nvec) for one in range(count)]
    numbers = known_names(ident, continuous=True)
    if numbers is None or len(numbers) != len(choices.bounds):
        numbers = tuple(f"{part.name or 'action'} {one}" for part in choices.parts for one in range(len(part.bounds)))
    return (*listed, *numbers)


def known_names(ident: str, continuous: bool = False) -> tuple[str, ...] | None:
    """Names of the actions of a well-known environment: of its choices, or of its continuous numbers."""
    known = _KNOWN_NUMBERS if continuous else _KNOWN
    return next((names for beginning, names in known.items() if ident.startswith(beginning)), None)


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
