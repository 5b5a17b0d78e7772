"""What there is: environments, methods, bonuses, presets, tasks and games. Nothing here imports JAX."""

import importlib
import importlib.util
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any, Literal, get_args

from action_balance.config.bonuses import BUILT_IN
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES, METHODS
from action_balance.config.presets import preset_config
from action_balance.config.registry import families
from action_balance.config.trust import GYM
from action_balance.envs.atari.games import PAPER_GAMES, games, title
from action_balance.envs.library.config import LibraryEnvConfig
from action_balance.errors import UserError, flag
from action_balance.files import missing

#: What can be listed.
Kind = Literal["environments", "methods", "bonuses", "presets", "tasks", "games"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: An entry: ``name`` and ``about`` first, then what else there is to say, as plain data.
Item = dict[str, Any]

#: Environments that share a family, in a few words.
ABOUT_ENVIRONMENTS = {
    "open": "Empty grid world (Section IV-A)",
    "goal": "Grid world with a goal (Section IV-B)",
    "corridor": "Grid world with two rooms and a corridor (Figure 1)",
}
#: The bonuses in a few words.
ABOUT_BONUSES = {
    "rnd": "error in predicting random features of the next state (RND)",
    "count": "exact counts, where states can be enumerated",
    "hash": "counts of hashed observations",
    "coin-flip": "counts estimated by a network that learns random labels",
    "elliptical": "counts of the directions of features, in any observation",
    "icm": "error in predicting learned features of the next state (intrinsic curiosity)",
    "ngu": "episodic novelty times RND (Never Give Up)",
    "e3b": "elliptical episodic bonus (E3B)",
    "distillation": "error in predicting random features of each state-action pair, the paper's action bonus",
    "ucb": "upper confidence bound of every action (UCB1)",
}
#: The presets in a few words.
ABOUT_PRESETS = {
    "classic": "for rewards of any scale, the default in Gymnasium environments",
    "vectorized": "for many environments on the device, the default in the libraries written in JAX",
    "study": "small networks and few environments, the default in Atari and families of your own",
    "chains": "study, tuned for each method in deep seas: the default in the deep sea and the lock",
    "rooms": "study, tuned for each method in a corridor and a goal world: the default in grid worlds",
    "atari-paper": "the paper's Atari experiments",
    "atari-rnd": "RND as its authors ran it on Atari",
}
#: Modules that register environments with Gymnasium when they are imported.
REGISTER = ("ale_py", "minigrid", "miniworld", "action_balance.gym")


def catalog(kind: Kind, gym: bool = False) -> list[Item]:
    if kind == "environments":
        return environments() + (gymnasium_ids() if gym else [])
    return _LISTS[kind]()


def environments() -> list[Item]:
    """The built-in families, and how a family of one's own is named."""
    found = []
    for family in families():
        about = (family.__doc__ or "").partition("\n\n")[0].rstrip(".")
        flags = [flag(one.name) for one in fields(family) if one.name != "name"]
        found += [
            {"name": form, "about": ABOUT_ENVIRONMENTS.get(form, about), "settings": flags} for form in family.forms
        ]
    return [*found, {"name": "MODULE:CLASS", "about": "Your own environment family", "settings": []}]


def gymnasium_ids() -> list[Item]:
    """The environments that are registered with Gymnasium here, each in its newest version."""
    if importlib.util.find_spec("gymnasium") is None:
        raise missing("gymnasium", "--gym", "gym")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that are not ours
        import gymnasium

        for module in REGISTER:
            with suppress(Exception):  # not installed, or broken: it registers nothing
                importlib.import_module(module)
    newest: dict[str, int] = {}
    for name in gymnasium.registry:
        stem, _, version = name.rpartition("-v")
        if stem and version.isdigit():
            newest[stem] = max(newest.get(stem, 0), int(version))
    ids = [f"{stem}-v{version}" for stem, version in newest.items() if not re.match(r"GymV\d+", stem)]
    return [{"name": f"{GYM}{name}", "about": "registered with Gymnasium", "settings": []} for name in sorted(ids)]


def _methods() -> list[Item]:
    return [
        {"name": name, "about": one.about, "intrinsic": one.intrinsic, "action_bonus": one.action_bonus}
        for name, one in METHODS.items()
    ]


def _bonuses() -> list[Item]:
    found = []
    for name, about in ABOUT_BONUSES.items():
        flags = [flag(one.name) for one in fields(BUILT_IN[name])] if name in BUILT_IN else []
        roles = {"intrinsic": name in INTRINSIC_BONUSES, "action_bonus": name in ACTION_BONUSES}
        found.append({"name": name, "about": about, **roles, "settings": flags})
    return found


def _presets() -> list[Item]:
    found = []
    for name, about in ABOUT_PRESETS.items():
        one = preset_config(name)
        sizes = {"envs": one.envs, "steps": one.steps, "learning_rate": one.algorithm.learning_rate}
        found.append({"name": name, "about": about, "method": one.method, **sizes})
    return found


def _tasks() -> list[Item]:
    """The environments of the libraries written in JAX, whether they are installed or not."""
    return [
        {"name": name, "about": family.label, "example": name == f"{family.prefix}{family.example}"}
        for family in families()
        if issubclass(family, LibraryEnvConfig)
        for name in family.names()
    ]


def _games() -> list[Item]:
    try:
        names = games()
    except UserError:  # without ale-py, the games of the paper are known
        names = [*PAPER_GAMES]
    return [{"name": f"atari:{name}", "about": title(name), "of_paper": name in PAPER_GAMES} for name in names]


_LISTS: Mapping[str, Callable[[], list[Item]]] = {
    "methods": _methods,
    "bonuses": _bonuses,
    "presets": _presets,
    "tasks": _tasks,
    "games": _games,
}
