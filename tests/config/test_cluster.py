"""Settings of a cluster are refused where they cannot work, and where nothing would use them."""

import pytest

from action_balance.config.cluster import ClusterConfig, RunChoice
from action_balance.errors import UserError


def test_runs_are_trained_here_unless_a_cluster_is_wanted() -> None:
    assert not ClusterConfig().is_wanted
    assert ClusterConfig(on="ray", address="node1:6379", gpus_per_run=0.5).is_wanted


@pytest.mark.parametrize("settings", [{"address": "auto"}, {"gpus_per_run": 0.5}, {"cpus_per_run": 8}])
def test_settings_without_a_cluster_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(UserError, match="needs --on ray"):
        ClusterConfig(**settings)  # type: ignore[arg-type]


def test_an_address_has_a_host_and_a_port() -> None:
    for address in ("node1", "node1:", ":6379", "node1:port", "node1:70000", ""):
        with pytest.raises(UserError, match="must be HOST:PORT"):
            ClusterConfig(on="ray", address=address)
    with pytest.raises(UserError, match="ray job submit"):
        ClusterConfig(on="ray", address="ray://head:10001")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"cpus_per_run": 0}, "--cpus-per-run must be above 0"),
        ({"gpus_per_run": 1.5}, "at most 1, or a whole number, not 1.5"),
        ({"max_crashes": 0}, "--max-crashes must be 1 or more"),
    ],
)
def test_numbers_that_ray_would_refuse_are_refused_first(settings: dict[str, object], match: str) -> None:
    with pytest.raises(UserError, match=match):
        ClusterConfig(on="ray", **settings)  # type: ignore[arg-type]


def test_listing_runs_trains_none_of_them() -> None:
    with pytest.raises(UserError, match="leave out --only or --list-runs"):
        RunChoice(list_runs=True, only="venture-rnd-0")


@pytest.mark.parametrize(
    ("choice", "match"),
    [(RunChoice(only="a"), "--only and --overwrite"), (RunChoice(list_runs=True), "--list-runs and --overwrite")],
)
def test_a_choice_of_runs_excludes_flags_about_all_of_them(choice: RunChoice, match: str) -> None:
    choice.check(ClusterConfig(), overwrite=False)
    with pytest.raises(UserError, match=match):
        choice.check(ClusterConfig(), overwrite=True)
    with pytest.raises(UserError, match="and --on exclude each other"):
        choice.check(ClusterConfig(on="ray"))
    RunChoice().check(ClusterConfig(on="ray"), overwrite=True)
