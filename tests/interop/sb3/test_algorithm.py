"""Training with Stable-Baselines3, tiny: few steps, networks of 8 units, and few shapes that are compiled."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from action_balance.errors import UserError
from action_balance.interop.sb3 import ExploringPPO
from action_balance.interop.sb3.policy import ShiftedObs
from action_balance.interop.sb3.rollout import Rollout

ENVS, STEPS = 2, 8
TINY: dict[str, Any] = {"n_steps": STEPS, "batch_size": 8, "n_epochs": 2, "seed": 0, "device": "cpu"}
BONUSES: dict[str, Any] = {
    "action_bonus_kwargs": {"width": 8},
    "intrinsic_kwargs": {"width": 8},
    "warmup_steps": 4,
}


class Walk(gymnasium.Env[Any, Any]):
    """Steps to the left and to the right from the middle of seven places; the right end is rewarded."""

    def __init__(self, observation_space: Any = None, action_space: Any = None) -> None:
        self.observation_space = observation_space or spaces.Box(-1, 1, (3,), np.float32)
        self.action_space = action_space or spaces.Discrete(2)
        self.place = self.steps = 0

    def see(self, space: Any = None) -> Any:
        space = space or self.observation_space
        if isinstance(space, spaces.Dict):
            return {name: self.see(part) for name, part in space.items()}
        if isinstance(space, spaces.Discrete):
            return self.place + 3
        if space.dtype == np.uint8:
            image = np.zeros(space.shape, np.uint8)
            image[:, 10 + 2 * self.place] = 255
            return image
        return np.full(space.shape, self.place / 3, space.dtype)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self.place = self.steps = 0
        return self.see(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.place += 1 if np.ravel(action)[0] > 0 else -1
        return self.see(), float(self.place == 3), abs(self.place) == 3, self.steps == 5, {}


def envs(**kinds: Any) -> DummyVecEnv:
    return DummyVecEnv([lambda: Monitor(Walk(**kinds))] * ENVS)


def agent(env: Any = None, policy: str = "MlpPolicy", **settings: Any) -> ExploringPPO:
    return ExploringPPO(policy, envs() if env is None else env, **{**TINY, **BONUSES, **settings})


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small gain nothing from several threads."""
    before = th.get_num_threads()
    th.set_num_threads(1)
    yield
    th.set_num_threads(before)


@pytest.fixture(scope="module")
def trained() -> ExploringPPO:
    """An agent after two updates."""
    return agent().learn(40)


def rollout(model: ExploringPPO) -> ExploringPPO:
    """An agent that has collected a rollout and not yet learned from it."""
    _, callback = model._setup_learn(1000)
    assert model.env is not None
    assert model.collect_rollouts(model.env, callback, model.rollout_buffer, STEPS)
    return model


def differences(state: dict[str, th.Tensor], other: dict[str, th.Tensor]) -> list[str]:
    """Names of tensors that differ."""
    assert list(state) == list(other)
    return [name for name in state if state[name].shape != other[name].shape or (state[name] != other[name]).any()]


def learned(model: ExploringPPO) -> dict[str, th.Tensor]:
    """Everything that the bonuses of an agent have learned."""
    state = model.explorer.state_dict()
    return {f"{name} {key}": value for name in state for key, value in state[name]["arrays"].items()}


def test_the_first_ratio_is_one_although_rollouts_are_balanced() -> None:
    model = rollout(agent())

    (batch,) = model.rollout_buffer.get()
    _, log_prob, _ = model.policy.evaluate_actions(batch.observations, batch.actions.long().flatten())

    assert isinstance(batch.observations, ShiftedObs)
    assert (batch.observations.shift.max(dim=1).values > 0.1).all()
    # Up to the rounding of matrix products of different sizes.
    assert log_prob.tolist() == pytest.approx(batch.old_log_prob.tolist(), abs=1e-6)
    _, alone, _ = model.policy.evaluate_actions(batch.observations.obs, batch.actions.long().flatten())
    assert (alone - batch.old_log_prob).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("intrinsic", "action_bonus", "logged"),
    [
        ("elliptical", "hash", {"intrinsic_reward"}),
        ("e3b", "distillation", {"intrinsic_reward", "action_bonus_error", "intrinsic_error"}),
    ],
)
def test_bonuses_are_chosen_by_name(intrinsic: str, action_bonus: str, logged: set[str], tmp_path: Path) -> None:
    names: dict[str, Any] = {"intrinsic": intrinsic, "action_bonus": action_bonus}
    model = rollout(agent(**names))
    written = model.logger.name_to_value
    assert {name.removeprefix("explore/") for name in written if name.startswith("explore/")} == logged
    model.train()
    model.save(tmp_path / "model")
    again = ExploringPPO.load(tmp_path / "model", env=envs(), device="cpu")
    assert differences(learned(model), learned(again)) == []
    rollout(again)
    (batch,) = again.rollout_buffer.get()
    _, log_prob, _ = again.policy.evaluate_actions(batch.observations, batch.actions.long().flatten())
    assert (batch.observations.shift != 0).any()  # type: ignore[attr-defined]  # of a `ShiftedObs`
    assert log_prob.tolist() == pytest.approx(batch.old_log_prob.tolist(), abs=1e-6)


@pytest.mark.parametrize("package", ["torch", "stable_baselines3"])
def test_without_a_package_one_line_says_what_to_install(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("action_balance.interop.sb3")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ImportError, match=rf"^{package} is not installed, but ExploringPPO needs it: .*\[sb3\]"
    ) as raised:
        importlib.import_module("action_balance.interop.sb3")
    assert "\n" not in str(raised.value)


def test_without_bonuses_it_is_the_ppo_of_stable_baselines3() -> None:
    ours = agent(action_bonus=None, intrinsic="none").learn(32)
    theirs = PPO("MlpPolicy", envs(), **TINY).learn(32)

    parameters = zip(ours.policy.parameters(), theirs.policy.parameters(), strict=True)
    assert all((own == other).all() for own, other in parameters)
    assert ours.num_timesteps == theirs.num_timesteps == 32


def test_the_warm_up_counts_as_timesteps(trained: ExploringPPO) -> None:
    assert trained.warmup_timesteps == 4 * ENVS
    assert trained.num_timesteps == 4 * ENVS + 2 * ENVS * STEPS


def test_what_ends_an_episode_is_what_rnd_rewards(monkeypatch: pytest.MonkeyPatch) -> None:
    model = agent(action_bonus=None)
    seen: list[Any] = []
    rnd: Any = model.explorer.intrinsic
    reward = rnd.reward
    monkeypatch.setattr(rnd, "reward", lambda next_obs, **_: seen.append(next_obs) or reward(next_obs))  # type: ignore[func-returns-value]  # of append
    rollout(model)

    # An episode ends after three steps to one side, or after five; the first observation of the next one is 0.
    starts = model.rollout_buffer.episode_starts[1:]
    ends = np.abs(seen[0][:-1][starts > 0][:, 0])
    assert len(ends) >= 2
    assert (ends > 0.3).all()


def test_a_saved_agent_continues_with_its_bonuses_and_without_another_warm_up(
    trained: ExploringPPO, tmp_path: Path
) -> None:
    trained.save(tmp_path / "model")
    again = ExploringPPO.load(tmp_path / "model", env=envs(), device="cpu")

    assert differences(learned(trained), learned(again)) == []
    assert differences(trained.policy.state_dict(), again.policy.state_dict()) == []
    again.learn(ENVS * STEPS, reset_num_timesteps=False)
    assert again.num_timesteps == trained.num_timesteps + ENVS * STEPS


def test_an_agent_is_loaded_for_another_number_of_environments_or_none(trained: ExploringPPO, tmp_path: Path) -> None:
    trained.save(tmp_path / "model")
    alone = ExploringPPO.load(tmp_path / "model", device="cpu")
    one = ExploringPPO.load(tmp_path / "model", env=Walk(), device="cpu", batch_size=STEPS)

    obs = np.array([0.5, 0, -0.5], np.float32)
    assert alone.predict(obs, deterministic=True)[0] == trained.predict(obs, deterministic=True)[0]
    assert len(differences(learned(trained), learned(one))) == 1  # the running returns


def test_normalised_environments_train_and_only_their_own_rewards_are_normalised() -> None:
    env = VecNormalize(envs(), gamma=0.5)
    model = rollout(agent(env))

    assert np.abs(model.rollout_buffer.rewards).max() <= 10
    assert np.abs(model.rollout_buffer.observations).max() > 1  # they are from -1 to 1 in the environment
    assert model.get_vec_normalize_env() is env
    model.train()


@pytest.mark.parametrize(
    ("policy", "kinds"),
    [
        ("MlpPolicy", {"action_space": spaces.MultiDiscrete([2, 3])}),
        ("CnnPolicy", {"observation_space": spaces.Box(0, 255, (44, 48, 3), np.uint8)}),
        (
            "MultiInputPolicy",
            {"observation_space": spaces.Dict({"a": spaces.Box(-1, 1, (2,)), "b": spaces.Discrete(7)})},
        ),
    ],
    ids=["multi-discrete actions", "images", "dictionaries"],
)
def test_training_in_spaces_of_all_kinds(policy: str, kinds: dict[str, Any]) -> None:
    model = rollout(agent(envs(**kinds), policy, intrinsic=None))

    (batch,) = model.rollout_buffer.get()
    assert isinstance(batch.observations, ShiftedObs)
    assert batch.observations.shift.shape == (ENVS * STEPS, sum(np.ravel(getattr(model.action_space, "nvec", 2))))
    model.train()


def levers(**settings: Any) -> ExploringPPO:
    """An agent with continuous actions, whose elliptical counts change fast."""
    own: dict[str, Any] = {"settings": {"dimensions": 32}, "coef": 2.0}
    given = {"action_bonus": "elliptical", "action_bonus_kwargs": own, "candidates": 4}
    return agent(envs(action_space=spaces.Box(-1, 1, (1,))), **{**given, **settings})


def test_the_first_ratio_of_continuous_actions_is_one_with_the_gradient_of_all_candidates() -> None:
    model = rollout(levers().learn(20))
    (batch,) = model.rollout_buffer.get()
    observations: Any = batch.observations

    _, log_prob, _ = model.policy.evaluate_actions(observations, batch.actions)

    ratio = (log_prob - batch.old_log_prob).exp()
    assert ratio.tolist() == pytest.approx([1] * ENVS * STEPS, abs=1e-5)
    shift, chosen, actions, _ = observations.shift
    assert shift.square().mean(dim=1).tolist() == pytest.approx([4] * ENVS * STEPS, rel=1e-4)  # coef, squared
    assert (actions.take_along_dim(chosen[..., None], dim=1)[:, 0] == batch.actions).all()
    _, alone, _ = model.policy.evaluate_actions(observations.obs, batch.actions)
    assert (alone - batch.old_log_prob).abs().max() > 1e-3
    gradients = [th.autograd.grad(one.sum(), model.policy.log_std)[0] for one in (log_prob, alone)]
    assert (gradients[0] - gradients[1]).abs().max() > 1e-2  # the gradient through the drift


def test_an_agent_with_continuous_actions_continues_alike_after_a_file(tmp_path: Path) -> None:
    model = levers(intrinsic="icm").learn(40)
    model.save(tmp_path / "model")
    again = ExploringPPO.load(tmp_path / "model", device="cpu")
    assert again.candidates == again.policy.candidates == 4
    for one in (model, again):
        one.set_env(envs(action_space=model.action_space))
        one.set_random_seed(3)
        one.learn(2 * ENVS * STEPS, reset_num_timesteps=False)
    assert differences(model.policy.state_dict(), again.policy.state_dict()) == []
    assert differences(learned(model), learned(again)) == []


def test_counts_make_continuous_actions_that_were_taken_less_likely() -> None:
    model = rollout(levers(intrinsic=None))
    (batch,) = model.rollout_buffer.get()
    obs = batch.observations.obs  # type: ignore[attr-defined]  # of a `ShiftedObs`
    for _ in range(20):
        model.explorer.learn(Rollout(None, {"obs": obs, "actions": np.full((ENVS * STEPS, 1), -3.0)}), 1, 1)
    shares = []
    for shift_of in (model.policy.shift_of, None):
        model.policy.shift_of = shift_of
        with th.no_grad():
            model.policy.log_std.fill_(1.0)
            actions, _, _ = model.policy(obs.repeat(20, 1))
        shares.append((actions <= -1).float().mean().item())
    # Below its bound, an action is the bound, which was taken often. All four candidates are below it at times.
    assert shares[1] > 0.3
    assert 0 < shares[0] < 0.5 * shares[1]


def test_action_balance_refuses_what_it_cannot_balance() -> None:
    levers(action_bonus=None, action_bonus_kwargs=None, use_sde=True).learn(20)
    with pytest.raises(UserError, match="StateDependentNoiseDistribution: set use_sde=False, or action_bonus=None"):
        levers(use_sde=True)
    with pytest.raises(UserError, match="not MultiBinary: set action_bonus=None"):
        agent(envs(action_space=spaces.MultiBinary(2)))
    with pytest.raises(UserError, match="candidates must be from 2"):
        levers(candidates=1)
