"""Versions, and what has changed since an earlier start."""

from action_balance import __version__
from action_balance.runs.manifest import changes, versions


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
