"""A server for this machine alone: one page, what is new in its runs, and the few files it shows."""

import json
import os
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from http import HTTPStatus
from http.client import HTTP_PORT
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from rich.console import Console

from action_balance.errors import UserError
from action_balance.files import found_inside, reason
from action_balance.studies.training import maps as view_maps
from action_balance.studies.training.view import MakePage, as_bytes, error_page, mime_type, run_of, served_files

ADDRESS = "127.0.0.1"

#: Bytes that are read of a file at once.
CHUNK = 1 << 20


def serve(make: MakePage, runs: Sequence[Path], live: bool, port: int, opens: bool, console: Console) -> None:
    """Serve until interrupted.

    Args:
        make: makes the page.
        runs: whose news and files may be asked for.
        live: whether the page is made anew whenever it is loaded.
        port: 0 for any that is free.
        opens: whether to open the page in a browser.
        console: the screen.
    """
    places = {path: url for url, path in served_files(runs).items()}
    page = make(places.get, True)  # what is wrong is told here, not in the browser
    with listening(make if live else lambda *_: page, runs, port) as server:
        url = f"http://{ADDRESS}:{server.server_address[1]}/"
        console.print(f"serving {url} until interrupted with Ctrl-C", highlight=False, soft_wrap=True)
        if opens:
            webbrowser.open(url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            console.print("stopped", highlight=False)


def listening(make: MakePage, runs: Sequence[Path], port: int) -> ThreadingHTTPServer:
    """A server that listens on this machine alone; `serve_forever` lets it answer."""
    files = served_files(runs)

    class Handler(_Handler):
        page_of, files_of, runs_of = staticmethod(make), files, runs

    try:
        return _Server((ADDRESS, port), Handler)
    except OSError as error:
        raise UserError(f"cannot serve at port {port}: {reason(error)}; choose another --port, or 0 for any") from None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = False

    def handle_error(self, *_: object) -> None:
        """A reader that goes away is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    page_of: MakePage
    files_of: Mapping[str, Path]
    runs_of: Sequence[Path]

    def do_GET(self) -> None:
        """Answer with the page, news, or a file that is on the list; the list is of whole paths, so nothing else is."""
        if self.headers.get("Host") not in _hosts(self.connection.getsockname()[1]):
            self._refuse(HTTPStatus.FORBIDDEN)  # a foreign page that made its name mean this machine
            return
        asked = urlsplit(self.path)
        if asked.path == "/":
            self._page()
        elif asked.path == "/news":
            self._news(parse_qs(asked.query))
        elif asked.path in self.files_of:
            self._file(self.files_of[asked.path])
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    do_HEAD = do_GET

    def _page(self) -> None:
        places = {path: url for url, path in self.files_of.items()}
        try:
            text = self.page_of(places.get, True)
        except UserError as error:
            text = error_page(str(error))
        self._answer(HTTPStatus.OK, "text/html; charset=utf-8", as_bytes(text))

    def _news(self, asked: Mapping[str, Sequence[str]]) -> None:
        number = asked.get("run", [""])[0]
        if not (number.isascii() and number.isdigit() and len(number) < 6 and int(number) < len(self.runs_of)):
            self._refuse(HTTPStatus.NOT_FOUND)
            return
        try:
            places = (asked.get(name, [""])[0] for name in ("place", "visits"))
            found = view_maps.news(self.runs_of[int(number)], *places)
        except UserError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", as_bytes(str(error)))
            return
        self._answer(HTTPStatus.OK, "application/json", json.dumps(found, allow_nan=False).encode())

    def _file(self, path: Path) -> None:
        """A file of a run, or the part of it that is asked for; none that a link leads out of the run to."""
        with ExitStack() as opened:
            try:
                real = found_inside(run_of(path), path)
                if real is None:
                    raise FileNotFoundError(path)
                file = opened.enter_context(open(real, "rb"))
                size = os.fstat(file.fileno()).st_size
                begin, end = _range(self.headers.get("Range"), size)
            except OSError:
                self._refuse(HTTPStatus.NOT_FOUND)
                return
            except ValueError:
                self._refuse(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
                return
            partial = (begin, end) != (0, size)
            self.send_response(HTTPStatus.PARTIAL_CONTENT if partial else HTTPStatus.OK)
            if partial:
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
            self.send_header("Accept-Ranges", "bytes")
            self._headers(mime_type(path), end - begin)
            file.seek(begin)
            while self.command == "GET" and (part := file.read(min(CHUNK, end - begin))):
                self.wfile.write(part)
                begin += len(part)

    def _refuse(self, status: HTTPStatus) -> None:
        self._answer(status, "text/plain; charset=utf-8", f"{status.value} {status.phrase}\n".encode())

    def _answer(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self._headers(kind, len(content))
        if self.command == "GET":
            self.wfile.write(content)

    def _headers(self, kind: str, size: int) -> None:
        told = {"Content-Type": kind, "Content-Length": str(size), "Cache-Control": "no-store"}
        told |= {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
        told |= {"X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin"}
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()

    def version_string(self) -> str:
        """Who answers; not which Python."""
        return "action-balance"

    def log_message(self, *_: object) -> None:
        """The screen is for the user."""


def _hosts(port: int) -> tuple[str, ...]:
    """Names under which a browser on this machine asks; the usual port is left out of them."""
    end = "" if port == HTTP_PORT else f":{port}"
    return tuple(f"{name}{end}" for name in (ADDRESS, "localhost"))


def _range(asked: str | None, size: int) -> tuple[int, int]:
    """Begin and end of ``bytes=a-b``; everything where it is not asked for, or in a way that we do not know."""
    if asked is None or not asked.startswith("bytes=") or "," in asked:
        return 0, size
    first, _, last = asked.removeprefix("bytes=").partition("-")
    if not all(not part or (part.isascii() and part.isdigit()) for part in (first, last)) or not first + last:
        return 0, size
    begin = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if begin >= end:
        raise ValueError(asked)
    return begin, end
