"""Intrinsic rewards of vector environments, in every autoreset mode."""

from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gym_cases import Counter, Guide, GuidedDials
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from action_balance import RND, IntrinsicBonus
from action_balance.errors import UserError
from action_balance.interop.gymnasium_wrapper import IntrinsicReward


class Quiet(Counter):
    """Without infos, which cannot be batched."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed, options=options)[0], {}

    def step(self, action: Any) -> Any:
        return (*super().step(action)[:4], {})


class TwoDials(GuidedDials):
    """Without observations, some of which are text, which the wrapper does not take."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space: Any = spaces.Box(0, 1, (2,), np.float32)

    def reset(self, **given: Any) -> Any:
        return np.zeros(2, np.float32), super().reset(**given)[1]

    def step(self, action: Any) -> Any:
        return (np.zeros(2, np.float32), *super().step(action)[1:])


class StepNumbers:
    """Rewards a state with its number within the episode; remembers what it learns from."""

    def __init__(self) -> None:
        self.learned: list[list[float]] = []
        self.observed: list[float] = []

    def reward(self, next_obs: Any) -> Any:
        return next_obs[:, 2].copy()

    def learn(self, next_obs: Any, **settings: Any) -> float:
        del settings
        self.learned.append(next_obs[:, 2].tolist())
        return len(next_obs)

    def observe(self, next_obs: Any) -> None:
        self.observed += next_obs[:, 2].tolist()


def counters(mode: AutoresetMode, envs: int = 2) -> SyncVectorEnv:
    return SyncVectorEnv([Quiet] * envs, autoreset_mode=mode)


def wrapped(mode: AutoresetMode = AutoresetMode.SAME_STEP, **settings: Any) -> IntrinsicReward:
    return IntrinsicReward(counters(mode), StepNumbers(), **{"warmup_steps": 0, **settings})


def rewards(env: IntrinsicReward, steps: int) -> list[list[float]]:
    """Intrinsic rewards of steps; with seeds 2 and 3, episodes have two and three steps."""
    env.reset(seed=[2, 3])
    found = []
    for _ in range(steps):
        _, _, terminated, truncated, info = env.step(np.array([0, 1]))
        found.append(info["intrinsic_reward"].tolist())
        if env.metadata["autoreset_mode"] == AutoresetMode.DISABLED and (terminated | truncated).any():
            env.reset(options={"reset_mask": terminated | truncated})
    return found


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_the_last_state_of_an_episode_is_rewarded(mode: AutoresetMode) -> None:
    assert rewards(wrapped(mode), 4) == [[1, 1], [2, 2], [1, 3], [2, 1]]


def test_a_step_that_only_begins_an_episode_has_no_reward_and_teaches_nothing() -> None:
    env = wrapped(AutoresetMode.NEXT_STEP, learn_every=4)

    assert rewards(env, 4) == [[1, 1], [2, 2], [0, 3], [1, 0]]
    assert env.bonus.learned == [[1, 1, 2, 2, 3, 1]]  # type: ignore[attr-defined]  # of `StepNumbers`
    assert env.error == 6


def test_rewards_are_in_the_infos_and_added_with_a_coefficient() -> None:
    env = wrapped(coef=0.5)
    env.reset(seed=[2, 3])
    _, reward, _, _, info = env.step(np.array([0, 1]))

    assert info["extrinsic_reward"].tolist() == [0, 1]
    assert info["intrinsic_reward"].tolist() == [1, 1]
    assert reward.tolist() == [0.5, 1.5]
    assert info["_intrinsic_reward"].tolist() == info["_extrinsic_reward"].tolist() == [True, True]


def test_the_caller_decides_when_the_bonus_learns() -> None:
    env = wrapped(learn_every=None)
    rewards(env, 3)
    assert env.error is None
    env.learn()

    assert env.bonus.learned == [[1, 1, 2, 2, 1, 3]]  # type: ignore[attr-defined]  # of `StepNumbers`
    env.learn()  # from nothing
    assert env.error == 6


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_warm_up_comes_before_the_first_reset_and_leaves_the_environments_as_they_were(mode: AutoresetMode) -> None:
    env = wrapped(mode, warmup_steps=4)
    obs, _ = env.reset(seed=[2, 3])

    assert env.warmup_timesteps == 8
    assert len(env.bonus.observed) == 8  # type: ignore[attr-defined]  # of `StepNumbers`
    assert obs.tolist() == [[2, 0, 0], [3, 0, 0]]
    env.reset(seed=[2, 3])
    assert len(env.bonus.observed) == 8  # type: ignore[attr-defined]  # of `StepNumbers`


@pytest.mark.parametrize(("kind", "mode"), [(Guide, AutoresetMode.NEXT_STEP), (TwoDials, AutoresetMode.SAME_STEP)])
def test_the_warm_up_takes_allowed_actions_only(kind: Any, mode: AutoresetMode) -> None:
    bonus = RND.create(kind().observation_space, environments=2, width=8)
    env = IntrinsicReward(SyncVectorEnv([kind] * 2, autoreset_mode=mode), bonus, warmup_steps=12)
    env.reset(seed=[2, 3])  # a forbidden action is an error
    assert env.warmup_timesteps == 24


def test_the_warm_up_takes_continuous_actions_within_their_bounds() -> None:
    taken = []

    class Lever(Quiet):
        action_space = spaces.Box(np.array([-2, 5], np.float32), np.array([-1, 9], np.float32))

        def step(self, action: Any) -> Any:
            taken.append(action)
            return super().step(0)

    envs = SyncVectorEnv([Lever] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    IntrinsicReward(envs, StepNumbers(), warmup_steps=8).reset(seed=2)
    assert len(taken) == 16
    assert all(Lever.action_space.contains(action) for action in taken)


def test_a_bonus_for_another_number_of_environments_is_refused() -> None:
    class ForThree(StepNumbers):
        environments = 3  # as an `RND` has it

    with pytest.raises(UserError, match="environments=2"):
        IntrinsicReward(counters(AutoresetMode.SAME_STEP), ForThree())


def test_a_bonus_that_rewards_transitions_is_refused() -> None:
    bonus = IntrinsicBonus.create((3,), 2, intrinsic="icm", environments=2, width=8)
    with pytest.raises(UserError, match="passes states only, and the bonus rewards transitions: use rnd"):
        IntrinsicReward(counters(AutoresetMode.SAME_STEP), bonus)


def test_rnd_rewards_cartpole_and_learns() -> None:
    env = SyncVectorEnv([partial(gymnasium.make, "CartPole-v1")] * 2, autoreset_mode=AutoresetMode.NEXT_STEP)
    rnd = RND.create(env.single_observation_space, environments=2, width=8)
    explored = IntrinsicReward(env, rnd, coef=1.0, learn_every=16, learn_kwargs={"minibatches": 2}, warmup_steps=8)
    explored.reset(seed=0)
    found = [explored.step(np.array([1, 1])) for _ in range(32)]

    first, *rest = (step[4]["intrinsic_reward"] for step in found)
    assert (first == 0).all()  # the spread of returns is not known yet
    # Pushed to one side, a pole falls within a dozen steps, and the step after that begins an episode.
    begins = np.array([False] + [bool((step[2] | step[3])[0]) for step in found[:-1]])
    assert begins.any()
    values = np.array([first, *rest])[:, 0]
    assert (values[begins] == 0).all()
    assert (values[1:][~begins[1:]] > 0).all()
    assert explored.error > 0
    explored.close()
