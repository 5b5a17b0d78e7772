"""What a config would import, and whose decision that is. Nothing here imports JAX, or anything that a config names.

Environments, wrappers, bonuses and algorithms of users are named by their module, and importing a module runs its code.
Names that are typed on the command line or passed in Python are the user's own. Names in a file may be a stranger's:
they are refused, unless the user trusts the file.
"""

import json
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from action_balance.config.families import is_own
from action_balance.errors import UserError, flag
from action_balance.files import Data

#: The beginning of names of Gymnasium environments: an id follows, or a module and something in it.
GYM = "gym:"
#: The beginnings of names after which a module may follow, and something in it.
WITH_MODULES = (GYM, "gymnax:")
#: The settings that name an environment: a family of a user, or what ``gym:`` or ``gymnax:`` leads to.
FAMILY, NAME = "env.family", "env.name"
#: The setting that names an algorithm.
ALGORITHM = "agent.algorithm.name"
#: The settings of a Gymnasium environment that a function of the user takes the place of, by their place in a config.
OF_GYMNASIUM = (NAME, "env.wrapper", "env.env_kwargs")
#: Modules of environment libraries whose wrappers need an environment only, and do nothing but wrap it.
WRAPPERS = ("gymnasium.wrappers", "minigrid.wrappers")
#: Text that an environment may take for a file, a module or something in a module: ``a/b``, ``~``, ``a:b``, ``a.b``.
_LEADS_ELSEWHERE = re.compile(r"[:/\\~]|^\s*\.|\.[^\W\d]\w*\s*$")
#: How to allow what a file names.
ADVICE = "add --trust (in Python: trust=True) if this is your own run or you trust its author"


@dataclass(frozen=True)
class Named:
    """What one setting of a config leads to."""

    setting: str  # by its place in the config, e.g. env.wrapper
    name: str  # what it names
    label: str  # the same, in a sentence
    does: str  # what using it would do

    @property
    def option(self) -> str:
        """How the user gives the setting on the command line."""
        return (
            "the environment"
            if self.setting in (FAMILY, NAME)
            else flag(self.setting.removesuffix(".name").rpartition(".")[2])
        )


def leads_to(config: Data) -> list[Named]:
    """Everything in a config that leads to code or files outside of this package and the environment libraries."""
    return [*_of_env(_group(config, "env")), *_of_agent(_group(config, "agent"))]


def check_trusted(config: Data, typed: Collection[str] = (), typing: bool = False) -> None:
    """Raise a `UserError` if a config from a file would import code or open files that the user has not approved."""
    for one in leads_to(config):
        if one.setting not in typed and one.name not in typed:
            other = f"; or give {one.option} on the command line" if typing else ""
            raise UserError(f"the config names {one.label:.200}, which would {one.does:.200}: {ADVICE}{other}")


def is_standard(module: str) -> bool:
    """Whether a module is a part of Python itself, which has no environments and no bonuses."""
    return module.partition(".")[0] in sys.stdlib_module_names


def is_of_script(name: str) -> bool:
    """Whether an environment was made by a function that only its own script has: no name leads to it."""
    return name.startswith(tuple(f"{prefix}__main__:" for prefix in WITH_MODULES)) or "<" in name


def _group(data: Data, name: str) -> Data:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _imports(name: str) -> str:
    module = name.rpartition(":")[0] or name
    return f"import the module {module}"


def _of_env(env: Data) -> Iterator[Named]:
    name = env.get("name")
    if not isinstance(name, str):
        return
    if is_own(name):
        yield Named(FAMILY, name, f"the environment {name}", _imports(name))
        return  # its settings have a meaning for its own code only
    prefix = next((one for one in WITH_MODULES if name.startswith(one)), None)
    if prefix is None:
        return
    if ":" in name.removeprefix(prefix) and not is_of_script(name):
        yield Named(NAME, name, f"the environment {name}", _imports(name.removeprefix(prefix)))
    wrappers = env.get("wrapper")
    for one in wrappers if isinstance(wrappers, list | tuple) else ():
        if str(one).rpartition(":")[0] not in WRAPPERS:
            yield Named("env.wrapper", str(one), f"--wrapper {one}", _imports(str(one)))
    for key, text in _texts(_parsed(env.get("env_kwargs"))):
        if _LEADS_ELSEWHERE.search(text):
            does = "let the environment open a file or import a module"
            yield Named("env.env_kwargs", text, f"--env-kwargs {key}={text}", does)


def _of_agent(agent: Data) -> Iterator[Named]:
    for setting in ("intrinsic", "action_bonus"):
        name = agent.get(setting)
        if isinstance(name, str) and ":" in name:
            yield Named(f"agent.{setting}", name, f"the bonus {name}", _imports(name))
    name = _group(agent, "algorithm").get("name")
    if isinstance(name, str) and ":" in name:
        yield Named(ALGORITHM, name, f"the algorithm {name}", _imports(name))


def _parsed(kwargs: Any) -> Any:
    """Arguments of an environment; nothing where they are damaged, which their own check reports."""
    try:
        return json.loads(kwargs) if isinstance(kwargs, str) and kwargs else kwargs
    except (ValueError, RecursionError):
        return None


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All strings in plain data, each with the key that leads to it."""
    todo = [(key, value)]
    while todo:
        key, value = todo.pop()
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, dict):
            todo += [(key or str(name), one) for name, one in value.items()]
        elif isinstance(value, list | tuple):
            todo += [(key, one) for one in value]
