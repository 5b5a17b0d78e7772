"""What each run reserves, and what is said where Ray is missing or does not answer."""

import importlib.util

import pytest

from action_balance.cluster import session
from action_balance.cluster.session import Resources, plan
from action_balance.config.cluster import ClusterConfig
from action_balance.errors import UserError

RAY = ClusterConfig(on="ray")


def test_a_run_reserves_one_core_where_there_are_no_gpus() -> None:
    found = plan(RAY, [{"CPU": 2.0}])
    assert found == Resources(cpus=1.0, gpus=0.0, all_cpus=2.0, all_gpus=0.0, nodes=1)
    assert (found.slots, found.variables) == (2, {})
    assert found.options == {"num_cpus": 1.0, "num_gpus": 0.0}


def test_a_run_reserves_a_gpu_and_the_cores_that_belong_to_it() -> None:
    found = plan(RAY, [{"CPU": 16.0}, {"CPU": 32.0, "GPU": 4.0}, {"CPU": 64.0, "GPU": 4.0}])
    assert (found.cpus, found.gpus, found.slots, found.nodes) == (8.0, 1.0, 8, 3)
    assert found.variables == {}


def test_runs_that_share_a_gpu_share_its_memory() -> None:
    found = plan(ClusterConfig(on="ray", gpus_per_run=0.5), [{"CPU": 16.0, "GPU": 1.0}])
    assert (found.cpus, found.slots) == (8.0, 2)
    assert found.variables == {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.450"}
    assert found.options["runtime_env"] == {"env_vars": found.variables}


def test_a_run_without_gpus_does_not_use_those_of_its_node() -> None:
    found = plan(ClusterConfig(on="ray", gpus_per_run=0), [{"CPU": 16.0, "GPU": 1.0}])
    assert (found.cpus, found.slots, found.variables) == (1.0, 16, {"JAX_PLATFORMS": "cpu"})


def test_a_run_that_never_fits_is_an_error_on_this_machine_but_a_cluster_may_grow() -> None:
    with pytest.raises(UserError, match="2 cores and 0 GPUs, and a run is to reserve 8 and 0"):
        plan(ClusterConfig(on="ray", cpus_per_run=8), [{"CPU": 2.0}])
    found = plan(ClusterConfig(on="ray", cpus_per_run=8, address="auto"), [{"CPU": 2.0}])
    assert found.slots == 1


def test_one_line_says_what_to_install_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ray" else found(name))
    with (
        pytest.raises(UserError, match=r"ray is not installed, but --on ray needs it: pip install .*\[cluster\]"),
        session.ray_session(RAY),
    ):
        pass


def test_the_cluster_is_described() -> None:
    assert Resources(1, 0, 2, 0, 1).description == "Ray with 2 cores, up to 2 runs at once"
    several = "Ray with 64 cores and 8 GPUs of 2 nodes, up to 8 runs at once"
    assert Resources(8, 1, 64, 8, 2).description == several
