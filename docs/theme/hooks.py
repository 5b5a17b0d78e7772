"""Build steps of the documentation site beyond Markdown; nothing is left to the browser.

Formulas become MathML. SVG figures become part of the page and follow its colours. Links are written for readers of the
repository: a link out of this folder becomes a link to a page of the site, and link text that is the name of a file
becomes the title of its page.
"""

import html
import re
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from typing import Any

from latex2mathml.converter import convert

from action_balance.web.inline_svg import themed_svg

ROOT = Path(__file__).parents[2]

#: Pages that are made from files outside of docs.
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security-policy.md"}


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made from other files."""
    from mkdocs.structure.files import File

    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links out of docs to pages of the site, and replace link text that is a file name by the page's title."""
    here = ROOT / ("" if page.file.src_uri in PAGES.values() else join("docs", dirname(page.file.src_uri)))
    markdown = re.sub(r"\[[\w./]+\.md\]\(([^)\s#:]+\.md)", lambda found: _titled(found, here), markdown)
    return re.sub(r"\]\(([^)\s#:]+)\)", lambda found: f"]({_inside(found[1], page.file.src_uri)})", markdown)


def _titled(found: re.Match[str], here: Path) -> str:
    title = re.search(r"^# (.+)$", (here / found[1]).read_text(), re.MULTILINE)
    return f"[{title[1]}]({found[1]}" if title else found[0]


def _inside(link: str, page: str) -> str:
    """The target of a link in the site."""
    generated = page in PAGES.values()
    target = normpath(join("" if generated else join("docs", dirname(page)), link))
    if target.startswith("examples/") and target.endswith(".py"):
        target = f"docs/examples.md#{Path(target).stem}"
    elif target == "README.md":
        target = "docs/index.md"
    elif target in PAGES:
        target = f"docs/{PAGES[target]}"
    elif not generated:
        return link
    return relpath(target, join("docs", dirname(page))) if target.startswith("docs/") else link


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Replace formulas and figures."""
    content = re.sub(r'<(div|span) class="arithmatex">(.*?)</\1>', _formula, content, flags=re.DOTALL)
    here = ROOT / "docs" / dirname(page.file.src_uri)
    return re.sub(
        r'<p>(<img alt="[^"]*" (?:class="[^"]*" )?src="([^":]+\.svg)" ?/?>)</p>',
        lambda found: _figure(found, here),
        content,
    )


def on_post_page(output: str, **_: Any) -> str:
    """Name the search dialog of the theme for screen readers."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def _formula(found: re.Match[str]) -> str:
    r"""``\[...\]`` or ``\(...\)`` as MathML."""
    latex = html.unescape(found[2]).strip()[2:-2].strip()
    made = convert(latex, display="block" if found[1] == "div" else "inline")
    return f'<div class="formula">{made}</div>' if found[1] == "div" else made


def _figure(found: re.Match[str], here: Path) -> str:
    """A figure as an element of the page, which follows its light or dark theme."""
    alt = found[1].partition('alt="')[2].partition('"')[0]
    drawn = themed_svg((here / found[2]).read_text())
    drawn = re.sub(r'aria-label="[^"]*"', lambda _: f'aria-label="{alt}"', drawn, count=1)
    return f'<div class="figure" tabindex="0">{drawn}</div>'
