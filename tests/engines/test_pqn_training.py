"""PQN through both engines: everything that knows an algorithm only by its contract."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from command import call

import action_balance as ab
from action_balance.runs import read_metrics

CASES = Path(__file__).parents[1] / "helpers"
SMALL = ["--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "1", "--steps", "160"]
SMALL += ["--hidden", "8", "--layers", "1"]
NETWORKS = ["--warmup-rollouts", "2", "--bonus-hidden", "8", "--bonus-outputs", "4"]


@pytest.fixture(autouse=True)
def _cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(CASES), *sys.path])


def test_masks_components_groups_lag_and_a_spread_epsilon_work_on_the_host(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    options = ["--algorithm", "pqn", "--method", "action-balance-rnd", "--epsilon", "0.4", "--epsilon-end", "0.2"]
    options += ["--epsilon-spread", "--groups", "2", "--lag", "1", "--normalize", "standard", "--temperature", "0.1"]
    command = ["train", "gym:gym_cases:GuidedDials", "--out", run, *SMALL, *NETWORKS, *options]
    assert call(*command) == 0  # forbidden actions raise
    rows = read_metrics(tmp_path / "run")
    # Environments 0 to 3 have 0 to 1 times epsilon, which falls from 0.4 to 0.2 in three updates; with a lag, the
    # second rollout still has that of the first.
    np.testing.assert_allclose([row["epsilon"] for row in rows], [0.2, 0.2, 0.15], atol=1e-6)
    assert all(row["parameters_finite"] and 0 <= row["tv_beta_pi"] <= 1 for row in rows)
    assert call("evaluate", run, "--episodes", "3", "--trust") == 0
    modes = json.loads((tmp_path / "run" / "evaluation" / "evaluation.json").read_text())["modes"]
    assert modes.keys() == {"greedy", "sampled", "behaviour"}


def test_a_memory_a_time_limit_and_several_devices_work_on_the_device(tmp_path: Path) -> None:
    options = ["--algorithm", "pqn", "--memory", "gru", "--memory-units", "4", "--bootstrap-truncation"]
    options += ["--method", "action-balance-elliptical", "--intrinsic-ends", "episode", "--devices", "2"]
    command = ["train", "goal", "--size", "5", "--episode-steps", "9", "--out", str(tmp_path / "run")]
    assert call(*command, *SMALL, *options) == 0
    rows = read_metrics(tmp_path / "run")
    assert all(row["parameters_finite"] and row["action_coef"] > 0 for row in rows)


def test_a_resumed_run_is_the_same_as_one_that_was_not_interrupted(tmp_path: Path) -> None:
    options = ["deep-sea", "--size", "4", *SMALL, "--method", "pqn", "--action-bonus", "hash"]
    options += ["--checkpoint-every", "2"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert call("train", *options, "--out", str(whole)) == 0
    assert call("train", *options, "--out", str(cut), "--stop-when", "update>=2") == 0
    assert call("resume", str(cut), "--steps", "160") == 0
    one, other = (ab.Run(path).agent() for path in (whole, cut))
    cell = np.eye(16, dtype=np.float32)[0]
    np.testing.assert_array_equal(one.values(cell), other.values(cell))
    assert one.method == "pqn-none+hash"


def test_a_trained_agent_is_loaded_acts_and_is_saved_alone(tmp_path: Path) -> None:
    settings = ab.agent_config("chains", algorithm="pqn", method="hash", action_bonus="hash", steps=20_480)
    run = ab.train("deep-sea", tmp_path / "sea", settings, size=5, on_message=lambda _: None)
    assert run.evaluate(episodes=2)["modes"]["greedy"]["return"]["mean"] == pytest.approx(0.99)
    agent = run.agent()
    cell = np.eye(25, dtype=np.float32)[0]
    assert agent.values(cell).extrinsic > 0.5
    assert agent.probabilities(cell).argmax() == agent.act(cell, mode="greedy")
    alone = ab.load(agent.save(tmp_path / "sea.agent", policy_only=True))
    assert alone.act(cell, mode="greedy") == agent.act(cell, mode="greedy")
    assert alone.config.agent.label == "pqn"


@pytest.mark.parametrize("env", ["xminigrid:MiniGrid-Empty-5x5", "atari:pong"])
def test_images_and_symbols_are_learned_from(env: str, tmp_path: Path) -> None:
    pytest.importorskip({"xminigrid": "xminigrid", "atari": "ale_py"}[env.partition(":")[0]])
    small = ["--envs", "2", "--rollout-steps", "4", "--minibatches", "1", "--epochs", "1", "--steps", "16"]
    small += ["--hidden", "8"] if env.startswith("xmini") else ["--channels", "2", "--features", "8", "--trunk", "8"]
    out = str(tmp_path / "run")
    assert call("train", env, "--method", "pqn", "--action-bonus", "hash", "--out", out, *small) == 0
    assert all(row["parameters_finite"] for row in read_metrics(tmp_path / "run"))


OWN = """
from dataclasses import dataclass
from typing import ClassVar

from action_balance.algorithms.pqn.config import PQNConfig
from action_balance.algorithms.pqn.pqn import PQN

print("imported my_pqn")


@dataclass(frozen=True)
class MyConfig(PQNConfig):
    twist: float = 1.0


class Twisted(PQN):
    Config: ClassVar[type] = MyConfig
    terms: ClassVar[tuple] = (*PQN.terms, "twist")

    def evaluate(self, first, second, mask):
        return super().evaluate(first * self.settings.twist, second, mask)

    def loss(self, *arguments):
        total, terms = super().loss(*arguments)
        return total, {**terms, "twist": total * self.settings.twist}


class Same(PQN):
    terms: ClassVar[tuple] = (*PQN.terms, "same")

    def loss(self, *arguments):
        total, terms = super().loss(*arguments)
        return total, {**terms, "same": total}
"""


def test_a_subclass_of_a_user_is_trained_and_imported_only_where_it_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_pqn.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    sea, run = ["deep-sea", "--size", "4"], str(tmp_path / "run")
    twisted = ["--algorithm", "my_pqn:Twisted", "--method", "hash", "--twist", "2"]
    assert call("train", *sea, *SMALL, *twisted, "--out", run) == 0
    assert call("train", *sea, *SMALL, "--algorithm", "my_pqn:Same", "--method", "hash", "--out", f"{run}2") == 0
    for name, folder in (("twist", "run"), ("same", "run2")):
        rows = read_metrics(tmp_path / folder)
        factor = 2 if name == "twist" else 1
        assert all(
            row[f"loss_{name}"] == pytest.approx(factor * (row["loss_value_ext"] + row["loss_value_int"]))
            for row in rows
        )
    sys.modules.pop("my_pqn")
    capsys.readouterr()
    for words in (["compare", run, "--out", str(tmp_path / "compared")], ["train", *sea, "--config", run]):
        code = call(*words, *(["--algorithm", "pqn", "--print-config"] if words[0] == "train" else []))
        assert code == 0
        assert "imported my_pqn" not in capsys.readouterr().out
    assert call("train", "--config", run, "--print-config") == 2
    assert "--trust" in capsys.readouterr().err
    for env in (sea, ["lock"]):  # its settings are kept in another environment
        assert call("train", *env, "--config", run, "--trust", "--print-config") == 0
        assert "twist = 2" in capsys.readouterr().out
    agent = ab.Run(run, trust=True).agent()
    file = agent.save(tmp_path / "own.agent")
    cell = np.eye(16, dtype=np.float32)[0]
    assert ab.load(file, trust=True).act(cell, mode="greedy") == agent.act(cell, mode="greedy")


def test_what_does_not_fit_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, message in (
        (("--method", "ppo", "--algorithm", "pqn"), "--method ppo cannot be combined with --algorithm pqn"),
        (("--method", "entropy", "--algorithm", "pqn"), "needs an entropy in the loss, and pqn has none"),
        (("--algorithm", "pqm"), "unknown --algorithm 'pqm': did you mean pqn?"),
        (("--algorithm", "json:JSONDecoder"), "json"),
        (("--algorithm", "pqn", "--clip", "0.2"), "--clip"),
        (("--method", "pqn", "--epsilon-decay", "0.5", "--epsilon-end", "none"), "--epsilon-decay needs --epsilon-end"),
    ):
        assert call("train", "deep-sea", "--out", str(tmp_path / "run"), *options) == 2
        error = capsys.readouterr().err.strip()
        assert message in error
        assert error.count("\n") == 0
    assert not (tmp_path / "run").exists()
