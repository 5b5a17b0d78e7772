"""``doctor`` shows what is installed, and names the fix for what is broken."""

import shutil
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import jax
import pytest
from packaging.specifiers import SpecifierSet
from rich.console import Console

import action_balance
from action_balance import doctor
from action_balance.cli import main as cli
from action_balance.doctor import Package
from action_balance.errors import UserError

NEEDED = [
    Package("jax", "0.10.2", SpecifierSet(">=0.9"), ()),
    Package("tensorboard", "2.20.0", SpecifierSet(">=2.18"), ("tensorboard",)),
    Package("gymnasium", None, SpecifierSet(">=1.1"), ("atari", "gym")),
]


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A doctor that has seen three packages, and whose tests cost nothing."""
    monkeypatch.setattr(doctor, "packages", lambda: NEEDED)
    monkeypatch.setattr(doctor, "TESTS", {"sums": lambda: None})
    monkeypatch.setattr(doctor, "module_of", lambda _: "json")
    return monkeypatch


def printed(width: int = 80) -> list[str]:
    """The lines that it prints where there is no terminal."""
    console = Console(width=width, force_terminal=False)
    with console.capture() as capture:
        doctor.examine(console)
    return [" ".join(line.split()) for line in capture.get().splitlines()]


def refused() -> str:
    """The error instead of "everything works"."""
    with pytest.raises(UserError) as error:
        printed()
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of libraries that are imported
def test_the_command_finds_nothing_wrong_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    cli.main(["doctor"])
    shown = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[-1] == "everything works"
    assert f"action-balance {action_balance.__version__}" in lines
    assert f"jaxlib {metadata.version('jaxlib')}" in lines
    for test in doctor.TESTS:
        assert f"{test} ok" in lines
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "…" not in shown


def test_packages_are_those_of_the_project() -> None:
    needed = {one.name: one for one in doctor.packages()}
    assert needed["jax"].extras == ()
    assert needed["jax"].version == metadata.version("jax")
    assert needed["tensorboard"].extras == ("tensorboard",)
    assert "ruff" not in needed
    assert set(doctor.EXTRAS) == {extra for one in needed.values() for extra in one.extras}


def test_a_package_of_several_extras_must_please_all(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=1.0", 'numpy>=1.5; extra == "atari"', 'numpy<90; extra == "gym"', 'ruff; extra == "dev"']
    monkeypatch.setattr(metadata, "requires", lambda _: lines)
    (one,) = doctor.packages()
    assert (one.name, one.extras, one.fits) == ("numpy", ("atari", "gym"), True)
    assert one.needed == SpecifierSet(">=1.0,>=1.5,<90")


def test_it_works_in_a_folder_that_was_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", unknown)
    assert doctor.packages() == []


@pytest.mark.usefixtures("examined")
def test_extras_that_are_not_there_are_named_with_their_command() -> None:
    lines = printed(width=100)
    assert 'Extras: pip install -c constraints.txt ".[EXTRA]" in the project\'s folder' in lines
    assert "tensorboard learning curves in TensorBoard installed" in lines
    assert "atari Atari games not installed" in lines
    assert "gym Gymnasium environments not installed" in lines
    assert "gymnasium - >=1.1 atari, gym" in lines
    assert "tensorboard loads ok" in lines
    assert lines[-1] == "everything works"


def test_a_package_that_is_too_old_is_one_line_with_the_fix(examined: pytest.MonkeyPatch) -> None:
    examined.setattr(doctor, "packages", lambda: [Package("jax", "0.8.1", SpecifierSet(">=0.9"), ())])
    assert refused() == 'jax 0.8.1 is not supported, >=0.9 is required: pip install --upgrade "jax>=0.9"'


def test_a_test_that_fails_is_one_line_with_the_fix(examined: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise ValueError("one is not two\nat all")

    examined.setattr(doctor, "TESTS", {"sums": fails, "products": fails})
    message = refused()
    assert message == (
        "sums: failed (ValueError: one is not two): create a new virtual environment and install action-balance there "
        "(and 1 more, see above)"
    )


def test_an_extra_that_cannot_be_loaded_is_one_line_with_the_fix(examined: pytest.MonkeyPatch) -> None:
    examined.setattr(doctor, "module_of", lambda _: "no_such_module")
    assert refused().endswith("No module named 'no_such_module'): pip install --force-reinstall tensorboard")


def test_wrong_numbers_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "balance", lambda logits, bonus, coef: logits + coef * bonus)
    checks = {check.name: check.error for check in doctor.self_test([])}
    assert checks["behaviour policy (Eq. 5)"].startswith("AssertionError: Not equal to tolerance")
    assert not checks["tabular agent, 64 steps"]


def test_a_backend_that_does_not_start_is_one_line(examined: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise RuntimeError("Unable to initialize backend 'cuda': no GPU\nmore")

    message = "JAX does not start (Unable to initialize backend 'cuda': no GPU): "
    examined.setattr(jax, "devices", fails)
    examined.setenv("JAX_PLATFORMS", "cuda")
    assert refused() == message + "unset JAX_PLATFORMS, which requests cuda"
    examined.delenv("JAX_PLATFORMS")
    assert refused() == message + "pip install --force-reinstall jax jaxlib"


def test_gpus_are_named_with_their_memory(examined: pytest.MonkeyPatch) -> None:
    gpus = [
        SimpleNamespace(platform="gpu", device_kind="H200", memory_stats=lambda: {"bytes_limit": 3 * 2**30}),
        SimpleNamespace(platform="gpu", device_kind="Other", memory_stats=lambda: None),
    ]
    examined.setattr(jax, "devices", lambda: gpus)
    assert doctor.devices()["GPU"] == "H200, 3 GiB for JAX\nOther"


def test_a_gpu_that_jax_does_not_use_is_reported(examined: pytest.MonkeyPatch) -> None:
    examined.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    examined.setattr(jax, "devices", lambda: [SimpleNamespace(platform="cpu")])
    assert 'pip install "jax[cuda13]"' in doctor.devices()["GPU"]


@pytest.mark.usefixtures("examined")
def test_the_compilation_cache_is_named() -> None:
    before = jax.config.values["jax_compilation_cache_dir"]
    try:
        jax.config.update("jax_compilation_cache_dir", "/some/folder")
        assert any("compilation cache /some/folder" in line for line in printed())
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
