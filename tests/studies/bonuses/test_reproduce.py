import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bonus_records import comparison, record

from action_balance.cli import main as cli
from action_balance.engines.metrics_rows import Progress
from action_balance.studies import cells
from action_balance.studies.bonuses import records, training
from action_balance.studies.bonuses.records import Record
from action_balance.studies.bonuses.settings import BonusesSettings, Cell
from action_balance.studies.cells import record_path
from action_balance.studies.registry import page_of

SMALL = ("--seeds", "2", "--steps", "2048", "--worlds", "deep-sea-10")


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Agents are made up instead of trained; the names of their groups, in order."""
    made: list[str] = []

    def train(cell: Cell, report: object, out: Path) -> Record:
        del report, out
        made.append(cell.name)
        compared = {"states": comparison([[0.9], [0.8]], [0.0])} if cell.counts_states else {}
        compared |= {"pairs": comparison([[0.5], [0.6]], [1.0], 0.2)} if cell.counts_pairs else {}
        return record(cell.world, cell.setup.name, [100 * len(made), -1], [0.9, 0.0], comparisons=compared)

    monkeypatch.setattr(training, "train", train)
    return made


def test_the_study_trains_and_reports_and_does_neither_twice(
    tmp_path: Path, untrained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["reproduce", "bonuses", "--out", str(out), *SMALL]
    words += ["--intrinsic", "none", "rnd", "count", "--action-bonus", "distillation"]
    cli.main(words)
    assert len(untrained) == 7
    summary = json.loads((out / "summary.json").read_text())
    assert [*summary["ours"]["worth"]["deep-sea-10"]["setups"]][:3] == ["random", "none", "none+distillation"]
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 5
    assert "--intrinsic none rnd count" in page
    assert "What did not work" in page
    assert "correctly ranked for both states and pairs: rnd and distillation" in capsys.readouterr().out
    assert (out / "agents.csv").read_text().splitlines()[1] == "deep-sea-10,random,0,500,0.9,5"
    shown = page_of(out)
    assert shown is not None
    assert shown() == page
    cli.main(words)
    assert len(untrained) == 7
    assert "already has 7 of 7" in capsys.readouterr().out
    assert (out / "report.html").read_text() == page
    cli.main(["reproduce", "bonuses", "--out", str(out), "--report-only"])
    assert (out / "report.html").read_text() == page
    cli.main([*words, "--overwrite"])
    assert len(untrained) == 14


def test_several_processes_can_share_the_work(tmp_path: Path, untrained: list[str]) -> None:
    words = ["reproduce", "bonuses", "--out", str(tmp_path), *SMALL, "--intrinsic", "none", "count"]
    words += ["--action-bonus", "distillation", "--studies", "worth", "--train-only"]
    with pytest.MonkeyPatch.context() as patch:
        # Another process has claimed the first one.
        claimed = cells.claimed

        def taken(out: Path, name: str) -> object:
            return claimed(out, name) if name != "deep-sea-10--none" else _no()

        patch.setattr("action_balance.studies.cells.claimed", taken)
        cli.main(words)
    assert untrained == ["deep-sea-10--count", "deep-sea-10--random"]
    assert not (tmp_path / "summary.json").exists()
    cli.main(words)
    assert untrained[2:] == ["deep-sea-10--none"]


class _no:
    def __enter__(self) -> bool:
        return False

    def __exit__(self, *_: object) -> None:
        return None


def test_an_interrupted_study_reports_what_is_there(
    tmp_path: Path, untrained: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train = training.train

    def stop(cell: Cell, report: Callable[[Progress], None], out: Path) -> Record:
        if len(untrained) == 2:
            raise KeyboardInterrupt
        return train(cell, report, out)

    monkeypatch.setattr(training, "train", stop)
    words = ["--studies", "worth", "--action-bonus", "distillation"]
    with pytest.raises(SystemExit) as end:
        cli.main(["reproduce", "bonuses", "--out", str(tmp_path), *SMALL, *words])
    assert end.value.code == 130
    assert "the same command continues from there" in capsys.readouterr().err
    assert (tmp_path / "report.html").exists()
    assert len(records.read_records(tmp_path)) == 2


def test_contradicting_options_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (("--report-only", "--train-only"), ("--overwrite", "--train-only")):
        with pytest.raises(SystemExit):
            cli.main(["reproduce", "bonuses", "--out", str(tmp_path), *options])
    assert capsys.readouterr().err.count("action-balance: ") == 2


def test_agents_are_trained_and_exact_counts_are_the_true_counts(tmp_path: Path) -> None:
    words = ["--intrinsic", "count", "--studies", "counting", "--train-only"]
    cli.main(["reproduce", "bonuses", "--out", str(tmp_path), *SMALL, *words])
    made = Record.load(record_path(tmp_path, "deep-sea-10--count"))
    assert made.steps.tolist() == [1024, 2048]
    assert ((made.states >= 30) & (made.states <= 55)).all()
    assert made.finite.all()
    states = made.comparisons["states"]
    assert states.updates.tolist() == [1, 2]
    np.testing.assert_array_equal(states.rank, np.ones((2, 2)))
    np.testing.assert_allclose(states.ratio[states.number > 0], 0, atol=1e-3)
    # All states but the end, whose number is that of the first cell, with all visits but those of the end.
    np.testing.assert_array_equal(states.number.sum(axis=-1), made.states - 1)
    least = (states.number[:, -1] * 2 ** np.arange(states.number.shape[-1])).sum(axis=-1)
    assert ((least <= 2048) & (2 * least > 2048 - 2048 // 10)).all()


def test_the_points_of_curves_and_the_checkpoints_end_with_the_last_update() -> None:
    assert training.points(117)[[0, -1]].tolist() == [4, 117]
    assert len(training.points(117)) == 30
    assert training.checkpoints(117).tolist() == [4, 8, 15, 30, 59, 117]
    assert training.checkpoints(1).tolist() == training.points(1).tolist() == [1]


def test_the_default_study_is_small() -> None:
    steps = sum(cell.config.seeds * cell.config.agent.steps for cell in BonusesSettings().plan().values())
    assert steps < 12_000_000
