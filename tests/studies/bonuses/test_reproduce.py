import json
from pathlib import Path

import numpy as np
import pytest
from bonus_records import comparison, record
from kept_runs import keep

from action_balance.cli import main as cli
from action_balance.config.train import TrainConfig
from action_balance.engines.callbacks import Listeners
from action_balance.studies import runner
from action_balance.studies.bonuses.records import BonusRecord
from action_balance.studies.bonuses.settings import BonusesSettings, Condition
from action_balance.studies.registry import page_of

SMALL = ("--seeds", "2", "--steps", "2048", "--worlds", "deep-sea-10")


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Agents are made up instead of trained; the names of their runs, in order."""
    made: list[str] = []

    def train(path: Path, config: TrainConfig, listeners: Listeners) -> None:
        made.append(path.name)
        one = Condition.of(path.name)
        plays = one.setup.action != "random"
        assert len(listeners.callbacks) == plays + one.counts_states + one.counts_pairs
        compared = {"states": comparison([[0.9], [0.8]], [0.0])} if one.counts_states else {}
        compared |= {"pairs": comparison([[0.5], [0.6]], [1.0], 0.2)} if one.counts_pairs else {}
        found = record(one.world, one.setup.name, [100 * len(made), -1], greedy=[0.9, 0.0], comparisons=compared)
        assert found.config == config
        keep(path.parents[1], found)

    monkeypatch.setattr(runner, "train", train)
    return made


def test_the_study_trains_and_reports_and_does_neither_twice(
    tmp_path: Path, untrained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["reproduce", "bonuses", "--out", str(out), *SMALL]
    words += ["--intrinsic", "none", "rnd", "count", "--action-bonus", "distillation"]
    cli.main(words)
    assert len(untrained) == 7
    setups = json.loads((out / "summary.json").read_text())["ours"]["worth"]["deep-sea-10"]["setups"]
    assert [*setups] == ["random", "none", "rnd", "rnd+distillation", "count", "pqn-none", "pqn-rnd"]
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 6
    assert "--intrinsic none rnd count" in page
    assert "correctly ranked for both states and pairs: rnd and distillation" in capsys.readouterr().out
    assert (out / "agents.csv").read_text().splitlines()[1] == "deep-sea-10,random,0,500,500,0.25,0.9,5"
    shown = page_of(out)
    assert shown is not None
    assert shown() == page
    cli.main(words)
    assert len(untrained) == 7
    assert "already has 7 of 7" in capsys.readouterr().out
    cli.main(["reproduce", "bonuses", "--out", str(out), "--report-only"])
    assert (out / "report.html").read_text() == page


def test_agents_are_trained_and_exact_counts_are_the_true_counts(tmp_path: Path) -> None:
    words = ["--intrinsic", "count", "--studies", "counting", "--train-only"]
    cli.main(["reproduce", "bonuses", "--out", str(tmp_path), *SMALL, *words])
    made = BonusRecord.read(tmp_path / "runs" / "deep-sea-10--count")
    assert made.steps.tolist() == [1024, 2048]
    assert np.isfinite(made.greedy).all()
    assert ((made.states >= 30) & (made.states <= 55)).all()
    states = made.comparisons["states"]
    assert states.updates.tolist() == [1, 2]
    np.testing.assert_array_equal(states.rank, np.ones((2, 2)))
    np.testing.assert_allclose(states.ratio[states.number > 0], 0, atol=1e-3)
    # All states but the end, whose number is that of the first cell, with all visits but those of the end.
    np.testing.assert_array_equal(states.number.sum(axis=-1), made.states - 1)
    least = (states.number[:, -1] * 2 ** np.arange(states.number.shape[-1])).sum(axis=-1)
    assert ((least <= 2048) & (2 * least > 2048 - 2048 // 10)).all()


def test_the_default_study_is_small() -> None:
    steps = sum(config.seeds * config.agent.steps for config in BonusesSettings().plan().values())
    assert steps < 17_000_000
