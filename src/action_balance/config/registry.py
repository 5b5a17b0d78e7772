"""Environment families and algorithms by name: an alias of ``MODULE:CLASS``, which is also how users name their own."""

import contextlib
import difflib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from dataclasses import fields
from functools import partial
from types import FunctionType
from typing import Any

from action_balance.config.algorithm import ALGORITHMS, AlgorithmConfig, settings_of
from action_balance.config.env import DeviceEnvConfig, EnvConfig, HostEnvConfig
from action_balance.config.families import FAMILIES, built_in
from action_balance.config.fields import is_required
from action_balance.config.trust import is_standard
from action_balance.errors import UserError, check_name, flag
from action_balance.files import reason

#: What a family of a user must define, by the class that it inherits from, and what each member does.
NEEDED: dict[type[EnvConfig], dict[str, str]] = {
    DeviceEnvConfig: {"make": "makes the environment"},
    HostEnvConfig: {"make": "makes the environments", "spec": "describes observations and actions"},
}

#: The family of environments that a Python function makes, and that of environments written in JAX.
OF_FUNCTIONS, OF_OBJECTS = FAMILIES["gym:"], FAMILIES["gymnax:"]

#: Arguments of gymnax's step, with the environment itself: key, state and action.
JAX_STEP = 4


def describe_error(error: BaseException) -> str:
    """An exception of someone else's code in one line, with its place."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {reason(error)}{place}" if str(error) else f"{type(error).__name__}{place}"


def load_library(module: str, needed_by: str, install: str = "") -> Any:
    """Import a module of a library; the current folder, which may be a stranger's, is not searched."""
    try:
        return importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
            hint = f"pip install {install}" if install else "check its spelling, or install its package"
            raise UserError(f"{needed_by} needs the module {module}, which is not installed: {hint}") from None
        raise UserError(f"{module} cannot be imported: {describe_error(error)}") from None


def load_module(module: str, needed_by: str) -> Any:
    """Import a module that a user named: an installed one or, if there is none, one of the current folder."""
    if not all(part.isidentifier() for part in module.split(".")):
        raise UserError(f"{needed_by} does not name a module: '{module:.80}' is not a module name")
    if is_standard(module):
        raise UserError(f"{needed_by} names the module {module}, which is part of Python: name your own module")
    if not _is_installed(module.partition(".")[0]):
        with contextlib.suppress(OSError):  # of a folder that was deleted
            # Last, so that a file of this folder is never imported in place of a library.
            sys.path += [folder for folder in (os.getcwd(),) if folder not in sys.path]
    return load_library(module, needed_by)


def _is_installed(module: str) -> bool:
    """Whether a module is found without the current folder; a folder without code of its own does not count."""
    if module in sys.modules:
        return True
    found = importlib.util.find_spec(module)
    return found is not None and found.origin is not None


def load_object(path: str) -> Any:
    module, _, name = path.rpartition(":")
    if not module or not name:
        raise UserError(f"'{path}' is not MODULE:NAME, e.g. my_module:MyClass")
    loaded = load_module(module, path)
    if not hasattr(loaded, name):
        near = difflib.get_close_matches(name, [one for one in dir(loaded) if not one.startswith("_")], n=1)
        raise UserError(f"{module} has no {name}: " + (f"did you mean {near[0]}?" if near else "check its spelling"))
    return getattr(loaded, name)


def families() -> list[type[EnvConfig]]:
    found: list[type[EnvConfig]] = [load_object(path) for path in dict.fromkeys(FAMILIES.values())]
    return sorted(found, key=lambda family: family.order)


def known_names() -> list[str]:
    return [name for family in families() for name in family.names()]


def env_class(name: str) -> type[EnvConfig]:
    if path := built_in(name):
        found: type[EnvConfig] = load_object(path)
        return found
    # Gymnasium takes any name that ends in a version for its own: those that know their names are asked first.
    for family in sorted(families(), key=lambda one: one.engine == "host"):
        if meant := family.suggest(name):
            raise UserError(f"unknown environment '{name}': did you mean {meant}?")
    if ":" not in name.strip(":") or difflib.get_close_matches(name, known_names(), n=1, cutoff=0.8):
        check_name("environment", name, known_names())
    own = load_object(name)
    if not isinstance(own, type) or not issubclass(own, EnvConfig) or not hasattr(own, "engine"):
        raise UserError(f"{name} is not an environment family: inherit from DeviceEnvConfig or HostEnvConfig")
    if "__dataclass_fields__" not in vars(own):
        raise UserError(f"{name} is not a dataclass: decorate it with @dataclass(frozen=True)")
    for base, members in NEEDED.items():
        for member, does in members.items() if issubclass(own, base) else ():
            if getattr(own, member, None) is getattr(base, member):
                raise UserError(f"{name} has no {member}, which {does}: add it to the class")
    return own


def env_config(name: str, **settings: Any) -> EnvConfig:
    family = env_class(name)
    known = [field.name for field in fields(family) if field.name != "name"]
    for setting in settings:
        if setting not in known:
            hint = f"its settings are {', '.join(map(flag, known))}" if known else "leave it out"
            raise UserError(f"{family.with_article()} has no {flag(setting)}: {hint}")
    return family(name, **settings)


def env_from_function(make: Any, **settings: Any) -> EnvConfig:
    family = load_object(OF_OBJECTS if _is_jax_env(make) else OF_FUNCTIONS)
    made: EnvConfig = family.from_function(make, **settings)
    return made


def _is_jax_env(made: Any) -> bool:
    """Whether something has the interface of gymnax: its step takes a key, a state and an action."""
    env = made[0] if isinstance(made, tuple) and made else made
    kind: Any = env if isinstance(env, type) else type(env)
    if hasattr(kind, "step_env"):
        return True
    try:
        return len(inspect.signature(kind.step).parameters) >= JAX_STEP
    except (AttributeError, TypeError, ValueError):
        return False


def check_code(name: str, found: Any) -> None:
    """Raise a `UserError` unless something is a class or a function in Python, and not a part of Python itself.

    Nothing is called that a name happens to lead to, such as ``sys.exit``.
    """
    inner = inspect.unwrap(found.func if isinstance(found, partial) else found)
    if not isinstance(inner, type | FunctionType):
        raise UserError(f"{name} is neither a Python class nor a Python function: name your own class or function")
    if is_standard(inner.__module__ or ""):
        raise UserError(
            f"{name} is {inner.__module__}.{inner.__name__} of Python itself: name your own class or function"
        )


def algorithm_class(name: str) -> type[AlgorithmConfig]:
    """The settings of an algorithm: a built-in one, or a user's ``MODULE:CLASS``, which has them as ``Config``."""
    if name not in ALGORITHMS and ":" not in name:
        check_name("--algorithm", name, ALGORITHMS)
    kind = load_object(settings_of(name)) if name in ALGORITHMS else getattr(load_object(name), "Config", None)
    if not (isinstance(kind, type) and issubclass(kind, AlgorithmConfig) and "__dataclass_fields__" in vars(kind)):
        raise UserError(
            f"{name} is not an algorithm: inherit from action_balance.algorithms.base.Algorithm, with a frozen "
            f"dataclass Config that inherits from AlgorithmConfig"
        )
    if required := [one.name for one in fields(kind) if is_required(one)]:
        raise UserError(f"{name}.Config has no default for {required[0]}: every setting needs one")
    return kind


def resolve_class(kind: type, data: dict[str, Any]) -> type:
    """The class to build from plain data where a setting is declared as a base class."""
    if kind is EnvConfig and isinstance(data.get("name"), str):
        return env_class(data["name"])
    if kind is AlgorithmConfig and isinstance(data.get("name"), str):
        return algorithm_class(data["name"])
    return kind
