"""Gymnasium environments that say which actions are allowed: found when they are examined, carried with every step."""

from collections.abc import Callable
from functools import partial
from typing import Any

import gym_cases
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from action_balance.envs.gymnasium.config import GymnasiumConfig
from action_balance.envs.gymnasium.make import ExaminedEnv, examine, examine_own
from action_balance.envs.gymnasium.vector import GymEnvironment
from action_balance.envs.host_base import EnvironmentFailed, MaskedEnvironment, first_masks
from action_balance.envs.masks import sample_allowed
from action_balance.errors import UserError

FIRST = [False, True, False]  # at the beginning of an episode
#: Guide forbids the action of its clock modulo 3.
LATER = {1: [True, False, True], 2: [True, True, False]}


def guide(make: Callable[[], Any] = gym_cases.Guide) -> ExaminedEnv:
    return examine("gym:guide", make)


def own_guide(envs: int, mode: AutoresetMode) -> SyncVectorEnv:
    return SyncVectorEnv([gym_cases.Guide] * envs, autoreset_mode=mode)


def check_play(environment: GymEnvironment, steps: int = 12) -> None:
    """Play allowed actions at random, and check that masks belong to the frames that are seen."""
    rng, seen = np.random.default_rng(0), environment.reset((5,))[0]
    mask = first_masks(environment)[0]
    assert seen[:, 0].tolist() == [one % 10 for one in seen[:, 0]]
    ended = False
    for _ in range(steps):
        expected = [FIRST if clock == 0 else LATER[int(clock)] for clock in seen[:, 1]]
        assert mask is not None
        assert mask.dtype == bool
        assert mask.tolist() == expected
        environment.send(0, sample_allowed(rng, mask, (3,)).astype(np.int32))
        step = environment.receive(0)
        seen, mask, ended = step.frame, step.mask, ended or bool(step.ended.any())
    assert ended


def test_masks_are_found_in_infos_and_behind_wrappers() -> None:
    assert guide().masks == "info"
    assert guide(gym_cases.GuideMethod).masks == "method"
    assert guide(gym_cases.Counter).masks == ""
    assert guide(gym_cases.GuidedDials).choices.nvec == (4, 3)
    assert guide(gym_cases.GuidedDials).masks == "info"


def test_masks_are_over_the_discrete_choices_of_actions_that_have_numbers_too() -> None:
    class Aimed(gym_cases.Guide):
        action_space: Any = spaces.Tuple((spaces.Discrete(3), spaces.Box(1, 2, (1,))))

        def step(self, action: Any) -> Any:
            assert self.action_space.contains(action)
            return super().step(action[0])

    environment = GymEnvironment(guide(Aimed), 2)  # steps with allowed actions when it is examined
    assert (environment.spec.masked, environment.spec.nvec, environment.spec.bounds) == (True, (3,), ((1, 2),))
    environment.reset((5,))
    environment.send(0, np.array([[1, 1.5], [1, 2]], np.float32))
    mask = environment.receive(0).mask
    assert mask is not None
    assert mask.tolist() == [LATER[1], LATER[1]]


@pytest.mark.parametrize("make", [gym_cases.Guide, gym_cases.GuideMethod])
def test_masks_belong_to_the_next_decision_also_where_an_episode_begins(make: Callable[[], Any]) -> None:
    environment = GymEnvironment(guide(make), 4, 2)
    assert isinstance(environment, MaskedEnvironment)
    assert environment.spec.masked
    check_play(environment)
    environment.close()


def test_workers_send_masks_too() -> None:
    environment = GymEnvironment(guide(), 2, 1, vectorize="async")
    check_play(environment)
    vector: Any = environment._vectors[0]
    for process in vector.processes:  # as if the system had run out of memory
        process.kill()
        process.join()
    environment.send(0, np.array([1, 1], np.int32))
    step = environment.receive(0)
    assert step.lost
    assert step.mask is not None
    assert step.mask.tolist() == [FIRST, FIRST]
    environment.close()


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_own_vector_classes_give_masks_in_their_infos(mode: AutoresetMode) -> None:
    examined = examine_own("gym:guide", gym_cases.Guide, partial(own_guide, mode=mode))
    environment = GymEnvironment(examined, 3, 1, vectorize="own")
    assert environment.spec.masked
    check_play(environment)
    environment.close()


def test_components_of_an_action_are_masked_one_by_one() -> None:
    environment = GymEnvironment(guide(gym_cases.GuidedDials), 2)
    environment.reset()
    assert environment.first_mask.tolist() == [[[False, True, True, True, False, True, False]] * 2]
    environment.send(0, np.array([[2, 1], [3, 1]]))
    step = environment.receive(0)
    assert step.mask is not None
    assert step.mask.astype(int).tolist() == [[1, 1, 0, 1, 1, 0, 1], [1, 1, 1, 0, 1, 0, 1]]
    environment.close()


@pytest.mark.parametrize(
    ("fault", "vectorize", "message"),
    [
        ("none", "sync", "an action mask allows no action"),
        ("missing", "sync", "an info has no action_mask, but others have one: .* or use --action-masks ignore"),
        ("shape", "async", "an action mask has 4 entries, but there are 3 actions"),
    ],
)
def test_masks_that_go_wrong_while_training_are_one_line(fault: str, vectorize: Any, message: str) -> None:
    environment = GymEnvironment(guide(partial(gym_cases.Guide, fault)), 1, vectorize=vectorize)
    with pytest.raises(EnvironmentFailed, match=message) as caught:
        check_play(environment, 40)
    assert "\n" not in str(caught.value)
    environment.close()


def test_a_mask_that_is_missing_at_first_is_reported_when_the_environment_is_examined() -> None:
    with pytest.raises(
        UserError, match="step\\(\\) provides an action_mask, but reset\\(\\) does not: provide it in both, or"
    ):
        guide(gym_cases.GuideLate)


def test_masks_can_be_ignored() -> None:
    taxi = f"gym:{next(one for one in gymnasium.registry if one.startswith('Taxi-v'))}"
    assert not GymnasiumConfig(taxi, action_masks="ignore").spec.masked
    assert GymnasiumConfig(taxi).spec.masked
    assert GymnasiumConfig(taxi).describe().endswith("; masked actions are never chosen")
