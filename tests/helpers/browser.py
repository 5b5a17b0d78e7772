"""Pages in a real browser: one headless Chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

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


def look(browser: Browser, path: Path, width: int, dark: bool = False) -> dict[str, object]:
    """What there is to see of a page in a file."""
    with shown(browser, path.as_uri(), width, dark=dark) as found:
        seen: dict[str, object] = found.page.evaluate(LOOK)
        assert found.errors == []
        return seen
