"""The local server: one page, listed files, news, and nothing else, for this machine only."""

import json
from pathlib import Path
from typing import NoReturn

import pytest
from watched_runs import get, listening_on

from action_balance.errors import UserError
from action_balance.web import serve
from action_balance.web.render import render, served_policy
from action_balance.web.serve import Site

CONTENT = bytes(range(256)) * 4


def failing(*_: object) -> NoReturn:
    raise UserError("the <files> changed")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "film.mp4").write_bytes(CONTENT)
    files = {"/files/film.mp4": (tmp_path, tmp_path / "film.mp4"), "/files/gone": (tmp_path, tmp_path / "gone")}
    return Site(lambda: "page", files, lambda asked: dict(asked) if "run" in asked else None)


def test_a_file_is_given_whole_or_in_part(site: Site) -> None:
    with listening_on(site) as port:
        status, content, headers = get(port, "/files/film.mp4")
        assert (status, content, headers["Content-Type"]) == (200, CONTENT, "video/mp4")
        status, content, headers = get(port, "/files/film.mp4", Range="bytes=256-259")
        assert (status, content, headers["Content-Range"]) == (206, bytes(range(4)), "bytes 256-259/1024")
        assert get(port, "/files/film.mp4", Range="bytes=-3")[:2] == (206, CONTENT[-3:])
        assert get(port, "/files/film.mp4", Range="bytes=1020-")[:2] == (206, CONTENT[-4:])
        assert get(port, "/files/film.mp4", Range="bytes=2000-")[0] == 416
        assert get(port, "/files/film.mp4", Range="words=1-2")[:2] == (200, CONTENT)
        assert get(port, "/files/film.mp4", "HEAD")[:2] == (200, b"")
        assert get(port, "/files/gone")[0] == 404


def test_news_are_json_and_what_is_unknown_is_not_found(site: Site) -> None:
    with listening_on(site) as port:
        status, content, headers = get(port, "/news?run=1&place=a-b")
        assert (status, json.loads(content)) == (200, {"run": "1", "place": "a-b"})
        assert headers["Cache-Control"] == "no-store"
        assert get(port, "/news")[0] == 404
        assert get(port, "/elsewhere")[0] == 404


def test_a_page_that_fails_shows_its_error_as_text(site: Site) -> None:
    with listening_on(Site(failing, site.files, failing)) as port:
        status, content, _ = get(port, "/")
        assert status == 200
        assert b"the &lt;files&gt; changed" in content
        assert get(port, "/news")[:2] == (503, b"the <files> changed")


def test_only_this_machine_is_answered(site: Site) -> None:
    with listening_on(site) as port:
        status, content, headers = get(port, "/")
        assert (status, content) == (200, b"page")
        assert (headers["X-Content-Type-Options"], headers["X-Frame-Options"]) == ("nosniff", "DENY")
        assert get(port, "/", "POST")[0] == 501
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", ""):
            assert get(port, "/", Host=host)[0] == 403
        assert get(port, "/", Host=f"localhost:{port}")[0] == 200
    assert serve._hosts(80) == ("127.0.0.1", "localhost")


def test_every_answer_has_the_policy_of_the_page(site: Site) -> None:
    rules = set(served_policy().split("; "))
    pages: tuple[dict[str, object] | None, ...] = (None, {})
    for data in pages:
        page = render("web/templates/error.html", data, True, message="")
        own = page.partition('Policy" content="')[2].partition('"')[0].split("; ")
        digest = next(rule for rule in own if rule.startswith("script-src")).split()[1]
        assert digest in served_policy()
        assert {rule for rule in own if not rule.startswith("script-src")} < rules
    assert "frame-ancestors 'none'" in rules
    with listening_on(site) as port:
        for path, method in (
            ("/", "GET"),
            ("/news?run=1", "GET"),
            ("/files/film.mp4", "GET"),
            ("/gone", "GET"),
            ("/", "POST"),
        ):
            assert get(port, path, method)[2]["Content-Security-Policy"] == served_policy()
