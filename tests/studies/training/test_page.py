"""The page of training runs in a browser: saved as one file, or following a run."""

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from browser import LOOK, Shown, check_accessibility, shown, until
from command import call
from playwright.sync_api import Browser, Locator
from watched_runs import HOSTILE, STEPS, add, begin, config_of, served

from action_balance.studies.training import page as view_page


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
        scores = [row.locator("th, td").all_inner_texts()[:2] for row in found.page.locator("#scores tbody tr").all()]
        check_accessibility(found.page)
        assert found.requests == [saved.as_uri(), *(url for url in found.requests if url.startswith("data:"))]
        assert [error for error in found.errors if "media" not in error.lower()] == []
    assert (seen["overflow"], seen["ids"]) == (0, 0)
    # the last update: returns 4 and 6 of two seeds
    assert re.sub(r"\s+", " ", legend).strip() == "RND 5 action balance RND 5"
    assert [(name, final.split("\n")[0]) for name, final in scores] == [("RND", "5.00"), ("action balance RND", "5.00")]


def _saved(found: Shown, button: Locator) -> tuple[str, bytes]:
    """Name and content of the file that a button saves."""
    with found.page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_charts_are_smoothed_filtered_and_saved_as_they_are_shown(
    runs: list[Path], tmp_path: Path, browser: Browser
) -> None:
    saved = tmp_path / "page.html"
    run = Path(shutil.copytree(runs[1], tmp_path / "run"))
    file = run / "metrics.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for row in rows:
        row |= {"entropy_pi": 10.0 ** -row["update"], "my_novelty": -1.0, "bonus_mean": None, "episodes": 1}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert call("view", str(run), "--save", str(saved)) == 0
    with shown(browser, saved.as_uri()) as found:
        page = found.page
        page.wait_for_selector("html[data-ready]")
        assert page.locator("[data-metric]").evaluate_all("all => all.map((one) => one.dataset.metric)") == [
            "episode_return",
            "entropy_pi",
            "episodes",
            "my_novelty",
        ]
        csv = page.locator("[data-metric=episode_return]").get_by_role("button", name="CSV")
        name, content = _saved(found, csv)
        assert name == "deep-sea-3x3_episode-return.csv"
        # seeds 0 and 1 have the returns 1, 2, 3, 4 and 3, 4, 5, 6
        assert content.decode().splitlines() == [
            "curve,steps_per_seed,mean,low,high",
            "action balance RND,1024,2,1,3",
            "action balance RND,2048,3,2,4",
            "action balance RND,3072,4,3,5",
            "action balance RND,4096,5,4,6",
        ]
        assert "band" in page.locator("#chart-tools + .hint").inner_text()
        page.get_by_label("One line per seed").check()
        page.get_by_label("Smoothing").fill("0.5")
        assert "band" not in page.locator("#chart-tools + .hint").inner_text()
        # 1; (1 / 2 + 2) / (1 / 2 + 1); (1 / 4 + 2 / 2 + 3) / (1 / 4 + 1 / 2 + 1); the other seed has 2 more
        lines = _saved(found, csv)[1].decode().splitlines()
        assert lines[0] == "curve,steps_per_seed,mean_smoothed,seed_0_smoothed,seed_1_smoothed"
        assert [[float(field) for field in line.split(",")[2:]] for line in lines[1:4]] == [
            [2, 1, 3],
            [2.666667, 1.666667, 3.666667],
            [3.428571, 2.428571, 4.428571],
        ]
        assert page.locator("[data-metric=episode_return] path.curve").count() == 3  # two seeds and their mean
        name, content = _saved(found, page.locator("[data-metric=episode_return]").get_by_role("button", name="PNG"))
        assert (name, content[:8]) == ("deep-sea-3x3_episode-return.png", b"\x89PNG\r\n\x1a\n")
        entropy = page.locator("[data-metric=entropy_pi]")
        entropy.get_by_role("button", name="Log").click()
        page.get_by_label("Smoothing").fill("0")
        drawn = entropy.locator("path.curve").last.get_attribute("d") or ""
        heights = [float(point.split()[1]) for point in drawn[1:].split("L")]
        assert len({round(one - other) for one, other in pairwise(heights)}) == 1  # each is a tenth of the one before
        page.get_by_label("Filter metrics").fill("novelty")
        assert page.locator("[data-metric]:not([hidden]) h3").all_inner_texts() == ["My novelty"]
        page.get_by_label("Filter metrics").fill("")
        page.locator("[data-metric=episode_return] svg[tabindex]").press("Home")
        assert "1,024 steps per seed" in page.locator("[data-metric=episode_return] [aria-live=polite]").inner_text()
        assert found.errors == []


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
        final = found.page.locator("#scores tbody td").first
        until(found.page, lambda: final.inner_text().startswith("4.00"))  # without another load
        until(found.page, lambda: map_says.inner_text() == "5")
        assert found.page.locator("#watch .readout").inner_text() == "step 3,072 of 3,072"
        assert all(url.startswith(f"http://127.0.0.1:{port}/") for url in found.requests)
        size = (path / "metrics.jsonl").stat().st_size
        assert f"-{size}" not in asked[-1]
        until(found.page, lambda: any(f"-{size}&" in url for url in found.requests))  # only what is new
        assert found.errors == []
