from pathlib import Path

import pytest
from bonus_records import comparison, record
from browser import check_page
from kept_runs import keep
from playwright.sync_api import Browser

from action_balance.cli import main as cli
from action_balance.studies.bonuses.page import ratio


@pytest.mark.parametrize(
    ("value", "text"),
    [(66e6, "> 1,000"), (1000, "1,000.00"), (1.234, "1.23"), (0.0234, "0.023"), (1e-5, "< 0.001"), (None, "\u2013")],
)
def test_ratios_are_readable(value: float | None, text: str) -> None:
    assert ratio(value) == text


def test_a_page_without_matrix_says_what_is_missing(tmp_path: Path, browser: Browser) -> None:
    good = comparison([[1.0]] * 3, [0.0], within=1.0)
    for made in (
        record("deep-sea-10", "rnd", [1000, 2000, 1500]),
        record("deep-sea-10", "hash", [500, 1001, 749], comparisons={"states": good}),
        record("deep-sea-10", "rnd+hash", [500, 1001, 749], comparisons={"pairs": good}),
    ):
        keep(tmp_path, made)
    words = ["--intrinsic", "rnd", "hash", "--action-bonus", "hash", "ucb", "--worlds", "deep-sea-10"]
    cli.main(["reproduce", "bonuses", "--out", str(tmp_path), "--report-only", *words])
    page = (tmp_path / "report.html").read_text()
    assert 'href="#matrix"' not in page
    assert "4 of 7 groups of agents are not trained yet" in page
    assert "Not trained yet on top of RND in deep sea 10: UCB1." in page
    assert "The numbers above are those of hash counts" in page
    assert "best of" not in page
    assert "Speed-up over RND + exact pair counts" in page
    assert "Without enumerating states, hash counts count accurately in deep sea 10." in page
    check_page(browser, tmp_path / "report.html")


def test_a_page_without_the_named_bonus_says_what_its_cards_were_chosen_from(tmp_path: Path) -> None:
    for setup in ("rnd", "ngu", "e3b", "rnd+ucb", "rnd+hash-3"):
        keep(tmp_path, record("deep-sea-10", setup, [1000, 2000, 1500]))
    cli.main(["reproduce", "bonuses", "--out", str(tmp_path), "--report-only", "--scale", "full"])
    page = (tmp_path / "report.html").read_text()
    assert "(best of 2)" in page
    assert "The numbers above are those of" not in page
    assert "<code>--intrinsic-ends never</code>" in page
    assert "is the same bonus with a constant c" in page
    assert "exact counts at c = 3" in page  # not trained yet
