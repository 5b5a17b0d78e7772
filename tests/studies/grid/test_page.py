"""The page of the grid study in a real browser: it plays, and shows the numbers of the files."""

import json
import math
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import LOOK, check_page, shown, until
from command import call
from grid_summary import ABOVE, AROUND, BELOW, FEW_RUNS, summary_of
from playwright.sync_api import Browser, Page

from action_balance.cli import main as cli
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.plots.heatmaps import HEAT_STOPS
from action_balance.studies.grid import trace_file as recording
from action_balance.studies.grid.page import _slower_than_random, headlines, result_page
from action_balance.studies.grid.settings import STUDIES
from action_balance.studies.registry import page_of, read_summary
from action_balance.web.render import _environment

#: The cell that is looked at, and when: 2,000 steps end 15 updates of 128 steps and 80 steps more.
CELL, STEP, KNOWN = (3, 2), 2000, 15 * 128
WIDTH = 40


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "grid"
    cli.main(("reproduce", "grid", "--out", str(out), "--runs", "3"))
    return out / "report.html"


@pytest.fixture(scope="module")
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """The page, opened once for the tests that play; at the end nothing was asked for and nothing went wrong."""
    with shown(browser, report.as_uri(), width=1280) as found:
        found.page.wait_for_selector("html[data-ready]")
        assert found.page.get_by_label("Difference from random", exact=True).is_checked()
        assert step_of(found.page) == 20000  # the end, where the methods differ
        found.page.get_by_label("One run").check()
        yield found.page
        assert found.errors == []
        assert found.requests == [report.as_uri()]


def step_of(page: Page) -> int:
    readout = page.locator("#player-open .readout").inner_text()
    return int(readout.split()[1].replace(",", ""))


def seek(page: Page, step: int) -> None:
    page.locator("#player-open input[type=range]").fill(str(step))
    until(page, lambda: step_of(page) == step)


def hover(page: Page, panel: int) -> None:
    """Point at `CELL`, until its details are shown."""
    canvas = page.locator("#player-open canvas[tabindex]").nth(panel)
    canvas.evaluate("canvas => canvas.scrollIntoView({block: 'center'})")  # not below the controls
    x, y = ((CELL[0] + 0.5) / WIDTH, (WIDTH - CELL[1] - 0.5) / WIDTH)

    def points() -> bool:
        box = canvas.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        places = page.locator("#player-open .details .place").all_inner_texts()  # the same cell in all
        return all("(3, 2)" in text for text in places)

    until(page, points)


def told(page: Page, panel: int) -> dict[str, list[float]]:
    """N, pi, beta and bonus of each action, as one method's details tell them."""
    rows = page.locator("#player-open .details").nth(panel).locator("tbody tr")
    numbers = [[float(text.replace(",", "")) for text in row.locator("td").all_inner_texts()] for row in rows.all()]
    return dict(zip(("counts", "pi", "beta", "bonus"), map(list, zip(*numbers, strict=True)), strict=True))


def scale_ends(page: Page) -> list[str]:
    """The colours at the ends of the scale, as they are drawn."""
    pixels = page.locator("#player-open .strip").last.evaluate(
        "strip => [0, 255].map((x) => [...strip.getContext('2d').getImageData(x, 0, 1, 1).data])"
    )
    return [f"#{bytes(pixel[:3]).hex()}" for pixel in pixels]


def softmax(logits: list[float]) -> list[float]:
    weights = [math.exp(logit) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def test_a_cell_tells_counts_policies_and_bonus_of_the_moment(page: Page, report: Path) -> None:
    trace = recording.read(report.parent)["open"].traces["action-balance-rnd"]
    first = 4 * (CELL[1] * WIDTH + CELL[0])
    pairs = [first + action for action in range(4)]
    counts = [int((trace.pairs[:STEP] == pair).sum()) for pair in pairs]
    known = [int((trace.pairs[:KNOWN] == pair).sum()) for pair in pairs]
    written = [np.flatnonzero(trace.pairs[:KNOWN] == pair) for pair in pairs]
    advantage = [float(trace.advantage[steps[-1]]) if len(steps) else 0.0 for steps in written]
    bonus = [math.sqrt(sum(known)) / (1 + count) for count in known]
    length = math.hypot(*bonus)
    seek(page, STEP)
    hover(page, 3)
    found = told(page, 3)
    assert found["counts"] == counts
    assert found["pi"] == pytest.approx(softmax(advantage), abs=0.0051)
    behaviour = softmax([a + b for a, b in zip(advantage, bonus, strict=True)])
    assert found["beta"] == pytest.approx(behaviour, abs=0.0051)
    assert found["bonus"] == pytest.approx([one / length for one in bonus], abs=0.0051)
    assert page.locator("#player-open .details").nth(3).locator(".visits output").inner_text() == str(sum(counts))


def test_playing_moves_maps_and_cursor_and_pausing_stops_them(page: Page) -> None:
    seek(page, 500)
    before = page.locator("#player-open canvas[tabindex]").first.evaluate("canvas => canvas.toDataURL()")
    cursor = page.locator("#player-open .cursor").first.get_attribute("x1")
    page.get_by_label("Speed").first.select_option("4")
    page.locator("#player-open .play").click()
    until(page, lambda: step_of(page) > 800)
    page.locator("#player-open .play").click()
    assert page.locator("#player-open .play").inner_text() == "Play"
    assert page.locator("#player-open .cursor").first.get_attribute("x1") != cursor
    assert page.locator("#player-open canvas[tabindex]").first.evaluate("canvas => canvas.toDataURL()") != before


def test_the_keyboard_plays_steps_and_chooses_cells(page: Page) -> None:
    page.locator("#player-open input[type=range]").focus()
    steps = {"Home": 0, "ArrowRight": 100, "Shift+ArrowRight": 1100, "ArrowLeft": 1000, "End": 20000}
    for key, step in steps.items():
        page.keyboard.press(key)
        assert step_of(page) == step, key
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    assert page.locator("#player-open .play").inner_text() == "Pause"
    page.keyboard.press("Space")
    assert page.locator("#player-open .play").inner_text() == "Play"
    canvas = page.locator("#player-open canvas[tabindex]").first
    canvas.click(position={"x": 1, "y": 1})
    canvas.press("ArrowRight")
    canvas.press("ArrowDown")
    assert "(1, 38)" in page.locator("#player-open .place").first.inner_text()
    assert "Cell 1, 38. Visits: random " in page.locator("#player-open [aria-live=polite]").inner_text()


def test_curves_are_read_with_the_keyboard_and_a_finger(page: Page) -> None:
    chart = page.locator("#reach-0 svg.scrubbed")
    chart.press("Home")
    first = page.locator("#reach-0 .chart [aria-live=polite]").inner_text()
    chart.press("ArrowRight")
    assert page.locator("#reach-0 .chart [aria-live=polite]").inner_text() != first
    chart.press("End")
    assert re.search(
        r"[\d,]+.*: random 100 %, action balance 100 %, RND 100 %, action balance RND 100 %",
        page.locator("#reach-0 .chart [aria-live=polite]").inner_text(),
    )
    touch = {"pointerType": "touch", "clientX": 300, "bubbles": True}
    chart.dispatch_event("pointerdown", touch)
    chart.dispatch_event("pointerleave", touch)
    assert page.locator("#reach-0 .cursor:not([hidden])").count() == 1
    chart.dispatch_event("pointerleave", {**touch, "pointerType": "mouse"})
    assert page.locator("#reach-0 .cursor:not([hidden])").count() == 0


def cells_of(text: str) -> float:
    value = float(text.split(maxsplit=1)[0].replace("\N{MINUS SIGN}", "-").replace(",", ""))
    return -value if "fewer" in text else value


def cells_above(page: Page, panel: int) -> float:
    return cells_of(page.locator("#player-open .fact").nth(panel).inner_text())


def legend_of(page: Page, chart: int, method: str) -> str:
    found = (
        page.locator("#player-open .curves .chart").nth(chart).locator(".legend li", has_text=re.compile(f"^{method}"))
    )
    return found.inner_text().split("\n")[-1].replace(method, "").strip()


def test_map_number_curve_and_table_agree(page: Page, report: Path) -> None:
    rows = [line.split(",") for line in (report.parent / "coverage.csv").read_text().splitlines()]
    final = {row[0]: float(row[2]) for row in rows if row[1] == "20000"}
    with np.load(report.parent / "heatmaps.npz") as maps:
        assert maps["covered_rnd"][-1].sum() / 1600 == pytest.approx(final["rnd"], abs=1e-6)
        shares = [float(maps[f"covered_{name}"][-1, CELL[1], CELL[0]]) for name in ("random", "rnd")]
    page.get_by_label("Difference from random", exact=True).check()
    seek(page, 20000)
    more = 1600 * (final["rnd"] - final["random"])
    until(page, lambda: cells_above(page, 0) == pytest.approx(1600 * final["random"], abs=0.06))
    until(page, lambda: cells_above(page, 2) == pytest.approx(more, abs=0.06))
    until(page, lambda: cells_of(legend_of(page, 0, "RND")) == cells_above(page, 2))
    hover(page, 2)
    share, points = (
        page.locator("#player-open .details")
        .nth(2)
        .locator(".visits output")
        .inner_text()
        .removesuffix(" points")
        .split(" %, ")
    )
    assert float(share) == pytest.approx(100 * shares[1], abs=0.06)
    assert float(points.replace("\N{MINUS SIGN}", "-")) == pytest.approx(100 * (shares[1] - shares[0]), abs=0.06)
    page.get_by_label("Share of the world").first.check()
    until(page, lambda: legend_of(page, 1, "RND") == f"{100 * final['rnd']:.1f} %")
    page.get_by_label("Compared with random").first.check()
    page.get_by_label("One run").check()
    until(page, lambda: legend_of(page, 0, "random") == "0.0 cells")
    assert cells_of(legend_of(page, 0, "RND")) == cells_above(page, 2) - cells_above(page, 0)


def test_the_mean_of_all_runs_is_that_of_the_heat_maps(page: Page, report: Path) -> None:
    with np.load(report.parent / "heatmaps.npz") as maps:
        visits = float(maps["random"][-1, CELL[1], CELL[0]])
    page.get_by_label("Visits (mean of 3 runs)").check()
    page.locator("#player-open input[type=range]").fill("19999")
    assert step_of(page) == 19750  # the last moment before, which everything on the screen shows
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 20000
    hover(page, 0)
    found = page.locator("#player-open .details").first.locator(".visits output").inner_text()
    page.get_by_label("One run").check()
    assert float(found.replace(",", "")) == pytest.approx(visits, rel=0.005)


def test_the_other_world_and_the_goals_can_be_chosen(page: Page) -> None:
    page.get_by_label("Corridor", exact=True).check()
    page.wait_for_selector("#player-corridor[data-ready]")
    assert page.locator("#player-corridor .readout").inner_text() == "step 5,000 of 5,000 · episode 25"
    assert page.locator("#player-corridor").get_by_label("Difference from random", exact=True).is_checked()
    assert page.locator("#player-open").is_hidden()
    page.get_by_label("Open grid").check()
    before = page.locator("#reach-0 .hint").inner_text()
    page.get_by_label("Goal", exact=True).select_option(label="(16, 16)")
    assert page.locator("#reach-0 .hint").inner_text() != before


def test_the_theme_can_be_changed_and_the_maps_follow(page: Page) -> None:
    light = page.evaluate(LOOK)
    map_in_light = page.locator("#player-open canvas[tabindex]").first.evaluate("canvas => canvas.toDataURL()")
    assert scale_ends(page) == [HEAT_STOPS["light"][0], HEAT_STOPS["light"][-1]]
    page.get_by_label("Use the dark theme").click()
    dark = page.evaluate(LOOK)
    assert scale_ends(page) == [HEAT_STOPS["dark"][0], HEAT_STOPS["dark"][-1]]
    map_in_dark = page.locator("#player-open canvas[tabindex]").first.evaluate("canvas => canvas.toDataURL()")
    page.get_by_label("Use the light theme").click()
    assert light["paper"] == page.evaluate(LOOK)["paper"] != dark["paper"]
    assert light["ink"] != dark["ink"]
    assert map_in_light != map_in_dark


def test_nothing_is_cut_off_and_everybody_can_use_the_page(browser: Browser, report: Path) -> None:
    check_page(browser, report)


def test_a_phone_in_the_dark_sees_everything_and_reads_nothing_about_keys(browser: Browser, report: Path) -> None:
    with shown(browser, report.as_uri(), width=390, dark=True) as found:
        found.page.wait_for_selector("html[data-ready]")
        seen = found.page.evaluate(LOOK)
        controls = found.page.locator("#player-open .transport").bounding_box()
        first = found.page.locator("#player-open .map").first.bounding_box()
        assert found.page.locator(".keys").is_hidden()
        assert found.errors == []
    assert (seen["figures"], seen["requests"]) == (5, 0)
    assert controls is not None
    assert first is not None
    assert controls["y"] + controls["height"] <= first["y"]  # the controls cover no map
    assert seen["tables"] >= 4
    assert (seen["dark"], seen["paper"], seen["ink"]) == (True, "rgb(20, 22, 26)", "rgb(233, 231, 226)")
    assert report.stat().st_size < 3_000_000


def test_page_is_one_file_and_lets_nothing_in(report: Path) -> None:
    text = report.read_text()
    outside = re.findall(r'(?:src|href|xlink:href)="(?!#|data:)([^"]*)"|url\((?!["\']?(?:#|data:))([^)]*)\)', text)
    assert outside == []
    assert "@import" not in text
    assert "default-src 'none'; script-src 'sha256-" in text
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert [player["id"] for player in json.loads(data[1])["players"]] == ["open", "corridor"]


def test_page_sets_the_papers_numbers_beside_ours(report: Path) -> None:
    text = report.read_text()
    for published in ("10,584", "11,063", "11,364", "1.23", "2.5"):
        assert published in text


@pytest.fixture
def copy(report: Path, tmp_path: Path) -> Path:
    """A result that a test may change."""
    shutil.copytree(report.parent, tmp_path / "copy")
    return tmp_path / "copy"


def test_a_table_with_a_word_for_a_number_is_named(copy: Path) -> None:
    summary = json.loads((copy / "summary.json").read_bytes())
    make = page_of(copy)
    assert make is not None
    broken = summary["settings"] | {"size": "x"}
    (copy / "summary.json").write_text(json.dumps({**summary, "settings": broken}))
    with pytest.raises(UserError, match=r"summary\.json is damaged"):
        make()
    with open(copy / "coverage.csv", "a") as file:
        file.write("rnd,many,0.5,0.4,0.6\n")
    (copy / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(UserError, match=r"coverage\.csv is damaged"):
        make()


def test_what_a_link_leads_out_to_is_not_read(copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figure = copy / "figures" / "final_cells.svg"
    figure.rename(tmp_path / "outside.svg")
    figure.symlink_to(tmp_path / "outside.svg")
    assert "Figure: final cells" not in result_page(copy, read_summary(copy))
    for name in ("summary.json", "recording.npz", "heatmaps.npz", "coverage.csv", "goals.csv"):
        file = copy / name
        outside = file.rename(tmp_path / name)
        file.symlink_to(outside)
        assert call("view", str(copy), "--save", str(tmp_path / "page.html")) == 2
        error = capsys.readouterr().err
        assert f"{file} is a link that points outside its folder" in error
        assert error.count("\n") == 1
        file.unlink()
        outside.rename(file)
    assert not (tmp_path / "page.html").exists()


def test_links_inside_of_a_result_and_to_all_of_it_are_followed(report: Path, copy: Path, tmp_path: Path) -> None:
    (copy / "coverage.csv").rename(copy / "moved.csv")
    (copy / "coverage.csv").symlink_to("moved.csv")
    (tmp_path / "link").symlink_to(copy)
    assert call("view", str(tmp_path / "link"), "--save", str(tmp_path / "page.html")) == 0
    assert (tmp_path / "page.html").read_bytes() == report.read_bytes()


def test_a_result_without_a_recording_has_a_page_without_players(copy: Path) -> None:
    (copy / "recording.npz").unlink()
    text = result_page(copy, read_summary(copy))
    assert 'id="watch"' not in text
    assert "Figure: coverage rate" in text


#: Claims by where their intervals lie.
CLAIMS: dict[str, Data] = {
    "above": {"side": "above", "reason": None, "estimate": ABOVE},
    "below": {"side": "below", "reason": None, "estimate": BELOW},
    "around": {"side": "around", "reason": "interval", "estimate": AROUND},
    "equal": {"side": "around", "reason": "interval", "estimate": {**AROUND, "value": 1.004}},
    "unknown": {"side": "unknown", "reason": "few runs", "estimate": FEW_RUNS},
}


@pytest.mark.parametrize(
    ("sides", "answer", "sentences"),
    [
        ("above above above", "Yes:", ("1.50 times as fast", "1.50 times as fast", "1.50 times as fast")),
        ("above around below", "Partly:", ("1.50 times as fast", "due to chance", "only 0.50 times")),
        ("around equal unknown", "Not certain:", ("due to chance", "about equally many", "no interval")),
        ("below below around", "No:", ("only 0.50 times", "only 0.50 times", "due to chance")),
        ("unknown unknown unknown", "No verdict yet:", ("no interval", "no interval", "no interval")),
    ],
)
def test_answer_and_cards_claim_what_the_intervals_support(sides: str, answer: str, sentences: Sequence[str]) -> None:
    words: Any = _environment().get_template("studies/grid/verdict.html").module
    claims: list[Data] = [{"study": study, **CLAIMS[side]} for study, side in zip(STUDIES, sides.split(), strict=True)]
    assert answer in words.answer(claims, 100)
    for claim, part in zip(claims, sentences, strict=True):
        assert part in words.sentence(claim, {"runs": 100})


def test_headlines_share_one_logarithmic_ruler() -> None:
    found = headlines(summary_of(None, ABOVE, BELOW))
    assert found["coverage"]["ruler"] is None
    goals, corridor = found["goals"]["ruler"], found["corridor"]["ruler"]
    assert goals["ticks"] == corridor["ticks"]
    # from 0.25 / 1.1 to 2.5 * 1.1, the paper's number of the coverage
    assert list(goals["ticks"]) == ["0.25", "0.5", "1", "2"]
    gaps = np.diff(list(goals["ticks"].values()))
    assert gaps == pytest.approx(gaps[0], abs=0.11)
    assert (goals["one"], corridor["value"]) == (goals["ticks"]["1"], goals["ticks"]["0.5"])
    assert corridor["published"] is None
    assert goals["low"] < goals["value"] < goals["high"]


def test_rnd_is_slower_than_random_only_if_the_difference_is_significant() -> None:
    # The half width of the difference is hypot(1, 1) = 1.41.
    for rnd, timed_out, expected in ((10.0, 0, True), (9.0, 0, False), (10.0, 1, False)):
        means = {"random": 8.0, "rnd": rnd, "action-balance-rnd": 5.0}
        methods: Data = {
            name: {"treasure": {"mean": {"value": mean, "low": mean - 1, "high": mean + 1}, "given_up": timed_out}}
            for name, mean in means.items()
        }
        assert _slower_than_random(methods) == expected
