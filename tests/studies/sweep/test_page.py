"""The page of a sweep."""

import json
from pathlib import Path
from typing import Any

import pytest
from browser import check_page, shown
from page_text import text_of
from playwright.sync_api import Browser
from sweeps import EPOCHS, RATE, SPACE, settings, trial

from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.studies import registry
from action_balance.studies.sweep.page import result_page
from action_balance.studies.sweep.trials import Final, Trial
from action_balance.studies.training.view import chosen

TRIALS = (
    trial(0, 0.5),
    trial(1, 0.25, "stopped early", part=3, values={RATE: 0.004, EPOCHS: 4}),
    trial(2, status="invalid", part=0, reason="3 minibatches do not divide 8 environments"),
    trial(3, 0.75, values={RATE: 0.0023456, EPOCHS: 4}),
)
FINALS = (
    Final("baseline", {}, scores=(0.1, 0.2, 0.3, 0.2, 0.2)),
    Final("trial-0003", TRIALS[3].values, 3, 0.75, (0.5, 0.6, 0.7, 0.6, 0.6)),
)

#: A place on a line, near the first axis, as the window has it.
ON_LINE = """(line) => {
  line.scrollIntoView();
  const {x, y} = line.getPointAtLength(20).matrixTransform(line.getScreenCTM());
  return {x, y};
}"""


def summary(trials: tuple[Trial, ...] = TRIALS, finals: tuple[Final, ...] = FINALS, **search: Any) -> Data:
    ours = {"trials": [one.to_data() for one in trials], "finals": [one.to_data() for one in finals]}
    return {
        "kind": "sweep",
        "settings": json.loads(json.dumps(settings(SPACE, final_seeds=5, **search).to_data())),
        "planned": {"trials": 20, "finalists": 3},
        "command": "action-balance sweep deep-sea --set 'algorithm.epochs=2,4'",
        "versions": {"jax": "1.0"},
        "timings": {},
        "files": [],
        "ours": ours,
    }


def write(folder: Path, found: Data) -> Path:
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps(found))
    return folder


def test_the_page_judges_the_search_by_fresh_seeds() -> None:
    text = text_of(result_page(Path(), summary()))
    assert "Trial 3" in text
    assert "0.600" in text  # the mean of the fresh seeds
    assert "better, significant" in text
    assert "5 seeds that had no part in the search, 5 to 9" in text
    assert "0.750" in text  # the score in the search
    assert "optimistic" in text


def test_the_page_has_all_trials_with_their_status() -> None:
    text = text_of(result_page(Path(), summary()))
    assert "2 finished, 1 stopped early, 1 invalid." in text
    assert "Trial 2, invalid: 3 minibatches do not divide 8 environments." in text
    assert "0.002346" in text
    assert "after 11 % and after 33 % of its training" in text


def test_a_sweep_without_scores_has_a_page() -> None:
    page = result_page(Path(), summary(TRIALS[2:3], ()))
    assert "no best settings" in page
    assert "<svg" not in page


def test_fresh_seeds_that_are_not_trained_yet_are_announced() -> None:
    unfinished = (FINALS[0], Final("trial-0003", TRIALS[3].values, 3, 0.75))
    assert "1 of these 2 runs is not finished" in text_of(result_page(Path(), summary(finals=unfinished)))


def test_names_and_reasons_are_text() -> None:
    page = result_page(Path(), summary((trial(0, status="failed", reason="<script>alert(1)</script>"),), ()))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_view_finds_the_page(tmp_path: Path) -> None:
    folder = write(tmp_path / "sweep", summary())
    assert chosen([folder], live=False).page(lambda *_: None, False) == result_page(Path(), summary())


def test_a_damaged_summary_is_one_line(tmp_path: Path) -> None:
    folder = write(tmp_path / "sweep", summary() | {"ours": {}})
    page = registry.page_of(folder)
    assert page is not None
    with pytest.raises(UserError, match="damaged"):
        page()


def test_the_page_works_in_a_browser(tmp_path: Path, browser: Browser) -> None:
    path = tmp_path / "report.html"
    path.write_text(result_page(Path(), summary()))
    check_page(browser, path)
    with shown(browser, path.as_uri()) as found:
        lines = found.page.locator(".parallel .trial")
        assert lines.count() == 3
        usual, best, stopped = found.page.locator(".usual"), lines.last, lines.first
        assert usual.is_visible()
        assert "Trial 3: 0.75" in (usual.text_content() or "")
        place = stopped.locator(".near").evaluate(ON_LINE)
        found.page.mouse.move(place["x"], place["y"])
        assert stopped.locator(".says").is_visible()
        assert not usual.is_visible()
        found.page.mouse.move(0, 0)
        best.focus()
        assert best.locator(".says").is_visible()
        assert best.get_attribute("aria-label") == "Trial 3: 0.75 with learning_rate 0.002346, epochs 4"
