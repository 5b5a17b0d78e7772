"""The comparison of two runs in `benchmarks/devices.py`, with numbers computed by hand."""

from typing import Any

import devices
import numpy as np
import pytest

from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.studies.entropy.settings import FLAT

TINY = NetworkConfig(channels=2, features=4, trunk=4, bonus_features=4)
POLICY, _, ACTION = devices.NETWORKS


def run(**changed: Any) -> dict[str, np.ndarray]:
    found: dict[str, Any] = {name: [0.5, -0.25] for name in devices.LOSSES}
    found |= {"entropy_bonus": [FLAT - 0.001, FLAT - 0.004], "recorded": [3, 1, 2, 0], "sent": [3, 1, 2, 0]}
    for network in devices.NETWORKS:
        found |= {f"before{network}.a": [0.0, 0.0], f"after{network}.a": [3.0, 4.0]}
        found |= {f"before{network}.b": [[1.0]], f"after{network}.b": [[13.0]]}
    return {name: np.array(value) for name, value in (found | changed).items()}


def test_two_equal_runs_do_not_differ() -> None:
    found = devices.differences(run(), run())
    assert set(found.values()) == {0.0}
    assert devices.same(found)


def test_differences_are_relative_to_the_size_of_what_was_learned() -> None:
    other = run(
        loss_action=[0.5, -0.248],
        entropy_bonus=[FLAT - 0.001, FLAT - 0.003],
        **{f"after{ACTION}.a": [3.0, 4.5], f"after{ACTION}.b": [[14.2]]},
    )
    found = devices.differences(other, run())
    assert found == pytest.approx(
        {
            "losses": 0.002 / 0.5,
            "entropy": 0.001 / 0.004,
            "actions": 0,
            "start": 0,
            "policy": 0,
            "next-state bonus": 0,
            "action bonus": 1.3 / 13,  # 0.5 and 1.2 apart, 5 and 12 moved
            "worst array": 0.1,
        }
    )
    assert not devices.same(found)
    assert devices.same({**found, "entropy": 0.0})


def test_differences_of_entropy_below_the_resolution_of_float32_do_not_count() -> None:
    cpu = run(entropy_bonus=[FLAT - 1e-5])
    assert (
        devices.differences(run(entropy_bonus=[FLAT - 1e-5 + 2**-21]), cpu)["entropy"] == 0
    )  # two units in the last place
    found = devices.differences(run(entropy_bonus=[FLAT - 1.2e-5]), cpu)
    assert found["entropy"] == pytest.approx(0.2)
    assert not devices.same(found)


@pytest.mark.parametrize("place", [0, 1])
def test_actions_must_reach_the_environments_as_they_were_recorded_on_both_devices(place: int) -> None:
    pair = [run(), run()]
    pair[place]["sent"] = np.array([3, 1, 2, 2])
    found = devices.differences(*pair)
    assert found["actions"] == 0.25
    assert not devices.same(found)


def test_parameters_that_start_with_other_rounding_and_are_not_trained_do_not_differ() -> None:
    still = {f"after{ACTION}.a": [0.0, 0.0], f"after{ACTION}.b": [[1.0]]}
    other = {f"before{ACTION}.b": [[1.0 + 1e-7]], f"after{ACTION}.b": [[1.0 + 1e-7]]}
    found = devices.differences(run(**still | other), run(**still))
    assert found["action bonus"] == found["worst array"] == 0
    assert found["start"] == pytest.approx(1e-7)
    assert devices.same(found)


def test_networks_that_start_differently_differ_even_if_they_learn_the_same() -> None:
    shifted = {f"before{POLICY}.b": [[1.5]], f"after{POLICY}.b": [[13.5]]}
    found = devices.differences(run(**shifted), run())
    assert (found["policy"], found["start"]) == (0, 0.5)
    assert not devices.same(found)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_parameters_must_be_finite_even_if_losses_are(value: float) -> None:
    found = devices.differences(run(**{f"after{ACTION}.b": [[value]]}), run())
    assert found["losses"] == 0
    assert not devices.same(found)


def test_a_program_that_learned_wrongly_on_a_gpu_is_found_after_one_update() -> None:
    right = run(loss_action=[0.45989], loss_next_state=[0.50515])
    wrong = run(loss_action=[0.46377], loss_next_state=[0.50488])
    rounded = run(loss_action=[0.45988], loss_next_state=[0.50499])
    assert not devices.same(devices.differences(wrong, right))
    assert devices.same(devices.differences(rounded, right))


@pytest.mark.parametrize("name", [*devices.LOSSES, "entropy_bonus"])
def test_a_metric_that_is_not_finite_differs(name: str) -> None:
    assert not devices.same(devices.differences(run(**{name: [np.nan, 0.5]}), run()))
    assert not devices.same(devices.differences(run(**{name: [np.inf, 0.5]}), run()))


def test_a_loss_that_is_zero_on_the_cpu_only_differs() -> None:
    nothing = run(loss_action=[0.0, 0.0])
    assert devices.differences(run(loss_action=[0.0, 0.1]), nothing)["losses"] == np.inf


def test_networks_that_learn_nothing_do_not_differ() -> None:
    still = run(entropy_bonus=[FLAT, FLAT], **{f"after{ACTION}.a": [0.0, 0.0], f"after{ACTION}.b": [[1.0]]})
    assert devices.same(devices.differences(still, still))


@pytest.fixture(scope="module")
def found() -> dict[str, np.ndarray]:
    """What a process reports after two updates."""
    return devices.learn("channel", 4, 1, TINY, 8, 2)


def test_both_processes_learn_from_the_same_pictures_and_report_everything(found: dict[str, np.ndarray]) -> None:
    one, two = devices.Pictures(4), devices.Pictures(4)
    assert np.array_equal(one.reset(), two.reset())
    for number in range(3):
        one.send(1, np.full(2, number))
        steps = one.receive(1), two.receive(1)
        assert np.array_equal(steps[0].frame, steps[1].frame)
        assert steps[0].frame.shape == (2, devices.SIDE, devices.SIDE)
    assert all(found[name].shape == (2,) and found[name].any() for name in (*devices.LOSSES, "entropy_bonus"))
    assert devices.same(devices.differences(found, found))
    for network in devices.NETWORKS:
        names = [name for name in found if name.startswith(f"after{network}.")]
        assert any((found[name] != found[name.replace("after", "before", 1)]).any() for name in names), network


def test_the_actions_of_all_rollouts_are_compared(
    found: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found["sent"].shape == (2, 8 * 3, 2)  # one rollout more than updates
    assert len(np.unique(found["sent"])) > 1
    assert devices.differences(found, found)["actions"] == 0
    send = devices.Pictures.send

    def change_one(self: devices.Pictures, group: int, actions: np.ndarray) -> None:
        changed = actions.copy()
        changed[0] += group == 1 and len(self.sent[1]) == 11
        send(self, group, changed)

    monkeypatch.setattr(devices.Pictures, "send", change_one)
    wrong = devices.learn("channel", 4, 1, TINY, 8, 2)
    assert devices.differences(found, wrong)["actions"] == 1 / found["sent"].size


@pytest.mark.parametrize("variant", devices.VARIANTS)
def test_every_variant_has_valid_settings(variant: str) -> None:
    method, normalize = devices.VARIANTS[variant]
    AgentConfig(method=method, exploration=ExplorationConfig(normalize=normalize))
