"""Cores and memory, as the system describes them."""

import os
from pathlib import Path

import pytest

from action_balance import machine
from action_balance.errors import UserError
from action_balance.machine import Need, available_memory, check_memory, cores

GB = 10**9


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 5, 7}, raising=False)
    assert cores() == 3


def test_cores_are_all_where_the_system_does_not_restrict_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert cores() == 4
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


def test_too_much_memory_is_refused_with_the_numbers() -> None:
    needs = [
        Need("its rollouts", 2 * GB, "a smaller --envs", "8 environments x 128 steps x 2 MB"),
        Need("its networks", 159 * GB, "a smaller --hidden"),
        Need("its minibatches", 100, "a smaller --epochs"),
    ]
    check_memory("this run", needs, 162 * GB)
    check_memory("this run", needs, None)
    with pytest.raises(UserError) as caught:
        check_memory("this run", needs, 160 * GB)
    assert str(caught.value) == (
        "this run needs at least 161 GB of memory, but only 160 GB is available: 159 GB for its networks, "
        "2.0 GB for its "
        "rollouts (8 environments x 128 steps x 2 MB); use a smaller --hidden"
    )
    with pytest.raises(UserError, match=r"at least 3.0 TB of memory for it, but only 5.0 MB is available: use less"):
        check_memory("this run", [Need("it", 3 * 10**12, "less")], 5 * 10**6)


class Linux:
    """The files with which Linux describes memory, in a folder."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path, self.limit = path, -1
        monkeypatch.setattr(machine, "PROC", path / "proc")
        monkeypatch.setattr(machine, "CGROUPS", path / "cgroup")
        monkeypatch.setattr("resource.getrlimit", lambda _: (self.limit, self.limit))
        monkeypatch.setattr("os.sysconf", lambda _: 4096)

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Linux:
    pytest.importorskip("resource")
    return Linux(tmp_path, monkeypatch)


@pytest.mark.usefixtures("linux")
def test_memory_is_unknown_where_the_system_does_not_say() -> None:
    assert available_memory() is None


def test_memory_is_what_the_kernel_can_free_with_swap(linux: Linux) -> None:
    linux.write("proc/meminfo", "MemTotal: 900 kB\nMemAvailable:    700 kB\nSwapFree:        20 kB\n")
    assert available_memory() == 720 * 1024


def test_a_container_has_the_least_limit_of_its_groups(linux: Linux) -> None:
    linux.write("proc/meminfo", "MemAvailable: 9000000 kB\n")
    linux.write("proc/self/cgroup", "0::/outer/inner\n")
    linux.write("cgroup/outer/inner/memory.max", "max\n")
    linux.write("cgroup/outer/memory.max", "5000\n")
    linux.write("cgroup/outer/memory.stat", "anon 1200\nfile 3000\n")  # pages of files can be dropped
    assert available_memory() == 3800
    linux.write("cgroup/memory.max", "100\n")
    linux.write("cgroup/memory.stat", "anon 400\n")
    assert available_memory() == 0


def test_a_container_of_the_first_version_of_groups_is_limited_as_well(linux: Linux) -> None:
    linux.write("proc/self/cgroup", "5:cpu:/\n4:memory:/box\n0::/\n")
    linux.write("cgroup/memory/box/memory.limit_in_bytes", "7000\n")
    linux.write("cgroup/memory/box/memory.stat", "total_rss 500\n")
    linux.write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert available_memory() == 6500


def test_a_limit_of_the_process_counts(linux: Linux) -> None:
    linux.write("proc/self/statm", "10 5 0 0 0 0 0\n")
    linux.limit = 100_000
    assert available_memory() == 100_000 - 10 * 4096
