"""The report in a real browser: headless Chromium opens it, and a script inside tells what it sees."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from action_balance import cli

BROWSER = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)

PROBE = """
<script>
window.addEventListener("load", () => {
  const seen = {
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    figures: [...document.querySelectorAll("figure svg")].filter(s => s.getBoundingClientRect().width > 200).length,
    tables: document.querySelectorAll("table").length,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    ink: getComputedStyle(document.body).color,
    paper: getComputedStyle(document.documentElement).backgroundColor,
    requests: performance.getEntriesByType("resource").length,
    ids: (() => {const i = [...document.querySelectorAll("[id]")].map(e => e.id); return i.length - new Set(i).size})(),
  };
  document.documentElement.setAttribute("data-seen", JSON.stringify(seen));
});
</script>
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "grid"
    cli.main(("reproduce", "grid", "--out", str(out), "--runs", "3"))
    return out / "report.html"


def browse(page: Path, folder: Path, width: int, *flags: str) -> dict[str, object]:
    """What the probe sees in a copy of the page."""
    import json

    if BROWSER is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("no Chromium on the path, and REQUIRE_BROWSER is set")
        pytest.skip("no Chromium on the path: install one to test the report")
    probed = folder / "probed.html"
    probed.write_text(page.read_text().replace("</body>", PROBE + "</body>"))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", f"--window-size={width},900"]
    command += [f"--user-data-dir={folder / 'profile'}", *flags, probed.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    found = re.search(r'data-seen="([^"]*)"', shown)
    assert found, "the page did not finish loading"
    seen: dict[str, object] = json.loads(found[1].replace("&quot;", '"'))
    return seen


@pytest.mark.parametrize("width", [500, 1280])
def test_page_shows_its_figures_and_never_scrolls_sideways(report: Path, tmp_path: Path, width: int) -> None:
    seen = browse(report, tmp_path, width)
    assert seen["overflow"] == 0
    assert seen["figures"] == 7
    assert isinstance(seen["tables"], int)
    assert seen["tables"] >= 4
    assert seen["ids"] == 0
    assert seen["requests"] == 0


def test_page_follows_dark_mode(report: Path, tmp_path: Path) -> None:
    light = browse(report, tmp_path, 1000)
    dark = browse(report, tmp_path, 1000, "--blink-settings=preferredColorScheme=0")
    assert not light["dark"]
    assert dark["dark"]
    assert light["ink"] != dark["ink"]
    assert light["paper"] != dark["paper"]


def test_page_is_one_file(report: Path) -> None:
    text = report.read_text()
    outside = re.findall(r'(?:src|href|xlink:href)="(?!#|data:)([^"]*)"|url\((?!["\']?(?:#|data:))([^)]*)\)', text)
    assert outside == []
    assert "@import" not in text


def test_page_sets_the_papers_numbers_beside_ours(report: Path) -> None:
    text = report.read_text()
    for published in ("10,584", "11,063", "11,364", "1.23", "2.5"):
        assert published in text
