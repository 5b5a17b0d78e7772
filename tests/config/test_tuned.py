"""The settings that the tuning has chosen."""

import json
from pathlib import Path

import pytest

from action_balance.config import tuned as module
from action_balance.config.methods import METHODS
from action_balance.config.presets import agent_config
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.config.tuned import FILE, setup_name, tuned, with_values

SUMMARY = Path(__file__).parents[2] / "results" / "tuning" / "summary.json"


def test_every_setting_is_found_by_its_name() -> None:
    start = agent_config("study", method="action-balance-rnd")
    values = {"steps": 9000, "algorithm.learning_rate": 0.5, "algorithm.clip": 0.25, "exploration.action_coef": "auto"}
    agent = with_values(start, values)
    assert (agent.algorithm.learning_rate, agent.algorithm.clip) == (0.5, 0.25)
    assert (agent.steps, agent.exploration.action_coef) == (9000, "auto")
    assert (agent.envs, agent.algorithm.epochs) == (start.envs, start.algorithm.epochs)
    assert agent.network == start.network
    assert with_values(start, {}) == start


def test_the_name_of_a_bonus_may_have_dots() -> None:
    own = "my.module:Own"
    start = agent_config("study", intrinsic="coin-flip", action_bonus=own, bonus_settings={"coin-flip": {"coins": 5}})
    values = {"bonus_settings.coin-flip.ratio": 2, f"bonus_settings.{own}.width": 3}
    assert with_values(start, values).bonus_settings == {"coin-flip": {"coins": 5, "ratio": 2}, own: {"width": 3}}
    run = TrainConfig(env_config("deep-sea"), start)
    changed = with_values(run, {"env.size": 7, f"agent.bonus_settings.{own}.width": 4})
    assert (changed.env.size, changed.agent.bonus_settings[own]) == (7, {"width": 4})


def test_a_method_is_named_by_its_bonuses() -> None:
    assert {name: setup_name(name) for name in METHODS} == {
        **{"random": "none", "ppo": "none", "pqn": "pqn-none", "entropy": "none"},
        "epsilon-greedy": "none+epsilon-greedy",
        **{"count": "count", "hash": "hash", "elliptical": "elliptical", "rnd": "rnd"},
        **{"action-balance": "none+distillation", "action-balance-rnd": "rnd+distillation"},
        **{"action-balance-rnd-channel": "rnd+distillation", "action-balance-hash": "rnd+hash"},
        "action-balance-elliptical": "elliptical+elliptical",
    }
    assert setup_name("epsilon-greedy", "rnd") == "rnd+epsilon-greedy"
    assert setup_name("rnd", action_bonus="hash") == "rnd+hash"
    assert setup_name("action-balance-rnd", "icm", "none") == "icm"


def test_a_method_that_was_not_tuned_has_what_suits_all(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {"chains": {"common": {"algorithm.clip": 0.3}, "rnd": {"algorithm.clip": 0.2}, "hash": {}}, "rooms": {}}
    monkeypatch.setattr(module, "_chosen", lambda: chosen)
    assert tuned("chains", "rnd") == tuned("chains", "ppo", "rnd") == {"algorithm.clip": 0.2}
    assert tuned("chains", "hash") == {}  # it was tuned, and nothing is better
    assert tuned("chains", "rnd", action_bonus="hash") == {"algorithm.clip": 0.3}
    assert tuned("rooms", "rnd") == tuned("study", "rnd") == {}


def test_the_presets_have_the_settings_of_the_result_of_the_tuning() -> None:
    assert json.loads(FILE.read_text()) == json.loads(SUMMARY.read_text())["ours"]["chosen"]
