import json
from pathlib import Path

import numpy as np
import pytest
from browser import check_page
from exploration_records import record
from kept_runs import keep
from playwright.sync_api import Browser

from action_balance.cli import main as cli
from action_balance.studies.exploration.records import TaskRecord
from action_balance.studies.registry import page_of

WORDS = ("--tasks", "deep-sea-10", "--seeds", "5", "--steps", "2048")


def _reproduce(out: Path, *words: str) -> None:
    cli.main(["reproduce", "exploration", "--out", str(out), *words])


def test_a_study_is_trained_continued_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _reproduce(tmp_path, *WORDS, "--methods", "random", "--train-only")
    assert not (tmp_path / "summary.json").exists()
    first = tmp_path / "runs" / "deep-sea-10--random" / "record.npz"
    before = first.stat().st_mtime_ns
    _reproduce(tmp_path, *WORDS, "--methods", "random", "ppo")
    told = capsys.readouterr().out
    assert "already has 1 of 2 runs" in told
    assert "no significant difference" not in told  # without RND
    assert first.stat().st_mtime_ns == before
    made = TaskRecord.read(tmp_path / "runs" / "deep-sea-10--ppo")
    assert made.steps.tolist() == [1024, 2048]
    np.testing.assert_allclose(made.final, made.values[:, 1])  # the last tenth of two updates is the last one
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert {row["method"] for row in summary["ours"]["ranking"]} == {"random", "ppo"}
    assert len((tmp_path / "agents.csv").read_text().splitlines()) == 11
    page = (tmp_path / "report.html").read_text()
    assert "Not trained yet" not in page
    shown = page_of(tmp_path)
    assert shown is not None
    assert shown() == page
    _reproduce(tmp_path, "--report-only")
    assert (tmp_path / "report.html").read_text() == page


def test_a_report_of_some_runs_names_the_others(tmp_path: Path, browser: Browser) -> None:
    low, high = [0.0, 0.1, 0.0, 0.2, 0.0], [0.9, 1.0, 0.8, 1.0, 1.0]
    for made in (
        record("deep-sea-20", "rnd", low),
        record("deep-sea-20", "rnd+distillation", low, processes=4),
        record("deep-sea-20", "hash", high),
        record("deep-sea-20", "count", high),
        record("deep-sea-30", "rnd", low),
    ):
        keep(tmp_path, made)
    _reproduce(tmp_path, "--report-only", "--scale", "full", "--methods", "rnd", "hash", "rnd+distillation", "count")
    page = (tmp_path / "report.html").read_text()
    assert "Deep sea 30: exact counts, hash counts and RND + distillation (paper)." in page
    assert "Not every method is trained yet in deep sea 30" in page
    assert "The highest scores in 1 task are those of hash counts" in page
    assert "up to 4 processes shared the device" in page
    check_page(browser, tmp_path / "report.html")
