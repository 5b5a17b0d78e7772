"""Compiled programs on the disk: found again, and never in the way."""

from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.compilation_cache import compilation_cache as jax_cache

from action_balance.core.program_cache import use_program_cache

SETTINGS = (
    "jax_compilation_cache_dir",
    "jax_compilation_cache_max_size",
    "jax_persistent_cache_min_compile_time_secs",
)


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """JAX as it is before anybody has set a cache."""
    before = {name: jax.config.values[name] for name in SETTINGS}
    for name in SETTINGS[1:]:
        monkeypatch.delenv(name.upper())  # of the tests
    monkeypatch.setenv("ACTION_BALANCE_CACHE", str(tmp_path / "programs"))
    jax.config.update("jax_compilation_cache_dir", None)
    jax_cache.reset_cache()
    yield monkeypatch
    for name, value in before.items():
        jax.config.update(name, value)
    jax_cache.reset_cache()


def compile_one() -> list[float]:
    found: list[float] = jax.jit(lambda x: x * 7 + 5).lower(jnp.arange(3.0)).compile()(jnp.arange(3.0)).tolist()
    return found


def test_programs_are_kept_with_a_limit_and_what_a_killed_process_left_is_removed(
    unset: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    unset.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")  # the user's own setting stays
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "jit_half-cache").touch()
    assert use_program_cache() == use_program_cache() == folder
    assert list(folder.iterdir()) == []
    assert compile_one() == [5, 12, 19]
    assert any(file.name.endswith("-cache") for file in folder.iterdir())
    assert (jax.config.values["jax_compilation_cache_max_size"], folder.stat().st_mode & 0o022) == (10**9, 0)


@pytest.mark.usefixtures("unset")
def test_a_cache_that_the_user_has_set_in_jax_stays(tmp_path: Path) -> None:
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    assert use_program_cache() == tmp_path
    assert jax.config.values["jax_compilation_cache_max_size"] == -1


def test_without_a_folder_programs_are_compiled_anew(unset: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    others = tmp_path / "others"
    others.mkdir()
    others.chmod(0o777)
    for chosen in ("off", str(tmp_path / "file" / "programs"), str(others)):
        unset.setenv("ACTION_BALANCE_CACHE", chosen)
        assert use_program_cache() is None
    assert jax.config.values["jax_compilation_cache_dir"] is None


def test_the_folder_is_in_the_users_cache_directory(unset: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unset.setenv("ACTION_BALANCE_CACHE", "")
    unset.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert use_program_cache() == tmp_path / "action-balance" / "programs"
