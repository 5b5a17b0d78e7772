"""A server for this machine alone: one page, the files that it shows, and news for a page that is live."""

import json
import os
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTP_PORT
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from rich.console import Console

from action_balance.errors import UserError
from action_balance.files import Data, found_inside, reason
from action_balance.terminal.console import say
from action_balance.web.files import mime_type
from action_balance.web.render import as_bytes, render, served_policy

ADDRESS = "127.0.0.1"

#: Bytes of a file that are read at once.
CHUNK = 1 << 20


@dataclass(frozen=True)
class Site:
    """What a server offers."""

    page: Callable[[], str]  # a `UserError` becomes a page that shows its message
    files: Mapping[str, tuple[Path, Path]]  # by URL path: a file, after the folder that links must not lead out of
    news: Callable[[Mapping[str, str]], Data | None]  # answers a query; None where there is nothing of the kind


def serve(site: Site, port: int, opens: bool, console: Console) -> None:
    with listening(site, port) as server:
        url = f"http://{ADDRESS}:{server.server_address[1]}/"
        say(console, f"serving {url} (press Ctrl-C to stop)")
        if opens:
            webbrowser.open(url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            say(console, "stopped")


def listening(site: Site, port: int) -> ThreadingHTTPServer:
    """A server that listens on this machine alone; it answers once `serve_forever` is called."""
    try:
        return _Server((ADDRESS, port), type("Handler", (_Handler,), {"site": site}))
    except OSError as error:
        raise UserError(f"cannot serve at port {port}: {reason(error)}; choose another --port, or 0 for any") from None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = False

    def handle_error(self, *_: object) -> None:
        """A reader that goes away is not an error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def do_GET(self) -> None:
        """Answer with the page, news or a file. Files are looked up by their whole URL path, so no other is found."""
        if self.headers.get("Host") not in _hosts(self.connection.getsockname()[1]):
            self._refuse(HTTPStatus.FORBIDDEN)  # a foreign page whose host name was made to mean this machine
            return
        requested = urlsplit(self.path)
        if requested.path == "/":
            self._page()
        elif requested.path == "/news":
            self._news(dict(parse_qsl(requested.query)))
        elif requested.path in self.site.files:
            self._file(*self.site.files[requested.path])
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    do_HEAD = do_GET

    def _page(self) -> None:
        try:
            text = self.site.page()
        except UserError as error:
            text = render("web/templates/error.html", message=str(error))
        self._answer(HTTPStatus.OK, "text/html; charset=utf-8", as_bytes(text))

    def _news(self, requested: Mapping[str, str]) -> None:
        try:
            found = self.site.news(requested)
        except UserError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", as_bytes(str(error)))
            return
        if found is None:
            self._refuse(HTTPStatus.NOT_FOUND)
        else:
            self._answer(HTTPStatus.OK, "application/json", json.dumps(found, allow_nan=False).encode())

    def _file(self, folder: Path, path: Path) -> None:
        with ExitStack() as opened:
            try:
                real = found_inside(folder, path)
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
        for name, value in {"Content-Type": kind, "Content-Length": str(size), "Cache-Control": "no-store"}.items():
            self.send_header(name, value)
        self.end_headers()

    def end_headers(self) -> None:
        """Add what every answer has, also the errors of the base class."""
        headers = {"Content-Security-Policy": served_policy(), "Referrer-Policy": "no-referrer"}
        headers |= {"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"}
        headers |= {"Cross-Origin-Resource-Policy": "same-origin"}
        for name, value in headers.items():
            self.send_header(name, value)
        super().end_headers()

    def version_string(self) -> str:
        """The server's name, without the version of Python."""
        return "action-balance"

    def log_message(self, *_: object) -> None:
        """Log nothing: the terminal is for the user."""


def _hosts(port: int) -> tuple[str, ...]:
    """The host names of requests from a browser on this machine; they leave out the default port."""
    end = "" if port == HTTP_PORT else f":{port}"
    return tuple(f"{name}{end}" for name in (ADDRESS, "localhost"))


def _range(requested: str | None, size: int) -> tuple[int, int]:
    """Begin and end of ``bytes=a-b``; the whole file without a range, or with one of an unknown form."""
    if requested is None or not requested.startswith("bytes=") or "," in requested:
        return 0, size
    first, _, last = requested.removeprefix("bytes=").partition("-")
    if not all(not part or (part.isascii() and part.isdigit()) for part in (first, last)) or not first + last:
        return 0, size
    begin = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if begin >= end:
        raise ValueError(requested)
    return begin, end
