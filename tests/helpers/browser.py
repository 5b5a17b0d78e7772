"""Pages in a real browser: one headless Chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, sync_playwright

from action_balance.web.files import MAX_BYTES

CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")

LOOK = """() => ({
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  figures: [...document.querySelectorAll("figure svg")].filter(s => s.getBoundingClientRect().width > 200).length,
  tables: document.querySelectorAll("table.numbers, table.plain").length,
  dark: matchMedia("(prefers-color-scheme: dark)").matches,
  ink: getComputedStyle(document.body).color,
  paper: getComputedStyle(document.documentElement).backgroundColor,
  requests: performance.getEntriesByType("resource").length,
  ids: (() => {const i = [...document.querySelectorAll("[id]")].map(e => e.id); return i.length - new Set(i).size})(),
})"""

#: How pages are checked: on a desktop in the light, on a phone in the dark.
WIDTHS = (1440, 390)
COLOURS: tuple[Literal["light", "dark"], ...] = ("light", "dark")

#: Checks the page that is shown, best practices included, without requests. A figure is one image with a label.
AXE = """(ignored) => axe.run({exclude: [["figure svg > *"]]}, {
  preload: false, resultTypes: ["violations"],
  rules: Object.fromEntries(ignored.map((name) => [name, {enabled: false}])),
})"""


@contextmanager
def launch() -> Iterator[Browser]:
    """A browser; the test is skipped where there is none, unless one is required."""
    if CHROMIUM is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("no Chromium on the path, and REQUIRE_BROWSER is set")
        pytest.skip("no Chromium on the path: install one to test the pages")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Shown:
    """A page that is open, what it requested, and what went wrong in it."""

    page: Page
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@contextmanager
def shown(browser: Browser, url: str, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Shown]:
    """A page, once it is ready."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    found = Shown(context.new_page())
    found.page.on("request", lambda request: found.requests.append(request.url))
    found.page.on("pageerror", lambda error: found.errors.append(str(error)))
    found.page.on("console", lambda line: found.errors.append(line.text) if line.type == "error" else None)
    try:
        found.page.goto(url)
        found.page.set_default_timeout(10_000)
        found.page.wait_for_load_state("load")
        yield found
    finally:
        context.close()


def until(page: Page, holds: Callable[[], bool], seconds: float = 10) -> None:
    """Wait until something holds. The page's own policy forbids to wait inside of it."""
    for _ in range(int(20 * seconds)):
        if holds():
            return
        page.wait_for_timeout(50)
    pytest.fail("what was waited for did not come")


def check_page(browser: Browser, path: Path) -> None:
    """Check a page in a file: below 10 MB, no request, no error, no id twice, accessible."""
    assert path.stat().st_size < MAX_BYTES
    with shown(browser, path.as_uri()) as found:
        if found.page.locator("#data").count():
            found.page.wait_for_selector("html[data-ready]")
        check_accessibility(found.page)
        assert found.page.evaluate(LOOK)["ids"] == 0
        assert found.requests == [path.as_uri()]
        assert found.errors == []


def violations(page: Page, ignored: Sequence[str] = ()) -> list[str]:
    """What axe-core finds in a page as it is shown, a line each, without the rules to be ignored."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(AXE, list(ignored))
    return [
        f"{one['id']}: {one['help']}: {node['target']} {node['html'][:120]} {node.get('failureSummary', '')}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


def check_accessibility(page: Page, ignored: Sequence[str] = ()) -> None:
    """Check an open page with axe-core, light on a desktop and dark on a phone, where it must not scroll sideways.

    Layout depends on the width and contrast on the colours, so two of the four combinations see every rule in each.
    Afterwards the page is light and as wide as before.
    """
    before = page.viewport_size
    for width, colours in zip(WIDTHS, COLOURS, strict=True):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=colours)
        page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        assert page.evaluate(LOOK)["overflow"] <= 1, f"the page scrolls sideways at {width} px"
        _none(f"violations at {width} px, {colours}", violations(page, ignored))
    page.emulate_media(color_scheme="light")
    if before is not None:
        page.set_viewport_size(before)


def _none(what: str, found: list[str]) -> None:
    if found:
        pytest.fail("\n".join([f"{what}:", *found]))
