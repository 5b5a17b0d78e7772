"""Gymnasium environments by name: made, wrapped, and tested before an agent is trained in them.

A name leads to a class of environments or to a function that makes one. Nothing else is called that a name may lead to,
and whatever they raise, even ``SystemExit``, is one line.
"""

import difflib
import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from action_balance.config.registry import check_code, load_library, load_module, load_object
from action_balance.config.trust import is_of_script
from action_balance.envs.gymnasium.layouts import AUTO, LayoutSettings
from action_balance.envs.masks import BadMask, allowed, mask_rows
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.files import missing, reason

try:
    import gymnasium
except ImportError:
    raise missing("gymnasium", "a Gymnasium environment", "gym") from None

from gymnasium import Env, Wrapper
from gymnasium import error as gym_error
from gymnasium.vector import AutoresetMode, VectorEnv

from action_balance.envs.gymnasium.choices import Choices
from action_balance.envs.gymnasium.masking import MaskSource, mask_in
from action_balance.envs.gymnasium.spaces import Layout
from action_balance.envs.gymnasium.tryout import attempt, try_out

#: Prefixes of ids, the modules that register them, and the packages to install.
PACKAGES = {
    "ALE/": ("ale_py", "ale-py"),
    "MiniGrid-": ("minigrid", "minigrid"),
    "BabyAI-": ("minigrid", "minigrid"),
    "MiniWorld-": ("miniworld", "miniworld"),
    **dict.fromkeys(("PointMaze_", "AntMaze_", "Fetch", "AdroitHand"), ("gymnasium_robotics", "gymnasium-robotics")),
    "ActionBalance/": ("action_balance.gym", "action-balance"),
}

Make = Callable[..., Env[Any, Any]]


@dataclass(frozen=True)
class ExaminedEnv:
    """An environment that was tested: how to make it, and its observations and actions."""

    name: str
    make: Make
    layout: Layout
    choices: Choices
    own: Callable[[int], VectorEnv[Any, Any, Any]] | None = None  # makes a vector of this many
    masks: MaskSource = ""  # where it says which actions are allowed

    def spec(self, stack: int) -> EnvSpec:
        found = self.layout.spec(stack, self.choices.nvec, self.choices.bounds)
        return replace(found, masked=bool(self.masks))


@dataclass(frozen=True)
class _Maker:
    """Makes an environment by its id, or calls a function, and wraps it."""

    target: str | Callable[..., Any]
    kwargs: dict[str, Any]
    wrappers: Sequence[Callable[[Any], Any]]

    def __call__(self, **more: Any) -> Any:
        kwargs = {**self.kwargs, **more}
        if isinstance(self.target, str):
            module, _, given = self.target.rpartition(":")
            package = module or next((one for begin, (one, _) in PACKAGES.items() if given.startswith(begin)), "")
            if package:  # a worker has imported nothing yet
                importlib.import_module(package)
            # Gymnasium's checker tests every step of the first environment, which is tested already.
            env: Any = gymnasium.make(given, disable_env_checker=True, **kwargs)
        else:
            env = self.target(**kwargs)
        for wrapper in self.wrappers:
            env = wrapper(env)
        return env


def examine(
    name: str, make: Make, vectorize: str = "sync", masks: bool = True, settings: LayoutSettings = AUTO
) -> ExaminedEnv:
    """Make one environment, check its spaces and play a few steps, so that errors are reported before a run begins."""
    if vectorize == "own":
        raise UserError(
            f"{name} is a function or a class, which creates one environment at a time: use --vectorize sync or async"
        )
    env = _made(name, make)
    try:
        if not isinstance(env, Env):
            raise _no_environment(name, type(env))
        try:
            layout, choices = Layout.of(env.observation_space, settings), Choices.of(env.action_space)
        except AttributeError as error:
            raise UserError(f"{name}: {error}: set observation_space and action_space in its __init__") from None
        except UserError as error:
            raise UserError(f"{name}: {error}") from None
        found = try_out(name, env, layout, choices, masks)
    finally:
        if isinstance(env, Env):
            _made(name, env.close)
    return ExaminedEnv(name, make, layout, choices, masks=found)


def examine_own(
    name: str,
    make: Make,
    own: Callable[[int], VectorEnv[Any, Any, Any]],
    masks: bool = True,
    settings: LayoutSettings = AUTO,
) -> ExaminedEnv:
    """Check the spaces of an environment's own vector class, which may differ from those of a single one."""
    vector: VectorEnv[Any, Any, Any] = _made(name, partial(own, 1))
    try:
        if vector.metadata.get("autoreset_mode") not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
            raise UserError(
                f"{name}: its own vector environment starts episodes one step late (autoreset_mode NEXT_STEP): use "
                f"--vectorize sync or async"
            )
        try:
            layout, choices = (
                Layout.of(vector.single_observation_space, settings),
                Choices.of(vector.single_action_space),
            )
            given = mask_in(_made(name, partial(vector.reset, seed=0))[1]) if masks else None
            if given is not None:
                allowed(mask_rows(given, 1, choices.nvec), choices.nvec)
        except (UserError, BadMask) as error:
            raise UserError(f"{name}: {error}") from None
    finally:
        vector.close()
    return ExaminedEnv(name, make, layout, choices, own, "" if given is None else "info")


def find(
    rest: str,
    kwargs: dict[str, Any],
    wrappers: Sequence[str],
    vectorize: str,
    masks: bool = True,
    settings: LayoutSettings = AUTO,
) -> ExaminedEnv:
    """The environment of ``gym:REST``: an id, MODULE:ID, or MODULE:FUNCTION."""
    name = f"gym:{rest}"
    module, _, inner = rest.rpartition(":")
    if is_of_script(name):
        raise UserError(
            f"{name} is a function defined in a script: pass it again, with env=FUNCTION in Python or --env "
            f"MODULE:FUNCTION on the command line"
        )
    if module:
        loaded = load_module(module, name)
        if inner not in gymnasium.registry and (function := getattr(loaded, inner, None)) is not None:
            _check_maker(name, function)
            maker = _Maker(function, kwargs, [_wrapper(one) for one in wrappers])
            return examine(name, maker, vectorize, masks, settings)
        _check_id(inner, module)
    else:
        for beginning, (package, install) in PACKAGES.items():
            if rest.startswith(beginning):
                load_library(package, name, install)
        _check_id(rest, "")
    make = _Maker(rest, kwargs, [_wrapper(one) for one in wrappers])
    if vectorize == "own":
        if gymnasium.spec(rest).vector_entry_point is None:
            raise UserError(f"{name} has no vector environment of its own: use --vectorize sync or async")
        if wrappers:
            raise UserError("--wrapper is for single environments: leave out --vectorize own")
        return examine_own(name, make, partial(_vector, rest, kwargs), masks, settings)
    return examine(name, make, masks=masks, settings=settings)


def load_maker(named: str) -> Make:
    """The function or class of ``MODULE:NAME`` that a user typed."""
    found: Make = load_object(named.removeprefix("gym:"))
    _check_maker(named, found)
    return found


def drawn(make: Make, mode: str) -> Env[Any, Any]:
    """An environment that draws itself.

    A function that takes ``render_mode`` is called with it. Of what others make, the render mode is changed if the
    environment has this one: most environments look at it when they draw.
    """
    env = make()
    if env.render_mode == mode or mode not in (env.metadata.get("render_modes") or ()):
        return env
    env.close()
    target = make.target if isinstance(make, _Maker) else make
    env = (partial(make, render_mode=mode) if _takes_render_mode(target) else make)()
    if env.render_mode != mode:
        env.unwrapped.render_mode = mode
    return env


def _takes_render_mode(target: str | Callable[..., Any]) -> bool:
    if isinstance(target, str):
        return True
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(one.name == "render_mode" or one.kind == one.VAR_KEYWORD for one in parameters)


def _check_id(given: str, module: str) -> None:
    try:
        gymnasium.spec(given)
    except gym_error.Error as error:
        known = list(gymnasium.registry)
        wanted = given.lower()
        lower = {one.lower(): one for one in known}
        near = difflib.get_close_matches(wanted, [*lower, *(one.rpartition("-v")[0] for one in lower)], n=1, cutoff=0.6)
        if near:
            same = [one for one in known if one.lower() == near[0] or one.lower().rpartition("-v")[0] == near[0]]
            raise UserError(f"unknown environment 'gym:{given}': did you mean gym:{same[-1]}?") from None
        where = "no installed package has registered it"
        hint = "install its package, or write gym:MODULE:ID to import a module"
        if module:
            where, hint = f"{module} neither registers it nor has a function of that name", "check its spelling"
        details = f" ({reason(error)})" if isinstance(error, gym_error.DeprecatedEnv) else ""
        raise UserError(f"unknown environment 'gym:{given}': {where}{details}: {hint}") from None


def _wrapper(named: str) -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = load_object(named)
    if isinstance(found, type) and not issubclass(found, Wrapper):
        raise UserError(f"--wrapper {named} is not a gymnasium.Wrapper: let its class inherit from it")
    check_code(f"--wrapper {named}", found)
    return found


def _check_maker(name: str, found: Any) -> None:
    """Raise a `UserError` unless something is a class of environments, or a function that may make one."""
    if isinstance(found, type) and not issubclass(found, Env):
        raise _no_environment(name, found)
    check_code(name, found)


def _no_environment(name: str, kind: type) -> UserError:
    return UserError(f"{name} is not a gymnasium.Env: it is a {kind.__name__}; let its class inherit from it")


def _vector(given: str, kwargs: dict[str, Any], envs: int) -> VectorEnv[Any, Any, Any]:
    mode: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP} if given.startswith("ALE/") else {}
    return gymnasium.make_vec(given, envs, vectorization_mode="vector_entry_point", **{**mode, **kwargs})


def _made(name: str, make: Callable[[], Any]) -> Any:
    return attempt(f"{name} cannot be created", make)
