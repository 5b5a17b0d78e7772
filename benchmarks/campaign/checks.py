"""What is wrong with how a command ended, in one line each."""

import re
import signal
import sys
from collections.abc import Collection, Iterable
from functools import cache
from importlib import metadata

from campaign.processes import MAX_MEMORY, Ended

#: Exit codes that a command may have.
CODES = (0, 2, 130)
#: What an error begins with.
PROGRAM = "action-balance: "
#: What no output contains: an exception that nobody caught, and characters that control a terminal.
TRACEBACK = "Traceback (most recent call last)"
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

#: Modules that a hostile file names, and that nothing else imports.
CANARIES = ("canary_module", "this", "antigravity", "turtledemo", "idlelib", "pydoc_data")
#: Distributions that may be imported, with all that they require: what our package needs, also where it runs from its
#: sources and is not installed, and the environment libraries.
ROOTS = (
    *("action-balance", "equinox", "jax", "jaxlib", "jaxtyping", "markupsafe", "jinja2", "numpy", "optax", "scipy"),
    *("matplotlib", "packaging", "pillow", "pyyaml", "rich", "shtab", "tensorboard", "ale-py", "av", "gymnasium"),
    *("minigrid", "beartype", "opencv-python", "opencv-python-headless"),
)
#: Modules of no distribution that are ours, or of the interpreter's set-up.
ALSO_FINE = ("action_balance", "campaign", "sitecustomize", "usercustomize")


def problems(ended: Ended, codes: Collection[int] = CODES) -> list[str]:
    """What is wrong with how a command ended.

    Args:
        ended: how it ended.
        codes: exit codes that it may have.

    Returns:
        A line for each problem, without the command.
    """
    found = []
    if ended.hung:
        found.append(f"did not end within {ended.seconds:.0f} s")
    if ended.peak > MAX_MEMORY:
        found.append(f"used {ended.peak / 1e9:.1f} GB of memory")
    if TRACEBACK in ended.err or TRACEBACK in ended.out:
        found.append(f"printed a traceback: {_last_line(ended.err)}")
    elif ended.code not in codes and not ended.hung and not (130 in codes and _ended_by_interrupt(ended)):
        found.append(f"ended with exit code {ended.code}: {_last_line(ended.err)}")
    errors = [line for line in ended.err.splitlines() if line.startswith(PROGRAM)]
    if ended.code == 2 and (len(errors) != 1 or not ended.err.strip().endswith(errors[0].strip())):
        found.append(f"exit code 2 without one line that says why: {ended.err.strip()[-300:]!r}")
    if match := CONTROL.search(ended.out) or CONTROL.search(ended.err):
        found.append(f"printed the control character {match.group()!r}")
    return found


def _ended_by_interrupt(ended: Ended) -> bool:
    """Whether a signal met an interpreter that was already ending, and had taken its handlers back."""
    return ended.interrupted and ended.code == -signal.SIGINT


def strange_imports(ended: Ended, canaries: Iterable[str] = CANARIES) -> list[str]:
    """What a command imported or executed although only a hostile file asks for it.

    Args:
        ended: how the command ended.
        canaries: modules that nothing else imports.

    Returns:
        A line for each problem.
    """
    tops = sorted({name.partition(".")[0] for name in ended.imports})
    # Libraries try to import optional packages; what is not installed was not executed.
    strange = {*canaries} | (installed() - required() - {*sys.stdlib_module_names, *ALSO_FINE})
    found = [f"imported {name}" for name in tops if name in strange]
    return found + [f"executed {one}" for one in ended.executions if "canary" in one]


@cache
def _modules() -> dict[str, frozenset[str]]:
    """Top-level modules of every installed distribution."""
    found: dict[str, set[str]] = {}
    for module, names in metadata.packages_distributions().items():
        for name in names:
            found.setdefault(_plain(name), set()).add(module)
    return {name: frozenset(modules) for name, modules in found.items()}


def installed() -> frozenset[str]:
    """Top-level modules of all installed distributions."""
    return frozenset().union(*_modules().values())


@cache
def required() -> frozenset[str]:
    """Top-level modules of what the package and the environment libraries require, and of what that requires."""
    seen, todo = set[str](), [*ROOTS]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        todo += [_plain(re.split(r"[^\w.-]", one, maxsplit=1)[0]) for one in requirements if "extra ==" not in one]
    return frozenset().union(*(_modules().get(name, frozenset()) for name in seen))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip()[:300] if lines else ""
