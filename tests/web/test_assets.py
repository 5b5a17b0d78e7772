"""The scripts of a page, in a browser."""

from pathlib import Path

import numpy as np
from browser import check_accessibility, shown
from playwright.sync_api import Browser

from action_balance import web
from action_balance.files import Data
from action_balance.packing import packed
from action_balance.plots.heatmaps import HEAT_STOPS
from action_balance.studies.explore.page import lead
from action_balance.web.format import number
from action_balance.web.render import render

ASSETS = Path(web.__file__).parent / "assets"


def test_scripts_round_as_the_tables_of_a_page_do(browser: Browser) -> None:
    page = browser.new_page()
    page.add_script_tag(content=(ASSETS / "page.js").read_text())
    for one in [(53.25, 1), (53.75, 1), (0.15, 1), (2.5, 0), (1234567.5, 0), (-0.04, 1), (-2.5, 0)]:
        assert page.evaluate("([value, digits]) => shown(value, digits)", one) == number(*one)
    page.close()


def test_a_map_of_many_cells_is_drawn(tmp_path: Path, browser: Browser) -> None:
    side = 400
    counts = np.zeros((1, side * side), np.int64)
    counts[0, 7] = 5
    counts[0, 8] = 2
    one = {"counts": {"p0": packed(counts)}, "moments": {"p0": [10]}, "over": {"p0": 1}, "actions": 1, "only": True}
    world = {"id": "w", "title": "w", "width": side, "height": side, "walls": [], "start": 0, "goals": [], "chosen": 7}
    panels = [{"key": "p0", "method": "rnd", "name": "RND"}]
    rest = {"steps": 10, "begin": 1, "keyStep": 1, "actions": ["left"], "meanWord": "visits", "panels": panels}
    players = [{**world, **rest, "episodeSteps": 0, "mean": one}]
    data = {"heat": HEAT_STOPS, "players": players}
    covered: Data = {"final_cells": {"value": 2.0, "low": None, "high": None}, "final_rate": 0.0}
    saved = tmp_path / "page.html"
    saved.write_text(
        render(
            "studies/explore/page.html",
            data,
            name="w",
            settings={"runs": 1, "seed": 0, "methods": ["rnd"]},
            coverage={"methods": {"rnd": covered}, "steps": 10, "reachable_cells": side * side},
            compared={"cells": None, "speed": None},
            first_reach=None,
            figures={},
            timed_out=0,
            covered=lead({"rnd": covered["final_cells"]}),
            quickest=None,
            soonest=None,
            versions={},
            drawing="",
            command="",
        )
    )
    with shown(browser, saved.as_uri()) as found:
        found.page.wait_for_selector("html[data-ready]")
        assert found.page.locator(".visits output").inner_text() == "5"
        assert found.page.locator(".fact").inner_text() == "2 cells covered"
        assert found.page.locator(".strip").get_attribute("aria-label") == "visits: from 2 to 5, logarithmic"
        check_accessibility(found.page)
        assert found.errors == []
