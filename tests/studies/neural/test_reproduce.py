import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from browser import check_page
from inline_cluster import InlineCluster
from playwright.sync_api import Browser

from action_balance.cli import main as cli
from action_balance.runs import RunFolder
from action_balance.studies import runner

SMALL = ("--seeds", "2", "--steps", "2048", "--methods", "random")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("neural") / "out"
    cli.main(["reproduce", "neural", "--out", str(out), *SMALL, "--studies", "deep-sea", "counting"])
    return out


def test_the_study_leaves_runs_tables_figures_and_a_page(result: Path, browser: Browser) -> None:
    summary = json.loads((result / "summary.json").read_text())
    assert list(summary["ours"]) == ["deep-sea", "counting"]
    assert list(summary["ours"]["deep-sea"]["methods"]) == ["random"]
    page = (result / "report.html").read_text()
    assert "--steps 2048" in page
    assert page.count("<svg") == 4
    check_page(browser, result / "report.html")
    lines = (result / "deep-sea_agents.csv").read_text().splitlines()
    assert len(lines) == 1 + 2
    state = summary["ours"]["deep-sea"]["methods"]["random"]["states"]["value"]
    assert state == np.mean([int(line.split(",")[2]) for line in lines[1:3]])
    assert RunFolder.open(result / "runs" / "counting-action-balance-rnd").manifest["status"] == "finished"


def test_a_finished_study_is_reported_again_without_training(result: Path) -> None:
    before, page = (result / "summary.json").read_bytes(), (result / "report.html").read_bytes()
    trained_at = (result / "runs" / "deep-sea-random" / "manifest.json").read_bytes()
    cli.main(["reproduce", "neural", "--out", str(result), *SMALL, "--studies", "counting"])  # the rest is kept
    assert (result / "runs" / "deep-sea-random" / "manifest.json").read_bytes() == trained_at
    assert (result / "summary.json").read_bytes() == before
    assert (result / "report.html").read_bytes() == page


def test_a_world_is_reported_once_its_agents_are_trained(result: Path, tmp_path: Path) -> None:
    shutil.copytree(result / "runs" / "deep-sea-random", tmp_path / "runs" / "deep-sea-random")
    words = ["reproduce", "neural", "--out", str(tmp_path), *SMALL, "ppo"]
    cli.main([*words, "--only", "deep-sea-random"])
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    cluster = InlineCluster({"deep-sea-ppo": "no space left"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "train_jobs", cluster.train_jobs)
        with pytest.raises(SystemExit):
            cli.main([*words, "--studies", "deep-sea", "--on", "ray"])
    assert cluster.finished_before == 1
    assert not (tmp_path / "report.html").exists()
