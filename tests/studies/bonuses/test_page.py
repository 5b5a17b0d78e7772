from pathlib import Path

import numpy as np
import pytest
from bonus_records import comparison, record
from browser import check_page
from kept_runs import keep
from page_text import section
from playwright.sync_api import Browser

from action_balance.cli import main as cli
from action_balance.config import tuned
from action_balance.studies.bonuses.page import ratio


@pytest.mark.parametrize(
    ("value", "text"),
    [(66e6, "> 1,000"), (1000, "1,000.00"), (1.234, "1.23"), (0.0234, "0.023"), (1e-5, "< 0.001"), (None, "\u2013")],
)
def test_ratios_are_readable(value: float | None, text: str) -> None:
    assert ratio(value) == text


TITLES = "Deep sea 10", "Open grid 40 x 40", "MountainCar"


def report(out: Path, *words: str) -> str:
    cli.main(["reproduce", "bonuses", "--out", str(out), "--report-only", *words])
    return (out / "report.html").read_text()


def test_an_incomplete_page_says_what_is_missing(tmp_path: Path) -> None:
    good = comparison([[1.0]] * 3, [0.0], within=1.0)
    for made in (
        record("deep-sea-10", "rnd", [1000, 2000, -1]),
        record("deep-sea-10", "hash", [500, 1001, 749], comparisons={"states": good}),
        record("deep-sea-10", "rnd+hash", [500, 1001, 749], comparisons={"pairs": good}),
    ):
        keep(tmp_path, made)
    words = ["--intrinsic", "rnd", "hash", "--action-bonus", "hash", "ucb", "--worlds", "deep-sea-10"]
    page = report(tmp_path, *words, "--studies", "next-state", "action")
    assert "2 of 5 groups of agents are not trained yet" in page
    assert "Deep sea 10: random and RND + UCB1." in page
    assert "Without enumerating states, hash counts count accurately in deep sea 10." in page
    assert "too few agents: deep\u00a0sea\u00a010" in page  # three have no interval
    assert 'href="#coefficients"' not in page


def test_a_page_has_the_numbers_of_every_world_and_what_was_tuned(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = {"rnd": {"algorithm.learning_rate": 0.0005}, "common": {"algorithm.clip": 0.3}}
    monkeypatch.setattr(tuned, "_chosen", lambda: {"chains": chosen})
    falling = np.array([3.0, 0.0], np.float32)
    slow, fast = [1000, 2000, -1, 1500, 500], [500, 1000, 1024, 750, 250]
    for made in (
        *(record("deep-sea-10", "rnd+hash-to-0", fast, coef=falling), record("deep-sea-10", "rnd+hash", slow)),
        *(record("deep-sea-10", "rnd", slow, greedy=[1.0] * 5), record("deep-sea-10", "hash", fast)),
        *(record("open-40", "rnd", [-1] * 5), record("open-40", "hash", [-1] * 5, states=[9] * 5)),
        *(record("mountain-car", "rnd", [-1] * 5), record("mountain-car", "icm", slow)),
    ):
        keep(tmp_path, made)
    page = report(tmp_path)
    rows = [" ".join(line.split()) for line in section(page, "next-state").splitlines() if line.strip()]
    deep_sea, grid, car = (
        rows[place + 2 : place + 4]
        for place in (rows.index(f"{title}, 5 agents, 2,048 steps per agent") for title in TITLES)
    )
    # Agents that solve it, greedy ones, mean time, median, times as fast, ...; the median of five has no upper end.
    assert deep_sea[0].startswith("RND 4 28 to 99 % 5 1,410 900 to 1,919 1,500 500 to \u221e \u2013 1,410")
    assert deep_sea[1].startswith(
        "hash counts 5 48 to 100 % \u2013 705 450 to 960 750 250 to 1,024 2.00 2.00 to 2.00 705"
    )
    assert grid == ["RND \u2013 5 5 to 5", "hash counts 4 4 to 4 9 9 to 9"]  # more states, and states
    assert car[0].startswith("RND 0 0 to 52 % \u2013 2,048 2,048 to 2,048 > 2,048 \u2013 \u2013 \u2013")
    assert "hash counts, c from 3 to 0 3.00 3.00 0.00" in " ".join(section(page, "coefficients").split())
    about = " ".join(section(page, "made").split())
    assert "chains: RND learning rate" in about
    assert "chains: hash counts clip" in about
    assert "rooms: RND nothing" in about
    check_page(browser, tmp_path / "report.html")
