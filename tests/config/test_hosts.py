"""Which process of several this one is: flags, variables, and what is wrong with them."""

import pytest

from action_balance.config.hosts import HostsConfig
from action_balance.errors import UserError

JAX = {"JAX_COORDINATOR_ADDRESS": "node1:1234", "JAX_NUM_PROCESSES": "4", "JAX_PROCESS_ID": "3"}


def test_without_flags_a_process_is_alone_whatever_the_environment_says() -> None:
    alone = HostsConfig()
    assert not alone.with_environment({**JAX, "SLURM_JOB_ID": "7", "SLURM_NTASKS": "2"}).is_wanted


def test_flags_come_before_variables_of_jax() -> None:
    settings = HostsConfig(process_id=2).with_environment(JAX)
    assert (settings.coordinator, settings.processes, settings.process_id) == ("node1:1234", 4, 2)
    assert settings.is_complete


def test_what_is_missing_is_left_to_the_cluster_only_if_asked() -> None:
    assert not HostsConfig(distributed=True).with_environment({}).is_complete
    with pytest.raises(UserError, match=r"--processes and --process-id; .* use --distributed"):
        HostsConfig(coordinator="node1:1234").with_environment({})


@pytest.mark.parametrize(("address", "expected"), [("node1:1234", ("node1", 1234)), ("[fd00::1]:80", ("fd00::1", 80))])
def test_an_address_is_host_and_port(address: str, expected: tuple[str, int]) -> None:
    assert HostsConfig(coordinator=address).address == expected


@pytest.mark.parametrize("address", ["node1", ":1234", "node1:", "node1:http", "node1:0", "node1:65536"])
def test_a_wrong_address_is_one_line(address: str) -> None:
    with pytest.raises(UserError, match="--coordinator must be HOST:PORT"):
        HostsConfig(coordinator=address)


@pytest.mark.parametrize(
    ("variables", "line"),
    [
        ({"JAX_PROCESS_ID": "one"}, "JAX_PROCESS_ID must be a whole number, not 'one'"),
        ({"JAX_PROCESS_ID": "4"}, "--process-id must be at most 3, not 4"),
        ({"JAX_NUM_PROCESSES": "0"}, "--processes must be 1 or more, not 0"),
    ],
)
def test_wrong_variables_are_one_line(variables: dict[str, str], line: str) -> None:
    with pytest.raises(UserError, match=line):
        HostsConfig(distributed=True).with_environment(JAX | variables)
