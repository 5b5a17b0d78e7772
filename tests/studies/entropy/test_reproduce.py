"""``reproduce entropy`` from run folders whose numbers are known; nothing is trained here."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from browser import check_page
from page_text import section
from playwright.sync_api import Browser
from synthetic_runs import make_run, strip

from action_balance.cli import main as cli
from action_balance.config.train import TrainConfig
from action_balance.studies import runner
from action_balance.studies.atari.training import AtariTraining
from action_balance.studies.entropy.figures import binned
from action_balance.studies.entropy.settings import FLAT, GAME, EntropySettings

FLAGS = ("--steps", "1536", "--envs", "4", "--warmup-rollouts", "1", "--channels", "4")
SMALL = AtariTraining(steps=1536, envs=4, warmup_rollouts=1, channels=4)
ENDED = [(1, 0.0), (1, 0.0)]


def reproduce(out: Path, *words: str) -> None:
    cli.main(["reproduce", "entropy", "--out", str(out), *words])


def variant(out: Path, config: TrainConfig) -> Path:
    """A run that ends 0.001, 0.02 or 0.3 below a flat vector: raw, L2, channel."""
    below = 0.3 if "channel" in config.agent.method else {"raw": 0.001, "l2": 0.02}[config.agent.normalize]
    return make_run(out, config, ENDED, entropies=[FLAT, FLAT - below])


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("entropy")
    for config in EntropySettings(training=SMALL).plan().values():
        strip(variant(out, config))
    reproduce(out, "--report-only")
    return out


def test_the_report_tells_the_order_that_was_found(result: Path) -> None:
    page = (result / "report.html").read_text()
    places = [
        page.index(f"{name} ({below} below") for name, below in (("channel + L2", 0.3), ("L2", 0.02), ("raw", 0.001))
    ]
    assert places == sorted(places)
    for number in ("0.019", "50\u00a0%", "0.28", "2.890", "action-balance reproduce entropy --out . --steps 1536"):
        assert number in page
    assert page.count("ends lower") == 2
    assert "chance" in page
    assert "Figure 7" not in (result / "figures" / "entropy.svg").read_text()  # the paper does not say of what it is
    ours = json.loads((result / "summary.json").read_text())["ours"]
    assert ours["variants"]["raw"]["added_below_flat"]["value"] == pytest.approx(0.001)


def test_the_opposite_is_told_where_it_was_found(tmp_path: Path) -> None:
    for seed in range(5):
        for method, normalize, ends in (("action-balance-rnd", "raw", 2.0), ("action-balance-rnd", "l2", 2.5)):
            config = SMALL.run(GAME, method, seed, "raw" if normalize == "raw" else "l2")
            make_run(tmp_path, config, ENDED, entropies=[2.7, ends + 0.001 * seed])
    reproduce(tmp_path, "--report-only", "--seeds", "5")
    page = (tmp_path / "report.html").read_text()
    assert "ends higher" in page
    assert "0.5 (95&nbsp;% interval" in page
    assert "in 0\u00a0%" in page
    assert "montezuma_revenge-action-balance-rnd-channel-0" in section(page, "runs")


def test_what_is_rounding_is_not_told_as_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place, config in enumerate(EntropySettings(training=SMALL).plan().values()):
        make_run(tmp_path, config, ENDED, entropies=[FLAT, FLAT - 2e-7 * place])
    reproduce(tmp_path, "--report-only")
    page = (tmp_path / "report.html").read_text()
    assert "2.8904, 0 below" in capsys.readouterr().out
    assert page.count("rounding") == 2
    assert "32-bit" in page
    assert "ends lower" not in page
    assert "from low to high" not in page


def test_the_tables_have_both_entropies(result: Path) -> None:
    with open(result / "entropy.csv", newline="") as stream:
        found = list(csv.DictReader(stream))
    assert [(row["variant"], row["entropy"]) for row in found][:2] == [("raw", "added"), ("raw", "bonus")]
    assert float(found[2]["mean"]) == pytest.approx(FLAT - 0.02)
    assert (result / "entropy_curves.csv").read_text().count("\n") == 1 + 3 * 2 * 2


def test_the_page_is_accessible_and_stands_alone(result: Path, browser: Browser) -> None:
    check_page(browser, result / "report.html")


def test_runs_of_the_atari_study_are_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[str] = []

    def train(path: Path, config: TrainConfig, *_: object, **__: object) -> None:
        trained.append(path.name)
        variant(path.parents[1], config)

    monkeypatch.setattr(runner, "train", train)
    for name in ("action-balance-rnd", "action-balance-rnd-channel"):
        path = variant(tmp_path / "atari", SMALL.run(GAME, name, 0))
        (tmp_path / "entropy" / "runs").mkdir(parents=True, exist_ok=True)
        (tmp_path / "entropy" / "runs" / path.name).symlink_to(path)
    reproduce(tmp_path / "entropy", *FLAGS)
    assert trained == ["montezuma_revenge-action-balance-rnd-raw-0"]
    assert "3 are finished" in (tmp_path / "entropy" / "report.html").read_text()


def test_stretches_of_updates_are_averaged() -> None:
    updates, values = binned(np.arange(1.0, 1001.0)[None])
    assert len(updates) == 400
    np.testing.assert_allclose(updates, values[0])
    assert updates.mean() == pytest.approx(500, rel=0.01)
    updates, values = binned(np.array([[3.0, 5.0]]))
    np.testing.assert_allclose(updates, [1, 2])
    np.testing.assert_allclose(values, [[3, 5]])
