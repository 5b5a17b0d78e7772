import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browser import check_page
from inline_cluster import InlineCluster
from playwright.sync_api import Browser

from action_balance.cli import main as cli
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies import run_job
from action_balance.studies.neural import reproduce as neural

SMALL = ("--seeds", "2", "--steps", "2048", "--methods", "random", "ppo")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("neural") / "out"
    cli.main(["reproduce", "neural", "--out", str(out), *SMALL, "--studies", "deep-sea", "counting"])
    return out


def test_the_study_leaves_runs_tables_figures_and_a_page(result: Path, browser: Browser) -> None:
    summary = json.loads((result / "summary.json").read_text())
    assert list(summary["ours"]) == ["deep-sea", "counting"]
    assert list(summary["ours"]["deep-sea"]["methods"]) == ["random", "ppo"]
    page = (result / "report.html").read_text()
    assert "--steps 2048" in page
    assert page.count("<svg") == 4
    check_page(browser, result / "report.html")
    lines = (result / "deep-sea_agents.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * 2
    state = summary["ours"]["deep-sea"]["methods"]["random"]["states"]["value"]
    assert state == np.mean([int(line.split(",")[2]) for line in lines[1:3]])
    assert RunFolder.open(result / "runs" / "counting-action-balance-rnd").manifest["status"] == "finished"


def test_a_finished_study_is_not_run_again(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (result / "summary.json").read_bytes()
    with pytest.raises(SystemExit) as stop:
        cli.main(["reproduce", "neural", "--out", str(result), *SMALL, "--studies", "counting"])
    assert stop.value.code == 2
    assert "already contains this result" in capsys.readouterr().err
    assert (result / "summary.json").read_bytes() == before


def test_a_study_that_was_interrupted_uses_the_runs_that_are_finished(result: Path) -> None:
    summary = json.loads((result / "summary.json").read_text())
    page = (result / "report.html").read_bytes()
    trained_at = (result / "runs" / "deep-sea-random" / "manifest.json").read_bytes()
    del summary["ours"]["deep-sea"]
    (result / "summary.json").write_text(json.dumps(summary))
    cli.main(["reproduce", "neural", "--out", str(result), *SMALL, "--studies", "deep-sea", "counting"])
    assert (result / "runs" / "deep-sea-random" / "manifest.json").read_bytes() == trained_at
    assert sorted(json.loads((result / "summary.json").read_text())["ours"]) == ["counting", "deep-sea"]
    assert len((result / "report.html").read_bytes()) == len(page)


def test_a_run_with_other_settings_is_not_mistaken_for_one_of_the_study(result: Path) -> None:
    path = result / "runs" / "deep-sea-random"
    config = TrainConfig.from_dict(RunFolder.open(path).config)
    assert run_job.is_finished(path, config)
    assert not run_job.is_finished(path.with_name("nowhere"), config)
    with pytest.raises(UserError, match="different settings"):
        run_job.is_finished(path, replace(config, seed=7))


def test_a_cluster_trains_all_runs_at_once_and_each_part_is_written_when_its_runs_are_in(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(result / "runs", tmp_path / "runs")
    for name in ("deep-sea-ppo", "counting-action-balance-rnd"):
        RunFolder.open(tmp_path / "runs" / name).finish("interrupted")
    cluster = InlineCluster()
    monkeypatch.setattr(neural, "train_jobs", cluster.train_jobs)
    words = ["reproduce", "neural", "--out", str(tmp_path), *SMALL, "--studies", "deep-sea", "counting"]
    cli.main([*words, "--on", "ray"])
    assert (cluster.trained, cluster.finished_before) == (["deep-sea-ppo", "counting-action-balance-rnd"], 1)
    assert list(json.loads((tmp_path / "summary.json").read_text())["ours"]) == ["deep-sea", "counting"]


def test_one_run_is_trained_without_a_report(result: Path, tmp_path: Path) -> None:
    shutil.copytree(result / "runs" / "deep-sea-random", tmp_path / "runs" / "deep-sea-random")
    words = ["reproduce", "neural", "--out", str(tmp_path), *SMALL]
    cli.main([*words, "--only", "deep-sea-random"])
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    with pytest.raises(SystemExit):
        cli.main([*words, "--only", "deep-sea-rnd"])
