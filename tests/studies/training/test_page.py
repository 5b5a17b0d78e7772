"""The page of training runs in a browser: saved as one file, or following a run."""

import re
from pathlib import Path

import numpy as np
import pytest
from browser import LOOK, shown, until
from command import call
from playwright.sync_api import Browser
from watched_runs import HOSTILE, STEPS, add, begin, config_of, served

from action_balance.studies.training import page as view_page
from action_balance.studies.training.data import Watched


def test_a_saved_page_is_one_file_that_no_name_breaks(runs: list[Path], tmp_path: Path, browser: Browser) -> None:
    saved = tmp_path / "page.html"
    assert call("view", *map(str, runs), "--save", str(saved)) == 0
    text = saved.read_text()
    assert "<img src=x" not in text
    assert "data:video/mp4;base64," in text
    assert "0, 1, 5" in text  # rooms
    assert "2 to 3" in text  # in one game
    with shown(browser, saved.as_uri(), width=360) as found:
        found.page.wait_for_selector("html[data-ready]")
        seen = found.page.evaluate(LOOK)
        assert found.page.title() == f"Action balance: {HOSTILE} and other"
        assert HOSTILE in found.page.locator("#runs").inner_text()
        legend = found.page.locator("#charts-0 .legend").first.inner_text()
        scores = found.page.locator("#scores tbody tr").all_inner_texts()
        assert found.requests == [saved.as_uri(), *(url for url in found.requests if url.startswith("data:"))]
        assert [error for error in found.errors if "media" not in error.lower()] == []
    assert (seen["overflow"], seen["ids"]) == (0, 0)
    # the last update: returns 4 and 6 of two seeds
    assert re.sub(r"\s+", " ", legend).strip() == "RND 5 action balance RND 5"
    assert [row.split("\n")[0].split("\t")[:2] for row in scores] == [["RND", "5.00"], ["action balance RND", "5.00"]]


def test_a_film_that_is_too_large_is_left_out_and_said_to_be(runs: list[Path]) -> None:
    page = view_page.runs_page([Watched.open(runs[0])], lambda *_: None, served=False)
    assert "<code>episode.mp4</code>" in page
    assert "<video" not in page


def test_a_live_page_follows_a_run_from_before_its_beginning_to_its_end(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_page, "ASK_EVERY", 0.1)
    path, config = tmp_path / "run", config_of(updates=4)
    with served([path], live=True) as port, shown(browser, f"http://127.0.0.1:{port}/") as found:
        said = found.page.locator("#progress output")
        until(found.page, lambda: "not started yet" in said.inner_text())
        folder, log = begin(path, config)
        add(log, config, 1)
        until(found.page, lambda: "update 1 of 4" in said.inner_text())  # it has loaded itself anew
        assert found.page.locator("#runs, .waiting, #watch").count() == 0  # nothing that would not be followed
        add(log, config, 2)
        log.append_visits(2, 2 * STEPS, np.full((9, 2), 2))
        until(
            found.page, lambda: "update 2 of 4 · 2,048 steps per seed · 2,048 steps/s · 2 s left" in said.inner_text()
        )
        legend = found.page.locator("#charts-0 .legend output").first
        until(found.page, lambda: legend.inner_text() == "3")  # seeds with returns 2 and 4
        map_says = found.page.locator("#watch .visits output")
        until(
            found.page, lambda: map_says.all_inner_texts() == ["2"]
        )  # loaded anew with the first map: 4 visits, 2 seeds
        asked = [url for url in found.requests if "/news" in url]
        add(log, config, 3)
        log.append_visits(3, 3 * STEPS, np.full((9, 2), 5))
        folder.finish("interrupted")
        until(found.page, lambda: said.inner_text().startswith("interrupted · update 3 of 4"))
        assert legend.inner_text() == "4"
        until(found.page, lambda: map_says.inner_text() == "5")
        assert found.page.locator("#watch .readout").inner_text() == "step 3,072 of 3,072"
        assert all(url.startswith(f"http://127.0.0.1:{port}/") for url in found.requests)
        size = (path / "metrics.jsonl").stat().st_size
        assert f"-{size}" not in asked[-1]
        until(found.page, lambda: any(f"-{size}&" in url for url in found.requests))  # only what is new
        assert found.errors == []
