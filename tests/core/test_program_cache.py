"""Compiled programs on the disk: found again, never damaged, never in the way."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax._src import compilation_cache as jax_cache

from action_balance.core import program_cache
from action_balance.core.program_cache import (
    ABANDONED,
    PARTIAL,
    ProgramCache,
    Status,
    default_folder,
    prepared_folder,
    size_of,
    use_program_cache,
)

DIGEST = 32  # bytes before a program


@pytest.fixture
def cache(tmp_path: Path) -> ProgramCache:
    return ProgramCache(tmp_path)


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """JAX as it is before anybody has set a cache."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: jax.config.values[name] for name in names}
    monkeypatch.delenv(names[1].upper())  # of the tests, which do not keep small programs
    monkeypatch.setattr(jax_cache, "_cache", None)
    monkeypatch.setattr(jax_cache, "_cache_initialized", False)
    jax.config.update("jax_compilation_cache_dir", None)
    yield monkeypatch
    for name, value in before.items():
        jax.config.update(name, value)


def test_a_program_is_read_by_another_process(cache: ProgramCache, tmp_path: Path) -> None:
    assert cache.get("jit_step-12") is None
    cache.put("jit_step-12", b"program")
    assert ProgramCache(tmp_path).get("jit_step-12") == b"program"
    assert ProgramCache(tmp_path).get("jit_step-13") is None
    assert size_of(tmp_path) == DIGEST + len(b"program")


def test_a_processor_with_other_instructions_has_its_own_programs(
    cache: ProgramCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put("key", b"program")
    monkeypatch.setattr(program_cache, "processor_features", lambda: "flags: avx512f")
    assert cache.get("key") is None


@pytest.mark.parametrize("content", [b"", b"half", b"\0" * (DIGEST + 7)])
def test_a_damaged_program_is_compiled_again_and_replaced(cache: ProgramCache, content: bytes) -> None:
    cache.put("key", b"program")
    cache.file("key").write_bytes(content)
    assert cache.get("key") is None
    cache.put("key", b"program")
    assert cache.get("key") == b"program"


def test_the_programs_used_last_are_kept(tmp_path: Path) -> None:
    cache = ProgramCache(tmp_path, limit=3 * (DIGEST + 68))
    for age, key in enumerate("abc"):
        cache.put(key, bytes(68))
        os.utime(cache.file(key), (1000 + age, 1000 + age))
    assert cache.get("a") is not None  # used now
    cache.put("d", bytes(68))
    cache.evict()  # 400 of 300 bytes: down to 240
    assert [cache.get(key) is not None for key in "abcd"] == [True, False, False, True]


def test_what_a_killed_process_left_is_removed(cache: ProgramCache, tmp_path: Path) -> None:
    left, in_use = tmp_path / f"old{PARTIAL}", tmp_path / f"new{PARTIAL}"
    for file in (left, in_use):
        file.write_bytes(b"half")
    os.utime(left, (ABANDONED, ABANDONED))  # in 1970
    cache.put("key", b"program")
    assert (left.exists(), in_use.exists()) == (False, True)


def test_a_full_disk_costs_one_attempt_and_leaves_nothing(
    cache: ProgramCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def full(*_: object) -> None:
        attempts.append(1)
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put("a", b"program")
    cache.put("b", b"program")
    assert (len(attempts), list(tmp_path.iterdir())) == (1, [])


def test_a_folder_that_is_gone_is_no_error(tmp_path: Path) -> None:
    cache = ProgramCache(tmp_path / "gone")
    cache.put("key", b"program")
    assert cache.get("key") is None


def test_jax_compiles_a_program_once_for_all_processes(unset: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unset.setenv("ACTION_BALANCE_CACHE", str(tmp_path / "programs"))
    assert use_program_cache() == Status(tmp_path / "programs")
    assert use_program_cache() == Status(tmp_path / "programs")  # again
    reads, read = [], ProgramCache.get

    def spy(cache: ProgramCache, key: str) -> bytes | None:
        reads.append(read(cache, key))
        return reads[-1]

    x = jnp.arange(3.0)
    unset.setattr(ProgramCache, "get", spy)
    for _ in range(2):
        program = jax.jit(lambda x: x * 7 + 5).lower(x).compile()
        assert program(x).tolist() == [5, 12, 19]
    assert [one is None for one in reads] == [True, False]


@pytest.mark.usefixtures("unset")
def test_a_cache_that_the_user_has_set_in_jax_stays(tmp_path: Path) -> None:
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    assert use_program_cache() == Status(tmp_path)
    assert jax_cache._cache is None  # still JAX's own to make


def test_the_cache_can_be_turned_off(unset: pytest.MonkeyPatch) -> None:
    unset.setenv("ACTION_BALANCE_CACHE", "off")
    assert use_program_cache().problem == "ACTION_BALANCE_CACHE=off"
    assert jax.config.values["jax_compilation_cache_dir"] is None


def test_a_version_of_jax_without_a_setting_trains_without_the_cache(unset: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unset.setenv("ACTION_BALANCE_CACHE", str(tmp_path))

    def other_version(_: object, name: str, _value: object) -> None:
        if name == "jax_persistent_cache_enable_xla_caches":
            raise AttributeError(f"Unrecognized config option: {name}")

    with unset.context() as version:
        version.setattr(type(jax.config), "update", other_version)
        found = use_program_cache()
    assert (found.folder, "Unrecognized" in found.problem) == (tmp_path, True)
    assert (jax_cache._cache, jax.config.values["jax_compilation_cache_dir"]) == (None, None)


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACTION_BALANCE_CACHE", str(tmp_path))
    tmp_path.chmod(0o777)
    assert prepared_folder().problem
    tmp_path.chmod(0o755)
    assert prepared_folder() == Status(tmp_path)


def test_a_folder_that_cannot_be_made_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ACTION_BALANCE_CACHE", str(tmp_path / "file" / "programs"))
    assert prepared_folder().folder is None


@pytest.mark.skipif(sys.platform != "linux", reason="the convention of Linux")
@pytest.mark.parametrize(
    ("named", "expected"), [("/caches", "/caches/action-balance"), ("relative", "/me/.cache/action-balance")]
)
def test_the_folder_is_in_the_users_cache_directory(named: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACTION_BALANCE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.setenv("HOME", "/me")
    assert default_folder() == Path(expected) / "programs"
