"""Training in environments that forbid actions: they raise an exception when a forbidden one is taken."""

import sys
from pathlib import Path
from typing import Any

import gym_cases
import numpy as np
import pytest
from command import call

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_from_function
from action_balance.config.train import TrainConfig
from action_balance.engines.factory import make_trainer
from action_balance.engines.host.actor import HostRollout
from action_balance.engines.host.trainer import HostTrainer
from action_balance.runs import read_metrics

CASES = Path(__file__).parents[2] / "helpers"
SMALL = (
    *("--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "1", "--warmup-rollouts", "2"),
    *("--steps", "160", "--hidden", "8", "--layers", "1", "--bonus-hidden", "8", "--bonus-outputs", "4"),
)


@pytest.fixture(autouse=True)
def _cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(CASES), *sys.path])


def test_forbidden_actions_are_never_taken(tmp_path: Path) -> None:
    # With everything that may forget a mask: components, epsilon, the mean and the deviation of bonuses, groups, an
    # update that lags behind.
    options = (
        "--method",
        "action-balance-rnd",
        "--epsilon",
        "0.3",
        "--normalize",
        "standard",
        "--groups",
        "2",
        "--lag",
        "1",
    )
    run = str(tmp_path / "run")
    assert call("train", "gym:gym_cases:GuidedDials", "--out", run, *SMALL, *options) == 0
    rows = read_metrics(tmp_path / "run")
    assert len(rows) == 3
    assert all(row["parameters_finite"] and np.isfinite(row["kl_beta_pi"]) for row in rows)
    assert call("evaluate", run, "--episodes", "3", "--trust") == 0


def one_rollout(method: Any) -> tuple[HostTrainer, HostRollout]:
    agent = AgentConfig(
        method=method,
        steps=64,
        envs=2,
        algorithm=PPOConfig(rollout_steps=7, minibatches=1, epochs=1),
        exploration=ExplorationConfig(warmup_rollouts=1),
        network=NetworkConfig(hidden=4, layers=1, bonus_hidden=4, bonus_outputs=2, predictor_layers=0),
    )
    trainer: Any = make_trainer(TrainConfig(env_from_function(gym_cases.Guide), agent).with_defaults())
    trainer.start(trainer.init_state())
    return trainer, trainer.end_rollout()[0]


def test_a_random_agent_is_uniform_over_what_is_allowed() -> None:
    trainer, rollout = one_rollout("random")
    (buffer,) = rollout.buffers
    assert buffer is not None
    assert buffer.mask is not None
    mask, action = np.asarray(buffer.mask), np.asarray(buffer.action)
    began = np.asarray(buffer.frames.began)[:7]
    # One action is allowed where an episode begins, and two later.
    np.testing.assert_array_equal(mask.sum(axis=-1), np.where(began, 1, 2))
    assert np.take_along_axis(mask, action[..., None], axis=-1).all()
    np.testing.assert_allclose(buffer.log_prob, np.where(began, 0.0, -np.log(2)), atol=1e-6)
    trainer._waiting = [rollout]
    metrics = trainer.advance()
    np.testing.assert_allclose(metrics["entropy_pi"], [np.where(began, 0.0, np.log(2)).mean()], rtol=1e-5)
    trainer.close()


def test_the_behaviour_policy_of_a_rollout_is_balanced_over_what_is_allowed() -> None:
    trainer, rollout = one_rollout("action-balance")
    (buffer,) = rollout.buffers
    assert buffer is not None
    assert buffer.mask is not None
    logits, bonus, mask = (
        np.asarray(one, np.float64) for one in (buffer.preferences, buffer.action_bonus, buffer.mask)
    )
    assert (logits[mask == 0] == -1e9).all()
    assert (bonus[mask == 0] == 0).all()
    assert (bonus[mask == 1] > 0).all()
    balanced = np.exp(logits + bonus / np.linalg.norm(bonus, axis=-1, keepdims=True))
    taken = np.take_along_axis(balanced, np.asarray(buffer.action)[..., None], axis=-1)[..., 0]
    np.testing.assert_allclose(np.exp(buffer.log_prob), taken / balanced.sum(axis=-1), rtol=1e-5)
    trainer._waiting = [rollout]
    metrics = trainer.advance()
    assert metrics["first_ratio"][0] < 1e-6
    np.testing.assert_allclose(metrics["action_bonus_mean"], [bonus.sum() / mask.sum()], rtol=1e-5)
    trainer.close()
