"""Templates: everything is escaped, an unknown name is an error, and only the page's own script may run."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from browser import check_page
from jinja2 import UndefinedError
from playwright.sync_api import Browser

import action_balance
from action_balance.web.render import render

HOSTILE = "</script><script>alert(1)</script>\"'&"


def test_text_is_escaped(tmp_path: Path, browser: Browser) -> None:
    page = render("web/templates/error.html", message=HOSTILE)
    (tmp_path / "error.html").write_text(page)
    check_page(browser, tmp_path / "error.html")
    assert "<script>alert" not in page
    assert "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&amp;" in page


def test_a_name_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("web/templates/error.html")


def test_data_cannot_end_its_script_and_is_still_json() -> None:
    data = {"name": HOSTILE, "value": [1, None]}
    page = render("web/templates/error.html", data, message="")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1]) == data


@pytest.mark.parametrize(("data", "served"), [(None, False), ({}, True)])
def test_the_policy_allows_the_pages_own_script_and_requests_only_to_its_server(
    data: dict[str, object] | None, served: bool
) -> None:
    page = render("web/templates/error.html", data, served, message="")
    script = re.search(r"<script>(.*)</script>", page, re.DOTALL)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert script is not None
    assert policy is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    own = " 'self'" if served else ""
    assert rules == {
        "default-src": "'none'",
        "script-src": f"'sha256-{digest}'",
        "style-src": "'unsafe-inline'",
        "img-src": f"data:{own}",
        "media-src": f"data:{own}",
        **({"connect-src": "'self'"} if served else {}),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_markup_is_in_templates_only() -> None:
    tags = "p|div|span|section|article|table|tr|td|th|small|code|h[1-6]|ul|li|sup|figure|svg|script"
    markup = re.compile(rf"</?({tags})( [^>]*)?>|&[a-z]+;|html\.escape")
    sources = Path(action_balance.__file__).parent.rglob("*.py")
    assert [str(path) for path in sources if markup.search(path.read_text(encoding="utf-8"))] == []
