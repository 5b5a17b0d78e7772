"""Examine an installation: versions, devices, extras, and a self-test."""

import importlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from rich.console import Console
from rich.table import Table
from rich.text import Text

from action_balance import __version__
from action_balance.core.balance import balance
from action_balance.core.program_cache import LIMIT, SETTING, use_program_cache
from action_balance.envs.grid.maps import open_world
from action_balance.errors import UserError, as_size
from action_balance.files import install, reason
from action_balance.machine import cores
from action_balance.tabular import agent
from action_balance.tabular.settings import TabularSettings, coefficients

NAME = "action-balance"

#: What the extras are for; extras for developers are not listed.
EXTRAS = {
    "atari": "Atari games",
    "gym": "Gymnasium environments",
    "mujoco": "MuJoCo and gymnasium-robotics",
    "gymnax": "environments of gymnax",
    "craftax": "environments of Craftax",
    "navix": "environments of Navix",
    "xminigrid": "environments of XLand-MiniGrid",
    "cluster": "--on ray, and sweep",
    "tensorboard": "learning curves in TensorBoard",
    "wandb": "--track wandb",
    "mlflow": "--track mlflow",
    "pandas": "metrics as a DataFrame",
    "torch": "bonuses for PyTorch",
    "sb3": "bonuses for Stable-Baselines3",
}

#: Fix for a failed test.
REINSTALL = f"create a new virtual environment and install {NAME} there"


@dataclass(frozen=True)
class Package:
    """A required package."""

    name: str
    version: str | None  # None if it is not installed
    needed: SpecifierSet
    extras: tuple[str, ...]  # that install it; empty if it is always required

    @property
    def fits(self) -> bool:
        return self.version is not None and self.needed.contains(self.version, prereleases=True)

    @property
    def command(self) -> str:
        return f'pip install --upgrade "{self.name}{self.needed}"' if self.version else install(self.extras[0])


class Check(NamedTuple):
    """One part of the self-test."""

    name: str
    error: str  # empty if it passed
    fix: str


def version(package: str) -> str | None:
    """Version of a package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def module_of(package: str) -> str:
    return "mlflow" if package == "mlflow-skinny" else package.replace("-", "_")


def packages() -> list[Package]:
    """All requirements of `pyproject.toml`; none if the package runs from a folder without being installed."""
    try:
        requirements = [Requirement(line) for line in metadata.requires(NAME) or ()]
    except metadata.PackageNotFoundError:
        return []
    found: dict[str, Package] = {}
    for one in requirements:
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            extras: tuple[str, ...] = ()
        else:
            extras = tuple(extra for extra in EXTRAS if one.marker.evaluate({"extra": extra}))
            if not extras:
                continue
        known = found.get(one.name, Package(one.name, version(one.name), SpecifierSet(), ()))
        found[one.name] = Package(one.name, known.version, known.needed & one.specifier, known.extras + extras)
    return list(found.values())


def devices() -> dict[str, str]:
    """Processor and GPUs in words; a `UserError` if JAX finds no device."""
    try:
        known = jax.devices()
    except Exception as error:  # among others, an AssertionError without a message
        asked = os.environ.get("JAX_PLATFORMS")
        fix = f"unset JAX_PLATFORMS, which requests {asked}" if asked else "pip install --force-reinstall jax jaxlib"
        raise UserError(f"JAX does not start ({reason(error)}): {fix}") from None
    accelerators = []
    for device in known:
        if device.platform != "cpu":
            limit = (device.memory_stats() or {}).get("bytes_limit")
            accelerators.append(device.device_kind + (f", {limit / 2**30:.0f} GiB for JAX" if limit else ""))
    if not accelerators and shutil.which("nvidia-smi"):
        accelerators = ['JAX does not use it: pip install "jax[cuda13]", or jax[cuda12] if the driver is older']
    kind = "CPU cores" if known[0].platform == "cpu" else known[0].device_kind
    return {
        "processor": f"{cores()} cores ({platform.machine()})",
        "GPU": "\n".join(accelerators) or "none",
        "--devices all": f"{len(known)} x {kind}",
    }


def _balances() -> None:
    """Eq. 5: the bonus (3, 4) has norm 5, so c = 2 adds 1.2 and 1.6 to the logits."""
    logits = jax.jit(balance)(jnp.array([1.0, 0.0]), jnp.array([3.0, 4.0]), 2.0)
    np.testing.assert_allclose(logits, [2.2, 1.6], rtol=1e-3)


def _explores() -> None:
    """Four updates of the tabular agent in a world of four cells: all steps are counted, and all cells are visited."""
    world, settings = open_world(2, episode_steps=8), TabularSettings(update_every=16)
    action_coef, state_coef = np.array(coefficients("action-balance-rnd", settings))
    run = agent.begin(world, jax.random.key(0), action_coef, state_coef, world.goals)
    advance = jax.jit(agent.advance, static_argnums=2)
    for _ in range(4):
        run, _ = advance(world, run, settings)
    visits = np.asarray(run.tables.counts).sum(axis=1)
    np.testing.assert_equal((visits.sum(), visits.min() > 0), (64, True))


#: The self-test, by what each part checks.
TESTS: dict[str, Callable[[], None]] = {
    "behaviour policy (Eq. 5)": _balances,
    "tabular agent, 64 steps": _explores,
}


def _attempt(name: str, test: Callable[[], object], fix: str) -> Check:
    try:
        test()
    except Exception as problem:  # any failure is reported
        return Check(name, f"{type(problem).__name__}: {reason(problem)}", fix)
    return Check(name, "", fix)


def self_test(needed: Sequence[Package]) -> list[Check]:
    """Check parts of the method against numbers computed by hand, and that packages of the extras load."""
    checks = [_attempt(name, test, REINSTALL) for name, test in TESTS.items()]
    for package in needed:
        if package.extras and package.fits:
            module = module_of(package.name)
            fix = f"pip install --force-reinstall {package.name}"
            checks.append(_attempt(f"{package.name} loads", partial(importlib.import_module, module), fix))
    return checks


def examine(console: Console) -> None:
    """Print everything; a `UserError` that names the fix if something is broken."""
    needed = packages()
    versions: list[tuple[str, ...]] = [(NAME, __version__), ("Python", platform.python_version())]
    for one in needed:
        versions.append((one.name, one.version or "-", str(one.needed), ", ".join(one.extras)))
        if one.name == "jax":
            versions.append(("jaxlib", version("jaxlib") or "-"))
    _show(console, "Versions", versions, ("package", "version", "required", "extra"))
    folder = use_program_cache()
    kept = f"{folder}, at most {as_size(LIMIT)}" if folder else f"off; {SETTING}=FOLDER sets a writable folder"
    machine = {"system": platform.platform(), "Python": sys.executable, **devices(), "compilation cache": kept}
    _show(console, "Machine", [(name, Text(text)) for name, text in machine.items()])
    extras = []
    for extra, use in EXTRAS.items():
        parts = [one for one in needed if extra in one.extras]
        extras.append((extra, use, "installed" if parts and all(one.fits for one in parts) else "not installed"))
    _show(console, f"Extras: {install('EXTRA')} in the project's folder", extras, ("extra", "for", ""))
    checks = self_test(needed)
    _show(console, "Self-test", [(one.name, Text(f"failed: {one.error}" if one.error else "ok")) for one in checks])
    problems = [
        f"{one.name} {one.version} is not supported, {one.needed} is required: {one.command}"
        for one in needed
        if one.version and not one.fits
    ]
    problems += [f"{check.name}: failed ({check.error}): {check.fix}" for check in checks if check.error]
    if problems:
        more = f" (and {len(problems) - 1} more, see above)" if len(problems) > 1 else ""
        raise UserError(problems[0] + more)
    console.print("everything works")


def _show(
    console: Console, title: str, rows: Iterable[Sequence[str | Text]], columns: Sequence[str] = ("", "")
) -> None:
    table = Table(box=None, padding=(0, 3, 0, 0), show_header=any(columns), header_style="dim")
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(Text(title, style="bold"))
    console.print(table)
    console.print()
