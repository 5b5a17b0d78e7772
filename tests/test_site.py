"""The documentation site builds without warnings, is complete, and makes no request to other hosts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import shown
from playwright.sync_api import Browser

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stdout + done.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    sources = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    made = {path.relative_to(site) for path in site.rglob("*.html")}
    assert {path.with_suffix(".html") for path in sources} <= made
    assert {Path("contributing.html"), Path("changelog.html")} <= made


def test_no_page_makes_a_request_to_other_hosts(site: Path) -> None:
    foreign = re.compile(r'<(?:script|link|img|iframe|source|video)\b[^>]*(?:src|href)="(?:https?:)?//[^"]*"')
    for page in site.rglob("*.html"):
        assert not foreign.findall(page.read_text()), page
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text()), sheet


def test_formulas_and_figures_are_part_of_the_page(site: Path) -> None:
    method = (site / "method.html").read_text()
    assert method.count('<div class="formula"><math') == 12
    assert method.count("<svg xmlns:xlink") == 5
    assert "arithmatex" not in method
    assert "var(--action-balance-rnd, #c04a0a)" in method  # follows the theme


def test_drawings_follow_the_theme(site: Path) -> None:
    architecture = (site / "architecture.html").read_text()
    assert architecture.count("<svg xmlns:xlink") == 2
    assert 'aria-label="From top to bottom: cli' in architecture
    assert "#fffffe" not in re.sub(r"var\(--paper, #fffffe\)", "", architecture)


def test_links_out_of_docs_become_links_to_pages(site: Path) -> None:
    assert 'href="examples.html#foreign_agent"' in (site / "interop.html").read_text()
    assert '<a href="security-policy.html">Security policy</a>' in (site / "security.html").read_text()
    assert '<a href="../contributing.html">Contributing</a>' in (site / "howto" / "environment.html").read_text()


def test_the_reference_has_every_public_name(site: Path) -> None:
    """In its list of names, and what each stands for, which may have another name, by that."""
    import action_balance

    listed = (site / "reference" / "index.html").read_text()
    shown = "".join(page.read_text() for page in (site / "reference").glob("*.html"))
    for name in action_balance.__all__:
        assert f"<code>ab.{name}</code>" in listed, name
        assert re.search(rf'id="action_balance\.[\w.]*\b{getattr(action_balance, name).__name__}"', shown), name


def test_a_page_is_shown_without_errors_and_its_figures_fit_a_phone(site: Path, browser: Browser) -> None:
    for name in ("index", "results", "method"):
        with shown(browser, (site / f"{name}.html").as_uri(), width=390) as found:
            widths = found.page.evaluate("[...document.images].map((one) => one.getBoundingClientRect().width)")
            assert all(width <= 390 for width in widths), name
            assert found.errors == []
