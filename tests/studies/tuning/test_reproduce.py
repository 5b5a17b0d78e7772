"""``reproduce tuning`` from records whose numbers are known; nothing is trained here."""

import csv
import json
from pathlib import Path

from browser import check_page
from kept_runs import keep
from page_text import section
from playwright.sync_api import Browser
from tuning_records import everywhere, trial

from action_balance.cli import main as cli
from action_balance.studies.registry import page_of


def report(out: Path) -> str:
    cli.main(["reproduce", "tuning", "--out", str(out), "--report-only", "--trials", "3"])
    return (out / "report.html").read_text()


def test_the_report_has_all_trials_and_what_is_chosen(tmp_path: Path, browser: Browser) -> None:
    for number, eighths in enumerate(([8, 8], [4, 4], [1, 3])):
        for kind, method in (("chains", "rnd"), ("chains", "rnd+hash"), ("rooms", "rnd")):
            for record in everywhere(kind, method, number, eighths):
                keep(tmp_path, record)
    page = report(tmp_path)
    ours = json.loads((tmp_path / "summary.json").read_text())["ours"]
    assert {kind: [*methods] for kind, methods in ours["chosen"].items()} == {
        "chains": ["common", "rnd", "rnd+hash"],
        "rooms": ["common", "rnd"],
    }
    rows = list(csv.DictReader((tmp_path / "trials.csv").read_text().splitlines()))
    assert len(rows) == 27
    assert [row["trial"] for row in rows if row["chosen"] == "True"] == ["2"] * 9
    assert (rows[0]["solved"], rows[0]["time"], rows[0]["algorithm.learning_rate"]) == ("0", "1.0", "")
    assert rows[3]["algorithm.learning_rate"] == "0.001"
    chosen = " ".join(section(page, "chosen").split())
    assert "RND 100 % 50 % 25 % trial 2 2/2 2/2 2/2 learning_rate" in chosen.replace("\u00a0", " ")
    assert page.count("<svg") == 1
    assert page_of(tmp_path) is not None
    check_page(browser, tmp_path / "report.html")


def test_a_report_of_a_part_of_the_worlds_has_no_choice(tmp_path: Path) -> None:
    keep(tmp_path, trial("deep-sea-12", "rnd", 0, [1, 2]))
    assert "<svg" not in report(tmp_path)
    assert json.loads((tmp_path / "summary.json").read_text())["ours"] == {"kinds": {}, "chosen": {}}
