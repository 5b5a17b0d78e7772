"""Versions, the commit, which is read from the files of a repository, and what has changed since an earlier start."""

import shutil
import subprocess
from pathlib import Path

import pytest

from action_balance import __version__
from action_balance.runs.manifest import changes, commit, versions

A, B = "a" * 40, "b" * 64


def repository(path: Path, head: str = "ref: refs/heads/main\n", **files: str) -> Path:
    git = path / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text(head)
    for name, text in files.items():
        file = git / name.replace("__", "/").replace("_", "-")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return path


def test_the_commit_is_that_of_the_branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = repository(tmp_path / "a", refs__heads__main=f"{A}\n", packed_refs=f"{B} refs/heads/main\n") / "x" / "y"
    inside.mkdir(parents=True)
    assert commit(inside) == A
    monkeypatch.chdir(inside)
    assert commit() == A
    packed = f"# pack-refs with: peeled\n{A} refs/heads/mainly\n{B} refs/heads/main\n^{A}\n"
    assert commit(repository(tmp_path / "b", packed_refs=packed)) == B
    assert commit(repository(tmp_path / "c", f"{A}\n")) == A


def test_a_worktree_shares_the_branches_of_its_repository(tmp_path: Path) -> None:
    main = repository(tmp_path / "main", refs__heads__other=f"{A}\n")
    own = main / ".git" / "worktrees" / "tree"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/other\n")
    (own / "commondir").write_text("../..\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {own}\n")
    assert commit(tmp_path / "tree") == A


@pytest.mark.parametrize(
    "head",
    ["", "ref: refs/heads/none", "c" * 41, "\xff\0"],
)
def test_what_is_not_as_git_writes_it_is_no_commit(head: str, tmp_path: Path) -> None:
    assert commit(repository(tmp_path / "a", head)) is None
    assert commit(tmp_path) is None


def test_a_hostile_repository_executes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, owned = tmp_path / "program", tmp_path / "owned"
    program.write_text(f"#!/bin/sh\ntouch {owned}\n")
    program.chmod(0o755)
    settings = f"[core]\n\tfsmonitor = {program}\n\tpager = {program}\n[diff]\n\texternal = {program}\n"
    path = repository(tmp_path / "a", refs__heads__main=f"{A}\n", config=settings)
    shutil.copy(program, tmp_path / "git")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.chdir(path)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert commit() == A
    assert not owned.exists()


def test_versions_of_packages_that_are_not_installed_are_none() -> None:
    found = versions(("numpy", "no-such-package"))
    assert found["action-balance"] == __version__
    assert found["numpy"] is not None
    assert found["no-such-package"] is None


def test_only_what_both_starts_recorded_can_have_changed() -> None:
    before = {"versions": {"jax": "1", "numpy": "2"}, "hardware": {"devices": ["a"]}}
    after = {"versions": {"jax": "3", "numpy": "2", "new": "1"}, "hardware": {"devices": ["b", "b"]}}
    first, second = changes(before, after)
    assert first.startswith("jax is now 3, was 1")
    assert second.startswith("it now runs on b, b, not on a")
    assert changes(before, before) == []
